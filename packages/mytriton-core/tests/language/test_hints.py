"""Hints, assertions and output."""

import numpy as np
import pytest


def test_promises_are_identities(evaluate):
    x = np.arange(8, dtype=np.int32)
    for form in (
        "tl.multiple_of(x, 8)", "tl.multiple_of(x, [8])", "tl.max_contiguous(tl.multiple_of(x, 4), 4)",
        "tl.max_constancy(x, (8,))", "tl.max_contiguous(x + 0, N)",
    ):  # fmt: skip
        np.testing.assert_array_equal(evaluate(form, x=x, N=8)[0], x)
    assert evaluate("tl.multiple_of(n, 16)", n=32)[0] == 32


def test_statements_that_do_nothing(module_from):
    kernel = module_from(
        "from mytriton.language.extra.cuda import gdc_wait\n\n"
        "@triton.jit\ndef kernel(out, n):\n"
        "    tl.assume(n > 0)\n    tl.assume(True)\n    tl.debug_barrier()\n    gdc_wait()\n"
        "    tl.extra.cuda.gdc_launch_dependents()\n    tl.device_assert(n < 0, 'never looked at')\n"
        "    tl.static_assert(1 + 1 == 2)\n    tl.static_assert(out.dtype.element_ty == tl.int32, 'dtype')\n"
        "    if tl.target_info.is_cuda() or tl.target_info.cuda_capability_geq(9, 0):\n"
        "        tl.store(out, 1)\n"
        "    else:\n        tl.store(out, 2)\n"
    ).kernel
    out = np.zeros(1, np.int32)
    result = kernel.with_backend("interpreter")[(1,)](out, 3)
    assert out[0] == 2
    assert len(result[0]) == 1


def test_device_assert_is_an_operation_when_debugging(module_from):
    module = module_from(
        "@triton.jit(debug=True)\ndef kernel(x):\n"
        "    i = tl.arange(0, 4)\n    tl.device_assert(tl.load(x + i) > 0, 'positive', mask=i < 3)\n"
    )
    (node,) = module.kernel.trace(np.zeros(4, np.float32)).ops
    assert node.opcode == "device_assert"
    assert node.attrs == {"message": "positive"}
    assert [str(o.type) for o in node.operands] == ["vector<4 x bool>"] * 2


def test_device_print(module_from, capsys):
    kernel = module_from(
        "@triton.jit\ndef kernel(x):\n"
        "    v = tl.load(x + tl.arange(0, 2))\n"
        "    tl.device_print('v', v)\n    tl.device_print('both: ', v, 3)\n    tl.device_print('here')\n"
        "    tl.device_print('hex', v, hex=True)\n"
    ).kernel
    kernel.with_backend("interpreter")[(1,)](np.array([5, 16], np.int32))
    assert capsys.readouterr().out.splitlines() == [
        "pid (0, 0, 0) idx (0) v: 5",
        "pid (0, 0, 0) idx (1) v: 16",
        "pid (0, 0, 0) idx (0) both: (operand 0) 5",
        "pid (0, 0, 0) idx (1) both: (operand 0) 16",
        "pid (0, 0, 0) idx () both: (operand 1) 3",
        "pid (0, 0, 0) idx () here",
        "pid (0, 0, 0) idx (0) hex: 0x5",
        "pid (0, 0, 0) idx (1) hex: 0x10",
    ]


def test_static_print(module_from, capsys):
    kernel = module_from(
        "@triton.jit\ndef kernel(x, N: tl.constexpr):\n"
        "    tl.static_print('N is', N, x.dtype, sep='|')\n"
    ).kernel
    kernel.trace(np.zeros(1, np.float32), 8)
    assert capsys.readouterr().out == "N is|8|ptr<f32>\n"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("tl.static_assert(1 > 2)", "static_assert failed"),
        ("tl.static_assert(1 > 2, 'one is ' + 'less')", "static_assert failed: one is less"),
        (
            "tl.static_assert(n > 2)",
            "static_assert needs a compile-time condition, got a runtime value of",
        ),
        ("tl.multiple_of(n, n)", "the value of multiple_of must be a compile-time int"),
        ("tl.assume('x')", "assume needs a condition, got 'x'"),
        ("tl.device_assert('x')", "device_assert needs a condition, got 'x'"),
        ("tl.device_print(n)", "device_print: the prefix must be a string, got i32"),
        ("tl.device_print('p', p)", "device_print: the operand must be a number, got ptr<f32>"),
    ],
)
def test_refusals(statement, message, refused):
    assert message in refused(statement, p=np.zeros(4, np.float32), n=3)
