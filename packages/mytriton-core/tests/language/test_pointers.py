"""``tl.where`` of pointers: what it becomes, and what it refuses. Results are conformance cases
(``where.pointer``)."""

import numpy as np
import pytest

import mytriton as triton
from mytriton.errors import CompilationError

X = np.zeros(8, np.float32)


def compiled(kernel_from, body):
    kernel = kernel_from(f"def kernel(x, y, c):\n    at = tl.arange(0, 8)\n    {body}\n")
    return kernel.compile(X, X, 1).function


def opcodes(function):
    return [item.opcode for item in function.body]


def test_into_one_array_offsets_are_selected(kernel_from):
    function = compiled(kernel_from, "tl.store(tl.where(at < c, x + at, x + (7 - at)), 1)")
    assert opcodes(function).count("select") == 1
    assert "if" not in opcodes(function)
    assert opcodes(function).count("addptr") == 1


def test_the_array_itself_is_at_offset_zero(kernel_from):
    function = compiled(kernel_from, "tl.store(tl.where(c > 0, x, x + 1) + at, 1)")
    assert "if" not in opcodes(function)


def test_offsets_added_one_by_one_are_added_in_64_bits(kernel_from):
    text = str(compiled(kernel_from, "tl.store(tl.where(at < c, x + c + at, x + at), 1)"))
    assert "cast" in text and "i64" in text


def test_into_two_arrays_a_scalar_branches(kernel_from):
    for body in ("tl.where(c > 0, x, y) + at", "tl.where(c, x + at, y + at)"):
        assert "if" in opcodes(compiled(kernel_from, f"tl.store({body}, 1)"))


def test_a_pointer_and_a_block_of_them_broadcast(kernel_from):
    for body in ("tl.where(c > 0, x, y + at)", "tl.where(c, x + at[:, None], y + at)"):
        assert "if" in opcodes(compiled(kernel_from, f"tl.store({body}, 1)"))


def test_a_condition_known_at_compile_time_leaves_one(kernel_from):
    function = compiled(kernel_from, "tl.store(tl.where(True, x, y) + at, 1)")
    assert "if" not in opcodes(function)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tl.where(at < c, x + at, y + at)", "only be selected by a scalar condition, got vector<8 x bool>"),
        ("tl.where(c > 0, x, 0)", r"a pointer and 0 \(int\) have no type in common, got ptr<f32>"),
        ("tl.where(c > 0, c, x)", "a pointer and i32 have no type in common, got ptr<f32>"),
        ("tl.where(c > 0, x, None)", "a pointer and None"),
        ("tl.where(x, x, y)", "a number is needed here, got ptr<f32>"),
    ],
)  # fmt: skip
def test_refused(kernel_from, expression, message):
    with pytest.raises(CompilationError, match=message):
        compiled(kernel_from, f"tl.store({expression}, 1)")


def test_one_of_two_arrays_of_another_type(kernel_from):
    kernel = kernel_from("def kernel(x, y, c):\n    tl.store(tl.where(c > 0, x, y), 1)\n")
    with pytest.raises(triton.CompilationError, match="the pointers are ptr<f32> and ptr<i32>"):
        kernel.compile(X, X.view(np.int32), 1)
