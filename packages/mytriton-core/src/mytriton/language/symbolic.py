"""``tl.tensor``: a symbolic value of a trace. Operators build expression nodes."""

from __future__ import annotations

from typing import Any

from ..errors import OpRuleError
from ..ir.builder import Builder
from ..ir.expr import (
    BINARY_SYMBOLS,
    UNARY_SYMBOLS,
    AddPtr,
    BinOp,
    ExpandDims,
    Node,
    OpExpr,
    UnaryOp,
)
from ..ir.promote import check_literal, literal_type, promote_literal
from ..ir.types import F32, ScalarType, Type, element_of, is_pointer, scalar_of, shape_of
from .compile_time import unwrap

CONTROL_FLOW = (
    "Python control flow over symbolic values is not supported; a value of {ty} is only known when "
    "the kernel runs. When combining comparisons with &, wrap each comparison in parentheses"
)


class tensor:
    """A scalar, pointer or block that exists when the kernel runs."""

    __slots__ = ("expr",)
    __hash__ = None  # type: ignore[assignment]  # == is an operation of the language

    def __init__(self, expr: Node) -> None:
        self.expr = expr

    @property
    def type(self) -> Type:
        return self.expr.type

    @property
    def dtype(self) -> Any:
        """The element type (a scalar type or a pointer type)."""
        return element_of(self.type)

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.type)

    def __repr__(self) -> str:
        return f"<tensor {self.type}>"

    def __bool__(self) -> bool:
        raise TypeError(CONTROL_FLOW.format(ty=self.type))

    def __index__(self) -> int:
        raise TypeError(f"a compile-time int is needed here, got a runtime value of {self.type}")

    def __iter__(self) -> Any:
        raise TypeError(f"a runtime value of {self.type} cannot be iterated over or unpacked")

    def __getitem__(self, index: Any) -> tensor:
        return subscript(self, index)


def _operator(symbol: str, reflected: bool = False) -> Any:
    def method(self: tensor, other: Any) -> Any:
        return binary(symbol, other, self) if reflected else binary(symbol, self, other)

    return method


#: Python's operator methods and the symbols they stand for.
OPERATOR_METHODS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
COMPARISON_METHODS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

for _name, _symbol in OPERATOR_METHODS.items():
    setattr(tensor, f"__{_name}__", _operator(_symbol))
    setattr(tensor, f"__r{_name}__", _operator(_symbol, reflected=True))
for _name, _symbol in COMPARISON_METHODS.items():
    setattr(tensor, f"__{_name}__", _operator(_symbol))
for _name, _symbol in {"neg": "-", "pos": "+", "invert": "~"}.items():
    setattr(tensor, f"__{_name}__", lambda self, _symbol=_symbol: unary(_symbol, self))


def is_literal(value: Any) -> bool:
    """Whether ``value`` is a number the language takes as a constant."""
    return isinstance(value, (bool, int, float))


def build(node: Node) -> tensor:
    """Add ``node`` to the running trace."""
    return tensor(Builder.current().add(node))


def operation(name: str, *operands: Any, **attrs: Any) -> tensor:
    """A registered operation applied to runtime values and literals: how a plugin's function
    ``acme.fft(x)`` builds its node. Literals take their own type; attributes must be hashable."""
    nodes = tuple(None if value is None else operand(value) for value in operands)
    return build(OpExpr(name, nodes, tuple(attrs.items())))


def literal(value: Any, ty: ScalarType | None = None) -> Node:
    """A constant of type ``ty``, or of the literal's own type. Raises ``OpRuleError`` for what is
    no number or does not fit."""
    value = unwrap(value)
    if not is_literal(value):
        raise OpRuleError(f"a number or a runtime value is needed here, got {describe(value)}")
    if ty is None:
        ty = literal_type(value)
    check_literal(value, ty)
    return Builder.current().constant(value, ty)


def operand(value: Any, ty: ScalarType | None = None) -> Node:
    """The node of a runtime value, or of a literal (of type ``ty`` where its context fixes one)."""
    return value.expr if isinstance(value, tensor) else literal(value, ty)


def describe(value: Any) -> str:
    """How an operand that does not fit is called in messages."""
    if isinstance(value, tensor):
        return str(value.type)
    return f"{value!r} ({type(value).__name__})"


