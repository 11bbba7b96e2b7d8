"""An operation made up outside core goes through every stage without a change to core."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import CompilationError, OpRuleError
from mytriton.ir.parser import parse
from mytriton.ir.registry import OpDef, register, unregister
from mytriton.ir.types import scalar_of
from mytriton.language.symbolic import operation


def infer(types, attrs):
    (ty,) = types
    if not scalar_of(ty).is_floating():
        raise OpRuleError(f"test.scale needs a float, got {ty}")
    return ty


def fold(op):
    return op.operands[0] if op.attrs["factor"] == 1.0 else None


@pytest.fixture(autouse=True)
def scale():
    register(
        OpDef(
            "test.scale", ("value",), infer, lambda ev, x: x * x.dtype.type(ev.attrs["factor"]),
            "The value times a constant factor.", attrs=("factor",), elementwise=True, fold=fold,
        )
    )  # fmt: skip
    yield
    unregister("test.scale")


def scaled(x, factor):
    return operation("test.scale", x, factor=factor)


@triton.jit
def kernel(x, out, FACTOR: tl.constexpr):
    i = tl.arange(0, 4)
    tl.store(out + i, scaled(tl.load(x + i), FACTOR))


x = np.arange(4, dtype=np.float32)


def test_it_is_traced_verified_and_interpreted():
    out = np.zeros_like(x)
    result = kernel[(1,)](x, out, FACTOR=3.0)
    np.testing.assert_array_equal(out, x * 3)
    assert "test.scale" in result.src
    assert "op.test.scale" in result.function.features()


def test_its_folder_runs():
    opcodes = [op.opcode for op in kernel.compile(x, x, FACTOR=1.0).function.body]
    assert "test.scale" not in opcodes


def test_constants_fold_through_its_numpy_meaning():
    @triton.jit
    def constant(out):
        tl.store(out, scaled(2.5, 4.0))

    (store,) = constant.compile(x).function.body
    assert store.operands[1].value == 10.0


def test_it_prints_and_parses():
    function = kernel.compile(x, x, FACTOR=3.0).function
    assert "test.scale %2 {factor=3.0} : vector<4 x f32>" in str(function)
    assert parse(str(function)) == function


def test_its_type_rule_speaks_at_the_users_line():
    with pytest.raises(
        CompilationError, match=r"test_made_up_op.py:\d+:\d+: test.scale needs a float, got"
    ):
        kernel.compile(x.astype(np.int32), x, FACTOR=3.0)
