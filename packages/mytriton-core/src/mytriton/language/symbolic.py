"""``tl.tensor``: a symbolic value of a trace. Operators build expression nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import OpRuleError
from ..ir.builder import Builder
from ..ir.expr import BINARY_SYMBOLS, UNARY_SYMBOLS, AddPtr, BinOp, Node, OpExpr, UnaryOp
from ..ir.numerics import round_constant
from ..ir.promote import check_literal, literal_type, promote, promote_literal
from ..ir.types import (
    F32,
    I32,
    I64,
    ScalarType,
    Type,
    element_of,
    is_pointer,
    scalar_of,
    shape_of,
)
from .compile_time import PLAIN, unwrap
from .pending import missing

if TYPE_CHECKING:
    from . import core as _core

CONTROL_FLOW = (
    "Python control flow over symbolic values is not supported; a value of {ty} is only known when "
    "the kernel runs. When combining comparisons with &, wrap each comparison in parentheses"
)


class tensor:
    """A scalar, pointer or block that exists when the kernel runs.

    Operators, and as methods the functions of the language that take one: ``x.to(tl.float16)``,
    ``x.sum(axis=0)``.
    """

    __slots__ = ("expr",)
    #: How ``tl.constexpr`` knows that arithmetic with one is not its own.
    __mytriton_runtime__ = True
    __hash__ = None  # type: ignore[assignment]  # == is an operation of the language

    if TYPE_CHECKING:  # set below, from the tables of operators

        def __add__(self, other: Any) -> tensor: ...

        def __neg__(self) -> tensor: ...

        def __eq__(self, other: object) -> tensor: ...  # type: ignore[override]

        def __ne__(self, other: object) -> tensor: ...  # type: ignore[override]

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __add__
        __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __add__
        __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = __add__
        __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = __add__
        __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__
        __pos__ = __invert__ = __neg__

        # The functions that are methods too (``core.METHODS``), for editors to complete.
        def exp(self) -> tensor: ...

        abs = ceil = cos = erf = exp2 = floor = log = log2 = exp
        rsqrt = sigmoid = sin = sqrt = sqrt_rn = exp
        argmax = _core.argmax
        argmin = _core.argmin
        broadcast_to = _core.broadcast_to
        cast = _core.cast
        cdiv = _core.cdiv
        expand_dims = _core.expand_dims
        max = _core.max
        min = _core.min
        permute = _core.permute
        softmax = _core.softmax
        store = _core.store
        sum = _core.sum
        trans = _core.trans
        xor_sum = _core.xor_sum
        to = _core._to
        reduce = _core._reduce
        logical_and = _core._logical_and
        logical_or = _core._logical_or

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
        """The extents; ``()`` for a scalar or pointer."""
        return shape_of(self.type)

    @property
    def numel(self) -> int:
        """The number of elements; 1 for a scalar or pointer."""
        return math.prod(self.shape)

    @property
    def T(self) -> tensor:
        """The transpose of a block of rank 2 (of higher rank, the last two axes swapped)."""
        from .shapes import trans

        return trans(self)

    if not TYPE_CHECKING:  # a checker shall tell what is misspelt

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(missing(f"a value of {self.type}", name))

    def __repr__(self) -> str:
        return f"<tensor {self.type}>"

    def __bool__(self) -> bool:
        raise TypeError(CONTROL_FLOW.format(ty=self.type))

    def __index__(self) -> int:
        raise TypeError(f"a compile-time int is needed here, got a runtime value of {self.type}")

    def __iter__(self) -> Any:
        raise TypeError(f"a runtime value of {self.type} cannot be iterated over or unpacked")

    def __getitem__(self, index: Any) -> tensor:
        from .shapes import subscript

        return subscript(self, index)

    def __abs__(self) -> tensor:
        from .pointwise import abs

        return abs(self)


PLAIN.add(tensor)


def _operator(symbol: str, reflected: bool = False) -> Any:
    def method(self: tensor, other: Any) -> Any:
        return binary(symbol, other, self) if reflected else binary(symbol, self, other)

    return method


#: Python's operator methods and the symbols they stand for.
OPERATOR_METHODS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "and": "&",
    "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "pow": "**", "matmul": "@",
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
    if callable(value) and hasattr(value, "__name__") and not isinstance(value, type):
        return f"the function {value.__name__}, which is not called"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of {value.dtype} and shape {tuple(value.shape)}"
    return f"{value!r} ({type(value).__name__})"


def pair(lhs: Any, rhs: Any, *, division: bool = False) -> tuple[Node, Node]:
    """Two operands of a binary operation; a literal takes its type from the other side."""
    lhs, rhs = unwrap(lhs), unwrap(rhs)
    if isinstance(lhs, tensor):
        return lhs.expr, (rhs.expr if isinstance(rhs, tensor) else _weak(rhs, lhs, division))
    if isinstance(rhs, tensor):
        return _weak(lhs, rhs, division), rhs.expr
    return operand(lhs), operand(rhs)


def _weak(value: Any, other: tensor, division: bool) -> Node:
    if not is_literal(value):
        return literal(value)  # raises
    return literal(value, promote_literal(scalar_of(other.type), value, division=division))


def common(*values: Any) -> tuple[list[Node], ScalarType]:
    """Operands of an operation on several numbers, and the type they meet in: the runtime values'
    own, widened by a literal only where the literal is of a higher kind."""
    values = tuple(unwrap(value) for value in values)
    typed = [scalar_of(v.type) for v in values if isinstance(v, tensor)]
    weak = [v for v in values if not isinstance(v, tensor)]
    for value in weak:
        if not is_literal(value):
            literal(value)  # raises
    found: ScalarType | None = None
    for ty in typed or [literal_type(v) for v in weak]:
        found = ty if found is None else promote(found, ty)
    assert found is not None
    for value in weak if typed else ():
        found = promote_literal(found, value)
    return [operand(v, found) for v in values], found


#: What to write instead of operators the language lacks on runtime values.
OPERATOR_HINTS = {
    "**": "; use x * x, tl.exp2(y * tl.log2(x)) or libdevice.pow(x, y)",
    "@": "; use tl.dot(x, y)",
}
#: Operators that two integers of different signedness do not share.
_ONE_SIGNEDNESS = ("//", "%")


def binary(symbol: str, lhs: Any, rhs: Any) -> tensor:
    """``lhs symbol rhs`` for runtime operands. Raises ``OpRuleError`` for an operator the language
    lacks or operands it does not take."""
    lhs, rhs = unwrap(lhs), unwrap(rhs)
    if symbol not in BINARY_SYMBOLS:
        known = " ".join(sorted(BINARY_SYMBOLS))
        hint = OPERATOR_HINTS.get(symbol, f"; supported: {known}")
        raise OpRuleError(f"unsupported operator {symbol!r} on runtime values{hint}")
    if (isinstance(lhs, tensor) and is_pointer(lhs.type)) or (
        isinstance(rhs, tensor) and is_pointer(rhs.type)
    ):
        return _pointer_arithmetic(symbol, lhs, rhs)
    if symbol in _ONE_SIGNEDNESS:
        _check_division(symbol, lhs, rhs)
    elif symbol == "/" and not (_has_float(lhs) or _has_float(rhs)):
        lhs, rhs = (tensor(as_type(v, F32)) for v in (lhs, rhs))
    elif symbol == ">>" and isinstance(lhs, tensor) and isinstance(rhs, tensor):
        return _shift_right(lhs, rhs)
    a, b = pair(lhs, rhs, division=symbol in "/%")
    return build(BinOp(symbol, a, b))


def _pointer_arithmetic(symbol: str, lhs: Any, rhs: Any) -> tensor:
    """``ptr + offset``, ``offset + ptr`` and ``ptr - offset``; nothing else is pointer arithmetic."""
    left = isinstance(lhs, tensor) and is_pointer(lhs.type)
    right = isinstance(rhs, tensor) and is_pointer(rhs.type)
    if symbol == "+" and left != right:
        base, offset = (lhs, rhs) if left else (rhs, lhs)
        return build(AddPtr(base.expr, _offset(offset)))
    if symbol == "-" and left and not right:
        if isinstance(rhs, tensor):
            ty = scalar_of(rhs.type)
            # The negative of an unsigned offset would wrap to a large positive one.
            signed = tensor(as_type(rhs, I64)) if ty.is_int_unsigned() else rhs
            return build(AddPtr(lhs.expr, unary("-", signed).expr))
        return build(AddPtr(lhs.expr, operand(-rhs if is_literal(rhs) else rhs)))
    shown = f"{BINARY_SYMBOLS[symbol]}: cannot combine {describe(lhs)} and {describe(rhs)}"
    if left and right:
        hint = "pointers cannot be added, subtracted or compared; keep offsets as integers"
    else:
        hint = "only ptr + offset is pointer arithmetic"
    raise OpRuleError(f"{shown}; {hint}")


def _offset(value: Any) -> Node:
    if isinstance(value, tensor) and scalar_of(value.type).is_bool():
        return as_type(value, I32)
    return operand(int(value) if isinstance(value, bool) else value)


def _own_type(value: Any) -> ScalarType:
    """The element type of a value; of a literal, the one it has on its own."""
    if isinstance(value, tensor):
        return scalar_of(value.type)
    if not is_literal(value):
        literal(value)  # raises
    return literal_type(value)


def _check_division(symbol: str, lhs: Any, rhs: Any) -> None:
    """Rules of ``//`` and ``%`` beyond those of arithmetic."""
    a, b = _own_type(lhs), _own_type(rhs)
    if a.is_floating() or b.is_floating():
        if symbol == "//":
            raise OpRuleError(
                f"'//' takes integers, got {describe(lhs)} and {describe(rhs)}; use tl.floor(x / y)"
            )
        return
    if a.is_bool() and b.is_bool():
        raise OpRuleError(
            f"{symbol!r} takes integers, got bool and bool; convert with .to(tl.int32)"
        )
    runtime = isinstance(lhs, tensor) and isinstance(rhs, tensor)
    if runtime and a.is_int_signed() != b.is_int_signed():
        raise OpRuleError(
            f"{symbol!r} of {describe(lhs)} and {describe(rhs)}: a signed and an unsigned integer have "
            "no common quotient; convert one with .to(...)"
        )