def pair(lhs: Any, rhs: Any, *, division: bool = False) -> tuple[Node, Node]:
    """Two operands of a binary operation; a literal takes its type from the other side."""
    lhs, rhs = unwrap(lhs), unwrap(rhs)
    if isinstance(lhs, tensor) and not isinstance(rhs, tensor):
        return lhs.expr, _weak(rhs, lhs, division)
    if isinstance(rhs, tensor) and not isinstance(lhs, tensor):
        return _weak(lhs, rhs, division), rhs.expr
    return operand(lhs), operand(rhs)


def _weak(value: Any, other: tensor, division: bool) -> Node:
    if not is_literal(value):
        return literal(value)  # raises
    return literal(value, promote_literal(scalar_of(other.type), value, division=division))


#: What to write instead of operators the language lacks.
OPERATOR_HINTS = {
    "<=": "; on integers a <= b is a < b + 1",
    ">": "; a > b is b < a",
    ">=": "; on integers a >= b is b < a + 1",
}


def binary(symbol: str, lhs: Any, rhs: Any) -> tensor:
    """``lhs symbol rhs`` for runtime operands. Raises ``OpRuleError`` for an operator the language
    lacks or operands it does not take."""
    lhs, rhs = unwrap(lhs), unwrap(rhs)
    pointers = [is_pointer(v.type) if isinstance(v, tensor) else False for v in (lhs, rhs)]
    if symbol == "+" and pointers in ([True, False], [False, True]):
        base, offset = (lhs, rhs) if pointers[0] else (rhs, lhs)
        return build(AddPtr(base.expr, operand(offset)))
    if symbol == "-" and pointers == [True, False]:
        back = unary("-", rhs) if isinstance(rhs, tensor) else -rhs if is_literal(rhs) else rhs
        return build(AddPtr(lhs.expr, operand(back)))
    if symbol not in BINARY_SYMBOLS:
        known = " ".join(sorted(BINARY_SYMBOLS))
        known += OPERATOR_HINTS.get(symbol, "")
        raise OpRuleError(f"unsupported operator {symbol!r} on runtime values; supported: {known}")
    if any(pointers):
        raise OpRuleError(
            f"{BINARY_SYMBOLS[symbol]}: cannot combine {describe(lhs)} and {describe(rhs)}; only "
            "ptr + offset is pointer arithmetic"
        )
    if symbol == "/" and not (_has_float(lhs) or _has_float(rhs)):
        lhs, rhs = (tensor(as_type(v, F32)) for v in (lhs, rhs))
    a, b = pair(lhs, rhs, division=symbol in "/%")
    return build(BinOp(symbol, a, b))


def _has_float(value: Any) -> bool:
    if isinstance(value, tensor):
        return scalar_of(value.type).is_floating()
    return isinstance(value, float)


def as_type(value: Any, ty: ScalarType) -> Node:
    """``value`` converted to element type ``ty`` (a literal simply becomes such a constant)."""
    value = unwrap(value)
    if not isinstance(value, tensor):
        if not is_literal(value):
            return literal(value)  # raises
        # A float literal converts as C does, so it may stand for an integer.
        return literal(
            int(value) if isinstance(value, float) and not ty.is_floating() else value, ty
        )
    if element_of(value.type) == ty:
        return value.expr
    if is_pointer(value.type):
        raise OpRuleError(f"a number is needed here, got {value.type}")
    return build(OpExpr("cast", (value.expr,), (("dtype", ty),))).expr


def unary(symbol: str, value: Any) -> tensor:
    """``symbol value`` for a runtime operand."""
    if symbol == "+":
        scalar_of(value.type)
        return value  # type: ignore[no-any-return]
    if symbol not in UNARY_SYMBOLS:
        raise OpRuleError(f"unsupported unary operator {symbol!r} on a runtime value")
    return build(UnaryOp(symbol, operand(value)))


def subscript(value: tensor, index: Any) -> tensor:
    """``x[:, None]`` and its like: ``:`` keeps an axis, ``None`` inserts one of extent 1."""
    rank = len(value.shape)
    if rank == 0:
        hint = "; read memory with tl.load(x + i)" if is_pointer(value.type) else ""
        raise OpRuleError(f"only blocks can be subscripted, got {value.type}{hint}")
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is None or part == slice(None) for part in parts):
        raise OpRuleError(
            "a block takes only ':' and None as subscripts, as in x[:, None] and x[None, :]"
        )
    kept = sum(part is not None for part in parts)
    if kept != rank:
        raise OpRuleError(f"the subscript has {kept} ':' but {value.type} has {rank} axes")
    for axis, part in enumerate(parts):
        if part is None:
            value = build(ExpandDims(value.expr, axis))
    return value
