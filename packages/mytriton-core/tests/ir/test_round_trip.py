"""A property over generated functions: text and structure say the same."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.printer import print_module
from mytriton.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    U64,
    BlockType,
    PointerType,
    ScalarType,
    element_of,
)
from mytriton.ir.values import Constant, Region, SSAForRange, SSAFunction, SSAOp, SSAValue

SCALARS = [BOOL, I8, I32, I64, U64, F16, BF16, F32, F64]
TYPES = [*SCALARS, PointerType(F32), BlockType((4,), F32), BlockType((2, 8), PointerType(I8))]
OPCODES = [
    "add",
    "select",
    "cmp_lt",
    "load",
    "store",
    "addptr",
    "full",
    "test.scale",
    "exp",
    "cast",
]
PARAMS = [
    Param(name, ty)
    for name, ty in zip(["x", "nan", "é", "a b", "n", "v0"], TYPES[2:8], strict=True)
]


@st.composite
def constants(draw):
    ty = draw(st.sampled_from(SCALARS))
    if ty.is_bool():
        return Constant(draw(st.booleans()), ty)
    if ty.is_integer():
        return Constant(draw(st.integers(*ty.int_range())), ty)
    return Constant(draw(st.floats()), ty)


attributes = st.recursive(
    st.one_of(
        st.integers(), st.floats(), st.booleans(), st.none(), st.text(), st.sampled_from(TYPES)
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=4,
)
names = st.sampled_from(["axis", "shape", "dtype", "é"])


class Body:
    """Generates bodies: numbers are fresh, operands are what is defined before."""

    def __init__(self, draw):
        self.draw = draw
        self.fresh = 0
        self.scope = list(PARAMS)

    def value(self, ty=None):
        self.fresh += 1
        return SSAValue(self.fresh, ty or self.draw(st.sampled_from(TYPES)))

    def operand(self):
        if self.draw(st.booleans()):
            return self.draw(st.sampled_from(self.scope))
        return self.draw(st.one_of(constants(), st.none()))

    def items(self, depth):
        return [self.item(depth) for _ in range(self.draw(st.integers(0, 4)))]

    def item(self, depth):
        kind = self.draw(st.integers(0, 5))
        if kind == 5 and depth:
            return self.loop(depth - 1)
        operands = tuple(self.operand() for _ in range(self.draw(st.integers(0, 3))))
        attrs = self.draw(st.dictionaries(names, attributes, max_size=2))
        regions = ()
        results = tuple(self.value() for _ in range(self.draw(st.integers(0, 2))))
        if kind == 4 and depth:
            regions = tuple(self.region(depth - 1) for _ in range(self.draw(st.integers(1, 2))))
        self.scope.extend(results)
        opcode = self.draw(st.sampled_from(OPCODES))
        return SSAOp(opcode, operands, results or None, attrs, regions)

    def region(self, depth):
        args = tuple(self.value() for _ in range(self.draw(st.integers(0, 2))))
        self.scope.extend(args)
        body = self.items(depth)
        return Region(
            args, body, tuple(self.operand() for _ in range(self.draw(st.integers(0, 2))))
        )

    def loop(self, depth):
        start = self.operand()
        index = self.value(self.index_type(start))
        types = self.draw(st.lists(st.sampled_from(TYPES), max_size=2))
        inputs = tuple(self.operand() for _ in types)
        stop, step = self.operand(), self.operand()
        args = tuple(map(self.value, types))
        results = tuple(map(self.value, types))
        self.scope += [index, *args]
        body = self.items(depth)
        yields = tuple(self.operand() for _ in types)
        self.scope.extend(results)
        return SSAForRange(index, start, stop, step, inputs, args, body, yields, results)

    def index_type(self, start):
        # The index is spelt without a type: it has that of the start.
        return I32 if start is None else element_of(start.ty)


@st.composite
def functions(draw):
    name = draw(st.sampled_from(["f", "kernel", "é", "a b"]))
    return SSAFunction(name, tuple(PARAMS), Body(draw).items(3))


@settings(deadline=None)
@given(functions())
def test_parse_inverts_print(function):
    text = print_module(function)
    again = parse(text)
    assert again == function
    assert print_module(again) == text


def test_the_generator_makes_scalars():
    assert all(isinstance(ty, ScalarType) for ty in SCALARS)