def _shift_right(lhs: tensor, rhs: tensor) -> tensor:
    """``lhs >> rhs``: whether the sign is copied follows the left operand, as in Triton, also where
    the two meet in an unsigned type."""
    a, b = scalar_of(lhs.type), scalar_of(rhs.type)
    if a.is_signed() and not b.is_floating() and not (meet := promote(a, b)).is_signed():
        signed = ScalarType(f"i{meet.bits}")
        shifted = build(BinOp(">>", as_type(lhs, signed), as_type(rhs, signed)))
        return tensor(as_type(shifted, meet))
    return build(BinOp(">>", lhs.expr, rhs.expr))


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
        return literal(_whole(value, ty), ty)
    if element_of(value.type) == ty:
        return value.expr
    if is_pointer(value.type):
        raise OpRuleError(f"a number is needed here, got {value.type}; tl.load what it points to")
    return build(OpExpr("cast", (value.expr,), (("dtype", ty),))).expr


def _whole(value: Any, ty: ScalarType) -> Any:
    """A literal as what it stands for in ``ty``: as in C, a float is truncated where an integer is
    wanted, and anything but zero is true."""
    if ty.is_bool():
        return bool(value)
    if not isinstance(value, float) or ty.is_floating():
        return value
    if not math.isfinite(value):
        raise OpRuleError(f"{value!r} cannot be converted to {ty}")
    return int(value)


def to_memory(value: Any, ty: ScalarType) -> Node:
    """``value`` converted to the element type of memory it goes to. As in C an integer literal may
    be given by its bits: -1 for all ones in ``u8``, 255 for -1 in ``i8``."""
    value = unwrap(value)
    if is_literal(value) and ty.is_integer():
        value = _whole(value, ty)
        if -(1 << (ty.bits - 1)) <= value < 1 << ty.bits:
            value = round_constant(value, ty)
    return as_type(value, ty)


def unary(symbol: str, value: Any) -> tensor:
    """``symbol value`` for a runtime operand."""
    if symbol == "+":
        scalar_of(value.type)
        return value  # type: ignore[no-any-return]
    if symbol not in UNARY_SYMBOLS:
        raise OpRuleError(f"unsupported unary operator {symbol!r} on a runtime value")
    return build(UnaryOp(symbol, operand(value)))
