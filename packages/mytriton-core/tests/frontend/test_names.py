"""Names from outside the kernel, and recompilation when their values change."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ASTFrontendError

SCALE = 2.0
WRAPPED = tl.constexpr(4)
TABLE = [1.0, 2.0]


def run(kernel, *args, **kwargs):
    out = np.zeros(1, np.float32)
    kernel[(1,)](out, *args, **kwargs)
    return float(out[0])


def test_a_changed_global_recompiles(module_from):
    module = module_from(
        "SCALE = 2.0\n@triton.jit\ndef kernel(out):\n    tl.store(out, 1.0 * SCALE)\n"
    )
    assert run(module.kernel) == 2.0
    module.SCALE = 3.0
    assert run(module.kernel) == 3.0
    module.SCALE = 2.0
    assert run(module.kernel) == 2.0


def test_a_global_that_changes_type_recompiles(module_from):
    module = module_from(
        "V = 4\n@triton.jit\ndef kernel(out):\n    tl.store(out, tl.sum(tl.full(4, V, tl.int32)) / V)\n"
    )
    assert run(module.kernel) == 4.0
    before = len(next(iter(module.kernel.specialisations.values())))
    module.V = 4.0
    assert run(module.kernel) == 4.0
    assert len(next(iter(module.kernel.specialisations.values()))) == before + 1


def test_signed_zero_globals_differ(module_from):
    module = module_from("Z = 0.0\n@triton.jit\ndef kernel(out):\n    tl.store(out, Z)\n")
    out = np.ones(1, np.float32)
    module.kernel[(1,)](out)
    assert not np.signbit(out[0])
    module.Z = -0.0
    module.kernel[(1,)](out)
    assert np.signbit(out[0])


def test_a_changed_closure_value_recompiles():
    factor = 2.0

    @triton.jit
    def kernel(out):
        tl.store(out, 1.0 * factor)

    assert run(kernel) == 2.0
    factor = 5.0
    assert run(kernel) == 5.0


def test_a_changed_helper_recompiles(module_from):
    module = module_from(
        "def helper(x):\n    return x + 1.0\n"
        "@triton.jit\ndef kernel(out, a):\n    tl.store(out, helper(a))\n"
    )
    assert run(module.kernel, 1.0) == 2.0

    def other(x):
        return x * 10.0

    module.helper = other
    assert run(module.kernel, 1.0) == 10.0


def test_a_changed_global_of_a_helper_recompiles(module_from):
    module = module_from(
        "K = 1.0\ndef inner(x):\n    return x + K\ndef helper(x):\n    return inner(x)\n"
        "@triton.jit\ndef kernel(out, a):\n    tl.store(out, helper(a))\n"
    )
    assert run(module.kernel, 1.0) == 2.0
    module.K = 7.0
    assert run(module.kernel, 1.0) == 8.0


def test_a_changed_module_attribute_recompiles(module_from):
    settings = module_from("VALUE = 1.0\n")
    module = module_from("@triton.jit\ndef kernel(out):\n    tl.store(out, settings.VALUE)\n")
    module.settings = settings
    assert run(module.kernel) == 1.0
    settings.VALUE = 2.5
    assert run(module.kernel) == 2.5


def test_a_global_that_comes_to_shadow_a_builtin_recompiles(module_from):
    module = module_from("@triton.jit\ndef kernel(out):\n    tl.store(out, float(max(1, 2)))\n")
    assert run(module.kernel) == 2.0
    module.max = lambda a, b: 9
    assert run(module.kernel) == 9.0


def test_unchanged_values_do_not_recompile():
    @triton.jit
    def kernel(out):
        tl.store(out, 1.0 * SCALE)

    run(kernel)
    before = sum(map(len, kernel.specialisations.values()))
    run(kernel)
    assert sum(map(len, kernel.specialisations.values())) == before


def test_constexpr_globals_are_unwrapped():
    @triton.jit
    def kernel(out):
        tl.store(out + tl.arange(0, WRAPPED), tl.zeros(WRAPPED, tl.float32) + 3.0)

    out = np.zeros(4, np.float32)
    kernel[(1,)](out)
    np.testing.assert_array_equal(out, 3.0)


def test_mutable_globals_are_refused():
    @triton.jit
    def kernel(out):
        tl.store(out, TABLE[0])

    with pytest.raises(ASTFrontendError, match="global 'TABLE' cannot be used"):
        run(kernel)


def test_locals_come_before_globals():
    @triton.jit
    def kernel(out, SCALE):
        tl.store(out, SCALE + 0.0)

    assert run(kernel, 11.0) == 11.0


def test_unknown_names_suggest_the_closest():
    @triton.jit
    def kernel(out):
        value = 1.0
        tl.store(out, vlaue)  # noqa: F821

    with pytest.raises(NameError, match="did you mean 'value'"):
        run(kernel)


def test_a_name_born_in_a_runtime_loop_does_not_escape():
    @triton.jit
    def kernel(out, n):
        for _i in range(n):
            inner = 1.0
        tl.store(out, inner)

    with pytest.raises(NameError, match="first assigned inside the loop at line"):
        run(kernel, 3)


def test_the_kernel_body_is_never_executed_by_python():
    touched = []

    @triton.jit
    def kernel(out):
        touched.append(1)
        tl.store(out, 1.0)

    with pytest.raises(ASTFrontendError):
        run(kernel)
    assert touched == []


def test_print_is_refused():
    @triton.jit
    def kernel(out):
        print(out)

    with pytest.raises(ASTFrontendError, match="print is not supported in kernels"):
        run(kernel)
