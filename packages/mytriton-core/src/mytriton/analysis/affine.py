"""Linear forms: which blocks are ``base + sum(stride[d] * index[d])``.

Offsets, pointers and masks of most kernels are: a backend then addresses memory by a scalar base
and one stride per axis, and a mask ``offsets < n`` by how many lanes of an axis pass. Bases and
strides are *scalar expressions*: ints, scalar SSA operands, and sums and products of them. They are
meant to be evaluated in the target's index arithmetic (64 bits): a value that flows only into
offsets and masks may (language.md section 3), which also keeps ``base + BLOCK`` from wrapping.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Union

from ..ir.expr import Param
from ..ir.registry import get
from ..ir.types import (
    BOOL,
    I32,
    PointerType,
    ScalarType,
    Type,
    element_of,
    is_pointer,
    scalar_of,
    shape_of,
)
from ..ir.values import (
    Constant,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)


@dataclass(frozen=True)
class BaseOf:
    """The base of a loop-carried block: a scalar that a backend carries round the loop instead."""

    value: SSAValue


#: Operations in the scalars of a form, and bounds and conditions of a mask, at most: who reads a form
#: walks through all of it, and one that is doubled again and again has no end.
MOST = 128


@dataclass(frozen=True)
class Binary:
    """``lhs op rhs`` of scalar expressions; ``op`` is ``"+"``, ``"-"`` or ``"*"``."""

    op: str
    lhs: Scalar
    rhs: Scalar
    #: Operations in it, those of a shared part as often as it stands there.
    size: int = field(init=False, compare=False, repr=False)
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + size(self.lhs) + size(self.rhs))
        object.__setattr__(self, "_hash", hash((self.op, self.lhs, self.rhs)))

    def __hash__(self) -> int:
        return self._hash


Scalar = Union[int, SSAValue, Param, BaseOf, Binary]  # noqa: UP007


def size(scalar: Scalar) -> int:
    """Operations in a scalar expression."""
    return scalar.size if isinstance(scalar, Binary) else 0


def add(a: Scalar, b: Scalar) -> Scalar:
    """``a + b``, simplified."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if a == 0:
        return b
    if b == 0:
        return a
    # A pointer that an unrolled loop moves on takes one step after the other: they are counted.
    rest, last = (a.lhs, a.rhs) if isinstance(a, Binary) and a.op == "+" else (0, a)
    (times, of), (more, same) = _counted(last), _counted(b)
    if isinstance(b, int) or of != same or abs(times + more) > MOST:
        return Binary("+", a, b)
    return add(rest, mul(of, times + more))


def _counted(scalar: Scalar) -> tuple[int, Scalar]:
    """A term as so many times another."""
    if isinstance(scalar, Binary) and scalar.op == "*" and isinstance(scalar.rhs, int):
        return scalar.rhs, scalar.lhs
    return 1, scalar


def sub(a: Scalar, b: Scalar) -> Scalar:
    """``a - b``, simplified."""
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if a == b:
        return 0
    return a if b == 0 else Binary("-", a, b)


