"""One declaration outside core is enough: an operation ``test.scale`` goes through verifier,
optimiser, printer and parser, none of which knows its name."""

import numpy as np
import pytest

from mytriton.errors import OpRuleError, VerificationError
from mytriton.ir.evaluate import elementwise
from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.ir.registry import OpDef, register, unregister
from mytriton.ir.types import F32, BlockType, element_of
from mytriton.ir.values import SSAFunction
from mytriton.transforms import optimise
from mytriton.verify import verify


def _infer(types, attrs):
    if not element_of(types[0]).is_floating():
        raise OpRuleError(f"test.scale needs a float, got {types[0]}")
    return types[0]


def _fold(op):
    return op.operands[0] if op.attrs["by"] == 1.0 else None


@pytest.fixture(autouse=True)
def scale():
    yield register(
        OpDef(
            "test.scale", ("value",), _infer, lambda ev, a: a * a.dtype.type(ev.attrs["by"]),
            "The value times a constant.", attrs=("by",), elementwise=True, fold=_fold,
        )
    )  # fmt: skip
    unregister("test.scale")


def kernel(*lines):
    return parse("\n".join(["kernel f(out: ptr<f32>, v: f32, n: i32) {", *lines, "}"]))


def optimised(*lines):
    function = kernel(*lines)
    verify(function)
    return print_module(optimise(function)).splitlines()[1:-1]


def test_print_and_parse():
    function = kernel("%0 = test.scale v {by=2.5} : f32", "%1 = test.scale 2.0 {by=-0.0} : f32")
    verify(function)
    assert "  %0 = test.scale v {by=2.5} : f32" in print_module(function).splitlines()
    assert parse(print_module(function)) == function


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = test.scale n {by=2.0} : i32", "test.scale needs a float, got i32"),
        ("%0 = test.scale v {by=2.0} : i32", "test.scale: the result is i32 but f32 give f32"),
        ("%0 = test.scale v : f32", "test.scale needs the attribute 'by'"),
        ("%0 = test.scal v {by=2.0} : f32", "closest: 'test.scale'"),
    ],
)
def test_verify(line, message):
    with pytest.raises(VerificationError) as caught:
        verify(kernel(line))
    assert message in str(caught.value)


def test_constants_fold_through_the_numpy_meaning():
    lines = optimised("%0 = test.scale 3.0 {by=2.5} : f32", "store out, %0, none")
    assert lines == ["  store out, 7.5, none"]


def test_the_folder_is_used():
    lines = optimised("%0 = test.scale v {by=1.0} : f32", "store out, %0, none")
    assert lines == ["  store out, v, none"]


def test_equal_ones_merge_and_unused_ones_go():
    lines = optimised(
        "%0 = test.scale v {by=2.5} : f32",
        "%1 = test.scale v {by=2.5} : f32",
        "%2 = test.scale v {by=3.0} : f32",
        "%3 = add %0, %1 : f32",
        "store out, %3, none",
    )
    assert lines == [
        "  %0 = test.scale v {by=2.5} : f32",
        "  %3 = add %0, %0 : f32",
        "  store out, %3, none",
    ]


def test_it_leaves_loops():
    lines = optimised(
        "for %0 in range(0, n, 1) {",
        "  %1 = test.scale v {by=2.5} : f32",
        "  store out, %1, none",
        "}",
    )
    assert lines == [
        "  %1 = test.scale v {by=2.5} : f32",
        "  for %0 in range(0, n, 1) {",
        "    store out, %1, none",
        "  }",
    ]


def test_evaluation(scale):
    block = BlockType((2,), F32)
    values = np.array([1.0, -2.0], np.float32)
    result = elementwise(scale, {"by": 3.0}, [block], block, [values])
    assert result.tolist() == [3.0, -6.0]


def test_features():
    function = kernel("%0 = test.scale v {by=2.5} : f32")
    assert isinstance(function, SSAFunction)
    assert "op.test.scale" in function.features()
