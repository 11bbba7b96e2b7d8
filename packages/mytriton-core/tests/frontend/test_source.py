"""Finding kernels in their source, wherever they are written."""

import ast
import functools
import linecache

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ASTFrontendError

BODY = "    tl.store(out, {value})\n"


def run(kernel, *args, **kwargs):
    out = np.zeros(1, np.float32)
    kernel[(1,)](out, *args, **kwargs)
    return float(out[0])


def test_a_kernel_in_a_nested_scope(module_from):
    module = module_from(
        "def outer():\n"
        "    def inner():\n"
        "        @triton.jit\n"
        "        def kernel(out):\n"
        "            tl.store(out, 5.0)\n"
        "        return kernel\n"
        "    return inner()\n"
    )
    assert run(module.outer()) == 5.0


def test_postponed_annotations(module_from):
    module = module_from(
        "from __future__ import annotations\n"
        "import mytriton as triton\nimport mytriton.language as tl\n"
        "@triton.jit\n"
        "def kernel(out, V: tl.constexpr):\n"
        "    tl.store(out + tl.arange(0, V), tl.full(V, 2.0, tl.float32), mask=tl.arange(0, V) < 1)\n",
        imports=False,
    )
    assert run(module.kernel, V=4) == 2.0


def test_default_arguments(kernel_from):
    kernel = kernel_from("def kernel(out, a=3.0, B: tl.constexpr = 4):\n    tl.store(out, a + B)\n")
    assert run(kernel) == 7.0
    assert run(kernel, 1.0, B=2) == 3.0


def test_windows_line_ends(module_from):
    text = (
        "import mytriton as triton\r\nimport mytriton.language as tl\r\n"
        "@triton.jit\r\ndef kernel(out):\r\n    tl.store(out, 1.0)\r\n    x = tl.foo\r\n"
    )
    module = module_from(text.encode())
    with pytest.raises(ASTFrontendError) as caught:
        run(module.kernel)
    assert ":6:9: " in str(caught.value)


def test_tabs(kernel_from):
    assert run(kernel_from("def kernel(out):\n\ttl.store(out, 6.0)\n")) == 6.0


def test_a_signature_over_several_lines(kernel_from):
    kernel = kernel_from(
        "def kernel(\n    out,  # where to\n    a: int = 1,\n    *,\n    b=2,\n):\n    tl.store(out, a + b + 0.0)\n"
    )
    assert run(kernel) == 3.0


def test_two_kernels_of_one_name(module_from):
    module = module_from(
        "@triton.jit\ndef kernel(out):\n    tl.store(out, 1.0)\nfirst = kernel\n"
        "@triton.jit\ndef kernel(out):\n    tl.store(out, 2.0)\n"
    )
    assert (run(module.first), run(module.kernel)) == (1.0, 2.0)


def test_decorators_above_and_below(module_from):
    module = module_from(
        "import functools\n"
        "def below(fn):\n"
        "    @functools.wraps(fn)\n"
        "    def wrapper(*args):\n"
        "        return fn(*args)\n"
        "    return wrapper\n"
        "def above(kernel):\n"
        "    kernel.tagged = True\n"
        "    return kernel\n"
        "@above\n@triton.jit\n@below\n"
        "def kernel(out):\n    tl.store(out, 9.0)\n"
    )
    assert module.kernel.tagged
    assert run(module.kernel) == 9.0


def test_a_notebook_cell():
    text = (
        "import mytriton as triton\nimport mytriton.language as tl\n"
        "@triton.jit\ndef kernel(out):\n    tl.store(out, 8.0)\n"
    )
    name = "<ipython-input-7-abc>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {}
    exec(compile(text, name, "exec"), namespace)
    assert run(namespace["kernel"]) == 8.0


def test_a_fault_that_python_makes_up_is_overlooked(kernel_from, monkeypatch):
    # What ast.parse raises while other threads parse, in some Pythons.
    parse, raised = ast.parse, []

    def faulty(*args, **kwargs):
        if len(raised) < 3:
            raised.append(SystemError("AST constructor recursion depth mismatch"))
            raise raised[-1]
        return parse(*args, **kwargs)

    kernel = kernel_from("def kernel(out):\n    tl.store(out, 4.5)\n")
    monkeypatch.setattr(ast, "parse", faulty)
    assert run(kernel) == 4.5
    assert len(raised) == 3


def test_a_function_without_source_is_refused():
    namespace = {"tl": tl}
    exec("def kernel(out):\n    pass\n", namespace)
    with pytest.raises(ASTFrontendError, match="could not get the source"):
        triton.jit(namespace["kernel"])


def test_a_lambda_is_refused():
    with pytest.raises(ASTFrontendError, match="lambda"):
        triton.jit(lambda out: None)


def test_a_method_is_refused():
    class Holder:
        @triton.jit
        def kernel(self, out):
            pass

    with pytest.raises(TypeError, match="is a method"):
        Holder().kernel[(1,)](np.zeros(1, np.float32))


def test_a_static_method_is_a_kernel():
    class Holder:
        @staticmethod
        @triton.jit
        def kernel(out):
            tl.store(out, 4.0)

    assert run(Holder.kernel) == 4.0


def test_an_async_function_is_refused(module_from):
    module = module_from("async def kernel(out):\n    pass\n")
    with pytest.raises(ASTFrontendError, match="async"):
        triton.jit(module.kernel)[(1,)](np.zeros(1, np.float32))


def test_variadic_parameters_are_refused(module_from):
    module = module_from("def kernel(*args):\n    pass\n")
    with pytest.raises(ASTFrontendError, match="variadic"):
        triton.jit(module.kernel)


def test_columns_count_characters_not_bytes(kernel_from):
    kernel = kernel_from("def kernel(out):\n    é = 'ééé'; tl.store(out, missing)\n")
    with pytest.raises(NameError) as caught:
        run(kernel)
    line = "    é = 'ééé'; tl.store(out, missing)"
    assert f":{line.index('missing') + 1}: " in str(caught.value)


def test_a_class_and_a_partial_are_refused():
    with pytest.raises(TypeError):
        triton.jit(int)
    with pytest.raises(TypeError):
        triton.jit(functools.partial(print))