def mul(a: Scalar, b: Scalar) -> Scalar:
    """``a * b``, simplified."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if a == 0 or b == 0:
        return 0
    if a == 1:
        return b
    return a if b == 1 else Binary("*", a, b)


@dataclass(frozen=True)
class Linear:
    """``base + sum(strides[d] * index[d])``, in elements from ``root`` for pointers."""

    base: Scalar
    strides: tuple[Scalar, ...] = ()
    #: What the offset is counted from: a pointer parameter, or a pointer without a form of its own:
    #: a scalar one that a loop exchanges for another, or a block whose lanes a loop moves together.
    root: Param | SSAValue | None = None
    #: Whether blocks of fewer than 64 bits are added or multiplied on the way to it that may overflow:
    #: what the form says then holds where they do not.
    narrow: bool = field(default=False, compare=False)

    @property
    def uniform(self) -> bool:
        """Whether every lane has the same value."""
        return all(s == 0 for s in self.strides)


@dataclass(frozen=True)
class Mask:
    """A mask that holds where ``index[d] < bound`` for every bound of every axis and every
    (scalar, boolean) condition holds."""

    bounds: tuple[tuple[Scalar, ...], ...]
    conditions: tuple[SSAOperand, ...] = ()


@dataclass
class Affine:
    """Linear forms and masks of a function, by number of the SSA value."""

    linear: dict[int, Linear] = field(default_factory=dict)
    masks: dict[int, Mask] = field(default_factory=dict)

    def of(self, operand: SSAOperand) -> Linear | None:
        """The linear form of an operand; every integer scalar and pointer parameter has one."""
        if isinstance(operand, Constant):
            return Linear(int(operand.value)) if operand.ty.is_integer() else None
        if isinstance(operand, Param):
            return Linear(0, (), operand) if is_pointer(operand.ty) else _scalar(operand)
        if isinstance(operand, SSAValue):
            return self.linear.get(operand.id) or _scalar(operand)
        return None

    def mask(self, operand: SSAOperand) -> Mask | None:
        """The mask an operand is, when it has the form."""
        if isinstance(operand, SSAValue) and operand.id in self.masks:
            return self.masks[operand.id]
        if operand is not None and operand_type(operand) == BOOL:
            return Mask((), (operand,))
        return None


def _scalar(operand: SSAValue | Param) -> Linear | None:
    ty = operand.ty
    if isinstance(ty, PointerType):
        return Linear(0, (), operand)
    return Linear(operand) if isinstance(ty, ScalarType) and ty.is_integer() else None


def affine(function: SSAFunction) -> Affine:
    """Analyse a function. Values without a linear form are left out: a backend computes those."""
    found = Affine()
    _region(function.body, found)
    return found


def _region(items: list[SSAItem], found: Affine) -> None:
    for item in items:
        if isinstance(item, SSAForRange):
            _loop(item, found)
        else:
            _operation(item, found)
            for region in item.regions:
                _region(region.body, found)


def _operation(op: SSAOp, found: Affine) -> None:
    rule = _RULES.get(op.opcode)
    if rule is None or not isinstance(op.result, SSAValue):
        return
    if element_of(op.result.ty) == BOOL:
        if (mask := _mask(op, found)) is not None and _is_short(mask):
            found.masks[op.result.id] = mask
        return
    ty = op.result.ty
    integers = not is_pointer(ty) and get(op.opcode).exact is not None
    if integers and not is_offset(scalar_of(ty)):
        return
    form = rule(op, found)
    # A scalar that is not a pointer is its own best name.
    if form is None or sum(map(size, (form.base, *form.strides))) > MOST:
        return
    if shape_of(ty) or is_pointer(ty):
        parts = (found.of(operand) for operand in op.operands)
        narrow = any(part.narrow for part in parts if part is not None)
        narrow |= integers and not _fits(form, ty)
        found.linear[op.result.id] = replace(form, narrow=narrow)


def is_offset(ty: ScalarType) -> bool:
    """Whether arithmetic on integers of a type is plain arithmetic, in any width from its own on
    (language.md section 3). Small numbers wrap, and so do unsigned ones at zero."""
    return ty.is_signed() and ty.bits >= 32


def _fits(form: Linear, ty: Type) -> bool:
    """Whether no lane of a block can be outside its type, in launches that are possible."""
    low, high = scalar_of(ty).int_range()
    if scalar_of(ty).bits == 64:
        return True
    if not all(isinstance(part, int) for part in (form.base, *form.strides)):
        return False
    ends = [part * (n - 1) for part, n in zip(form.strides, shape_of(ty)) if isinstance(part, int)]
    least, most = sum(min(0, end) for end in ends), sum(max(0, end) for end in ends)
    return isinstance(form.base, int) and low <= form.base + least and form.base + most <= high


def _is_short(mask: Mask) -> bool:
    bounds = [bound for bounds in mask.bounds for bound in bounds]
    return len(bounds) + len(mask.conditions) + sum(map(size, bounds)) <= MOST


def _forms(op: SSAOp, found: Affine) -> tuple[Linear, Linear] | None:
    """The forms of both operands, stretched to the rank of the result."""
    assert isinstance(op.result, SSAValue)
    rank = len(shape_of(op.result.ty))
    forms = [_stretched(found.of(operand), rank) for operand in op.operands]
    return (forms[0], forms[1]) if forms[0] is not None and forms[1] is not None else None


def _stretched(form: Linear | None, rank: int) -> Linear | None:
    if form is None:
        return None
    missing = rank - len(form.strides)
    return Linear(form.base, (0,) * missing + form.strides, form.root)


def _sum(combine: Callable[[Scalar, Scalar], Scalar]) -> Callable[[SSAOp, Affine], Linear | None]:
    def rule(op: SSAOp, found: Affine) -> Linear | None:
        if (pair := _forms(op, found)) is None:
            return None
        a, b = pair
        strides = tuple(map(combine, a.strides, b.strides))
        return Linear(combine(a.base, b.base), strides, a.root or b.root)

    return rule


def _product(op: SSAOp, found: Affine) -> Linear | None:
    if (pair := _forms(op, found)) is None:
        return None
    a, b = pair
    if not b.uniform:
        a, b = b, a
    if not b.uniform:
        return None
    return Linear(mul(a.base, b.base), tuple(mul(s, b.base) for s in a.strides))


def _arange(op: SSAOp, found: Affine) -> Linear | None:
    return Linear(op.attrs["start"], (1,))


def _expand_dims(op: SSAOp, found: Affine) -> Linear | None:
    form, axis = found.of(op.operands[0]), op.attrs["axis"]
    if form is None or (form.root is not None and shape_of(form.root.ty)):
        return None
    return Linear(form.base, (*form.strides[:axis], 0, *form.strides[axis:]), form.root)


def _zeros(op: SSAOp, found: Affine) -> Linear | None:
    dtype, shape = op.attrs["dtype"], op.attrs["shape"]
    return Linear(0, (0,) * len(shape)) if dtype.is_integer() else None


def _full(op: SSAOp, found: Affine) -> Linear | None:
    form = found.of(op.operands[0])
    if form is None or form.strides or not op.attrs["dtype"].is_integer():
        return None
    # A conversion on the way could change the value.
    if operand_type(op.operands[0]) != op.attrs["dtype"]:
        return None
    return Linear(form.base, (0,) * len(op.attrs["shape"]))


def _cast(op: SSAOp, found: Affine) -> Linear | None:
    form, dtype = found.of(op.operands[0]), op.attrs["dtype"]
    source = operand_type(op.operands[0])
    # Widening keeps the value of every integer; anything else may not.
    widens = source is not None and dtype.is_signed() and element_of(source) == I32
    return form if form is not None and form.strides and widens and dtype.bits > 32 else None


def _broadcast(op: SSAOp, found: Affine) -> Linear | None:
    return _stretched(found.of(op.operands[0]), len(op.attrs["shape"]))


def _trans(op: SSAOp, found: Affine) -> Linear | None:
    form = found.of(op.operands[0])
    if form is None or (form.root is not None and shape_of(form.root.ty)):
        return None
    return Linear(form.base, tuple(form.strides[k] for k in op.attrs["order"]), form.root)


def _no_form(op: SSAOp, found: Affine) -> Linear | None:
    return None


#: Rules that give a linear form. An operation without one gives none.
_RULES: dict[str, Callable[[SSAOp, Affine], Linear | None]] = {
    "add": _sum(add), "addptr": _sum(add), "sub": _sum(sub), "mul": _product, "arange": _arange,
    "expand_dims": _expand_dims, "zeros": _zeros, "full": _full, "cast": _cast,
    "broadcast": _broadcast, "trans": _trans,
    "and": _no_form, "cmp_lt": _no_form, "cmp_le": _no_form, "cmp_gt": _no_form, "cmp_ge": _no_form,
}  # fmt: skip


def _mask(op: SSAOp, found: Affine) -> Mask | None:
    assert isinstance(op.result, SSAValue)
    rank = len(shape_of(op.result.ty))
    if op.opcode in _UPPER:
        return _comparison(op, found, rank)
    if op.opcode == "and":
        a, b = (_stretched_mask(found.mask(operand), rank) for operand in op.operands)
        if a is None or b is None:
            return None
        bounds = tuple(x + y for x, y in zip(a.bounds, b.bounds))
        return Mask(bounds, a.conditions + b.conditions)
    if op.opcode == "broadcast":
        return _stretched_mask(found.mask(op.operands[0]), rank)
    if op.opcode == "expand_dims" and (inner := found.mask(op.operands[0])) is not None:
        axis = op.attrs["axis"]
        return Mask((*inner.bounds[:axis], (), *inner.bounds[axis:]), inner.conditions)
    return None


#: Comparisons that bound one side from above: which operand, and whether the bound is included.
_UPPER = {"cmp_lt": (0, 0), "cmp_le": (0, 1), "cmp_gt": (1, 0), "cmp_ge": (1, 1)}


def _comparison(op: SSAOp, found: Affine, rank: int) -> Mask | None:
    if rank == 0:
        return None  # a scalar condition stands for itself
    if not all(scalar_of(o.ty).is_signed() for o in op.operands if o is not None):
        return None  # unsigned numbers wrap where plain arithmetic does not
    if (pair := _forms(op, found)) is None:
        return None
    side, included = _UPPER[op.opcode]
    a, b = pair if side == 0 else pair[::-1]
    axes = [d for d, s in enumerate(a.strides) if s != 0]
    # lhs rises by one along a single axis and rhs is the same everywhere: index < rhs - base.
    if not b.uniform or len(axes) != 1 or a.strides[axes[0]] != 1:
        return None
    limit = add(sub(b.base, a.base), included)
    return Mask(tuple((limit,) if d == axes[0] else () for d in range(rank)))


def _stretched_mask(mask: Mask | None, rank: int) -> Mask | None:
    if mask is None:
        return None
    return Mask(((),) * (rank - len(mask.bounds)) + mask.bounds, mask.conditions)


def _loop(loop: SSAForRange, found: Affine) -> None:
    """Carried blocks keep their strides when every trip only moves their base."""
    assumed: dict[int, Linear] = {}
    for arg, start in zip(loop.carried_args, loop.carried_inputs):
        form = found.of(start)
        if form is None and is_pointer(arg.ty) and isinstance(start, SSAValue):
            form = Linear(0, (0,) * len(shape_of(arg.ty)), start)
        if form is not None and (shape_of(arg.ty) or is_pointer(arg.ty)):
            assumed[arg.id] = Linear(BaseOf(arg), form.strides, form.root)
    while True:
        trial = Affine(found.linear | assumed, dict(found.masks))
        _region(loop.body, trial)
        wrong = [
            arg.id
            for arg, end in zip(loop.carried_args, loop.yields)
            if arg.id in assumed and not _same_shape(trial.of(end), assumed[arg.id])
        ]
        if not wrong:
            break
        for number in wrong:
            del assumed[number]
    found.linear.update(trial.linear)
    found.masks.update(trial.masks)
    for arg, result in zip(loop.carried_args, loop.results):
        if arg.id in assumed:
            form = assumed[arg.id]
            found.linear[result.id] = Linear(BaseOf(result), form.strides, form.root)


def _same_shape(form: Linear | None, assumed: Linear) -> bool:
    return form is not None and form.strides == assumed.strides and form.root == assumed.root
