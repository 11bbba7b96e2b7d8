"""What the program generator writes with: operations, literals, and a choice of visible values."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from mytriton.ir.expr import Param
from mytriton.ir.registry import get
from mytriton.ir.types import (
    PointerType,
    ScalarType,
    Type,
    is_pointer,
    scalar_of,
    shape_of,
)
from mytriton.ir.values import (
    Constant,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)

from ..cases.build import DTYPES
from .program import ArraySpec

Declares = Callable[[str], bool]
_WRAPPING = frozenset({"add", "sub", "mul", "neg", "sum"})


def pointee(param: Param) -> ScalarType:
    """What an array parameter points to."""
    assert isinstance(param.ty, PointerType)
    return param.ty.element


def anything(ty: ScalarType) -> bool:
    return True


def no_float(ty: ScalarType) -> bool:
    return not ty.is_floating()


def no_bool(ty: ScalarType) -> bool:
    return not ty.is_bool()


class Body:
    """A region that is being filled: its items, and the values visible in it."""

    def __init__(self, values: Sequence[SSAOperand]) -> None:
        self.items: list[SSAItem] = []
        self.values = list(values)


class Emitter:
    """A function that is being written, at random. ``wanted`` is a feature it must contain."""

    def __init__(self, rng: random.Random, declares: Declares, wanted: str = "") -> None:
        self.rng = rng
        self.wanted = wanted
        self.declares = declares
        self.dtypes = [ScalarType(d) for d in DTYPES if self.allowed(f"dtype.{d}")]
        self.params: list[Param] = []
        self.arrays: dict[str, ArraySpec] = {}
        self.scalars: dict[str, Any] = {}
        self.outputs: list[Param] = []
        self.next = 0
        self.depth = 0
        #: Values that may come from signed arithmetic that wrapped. Where such a value flows only
        #: into offsets and masks, wrapping is undefined: those places take none of them.
        self.wrapped: set[int] = set()
        #: Values that something has read: outputs show the others first.
        self.used: set[int] = set()
        self.body = Body([])

    # ------------------------------------------------------------------ building blocks

    def allowed(self, feature: str) -> bool:
        """Whether a program may need ``feature``."""
        return feature == self.wanted or self.declares(feature)

    def fresh(self, ty: Type) -> SSAValue:
        self.next += 1
        return SSAValue(self.next - 1, ty)

    def emit(self, opcode: str, *operands: SSAOperand, **attrs: Any) -> SSAValue:
        """Append an operation; its result joins the values later steps draw from."""
        ty = get(opcode).infer([operand_type(o) for o in operands], attrs)
        assert ty is not None
        result = self.fresh(ty)
        self.body.items.append(SSAOp(opcode, operands, result, attrs))
        self.used.update(o.id for o in operands if isinstance(o, SSAValue))
        if opcode != "load" and (opcode in _WRAPPING or any(map(self.may_wrap, operands))):
            self.wrapped.add(result.id)
        if not is_pointer(ty):
            self.body.values.append(result)
        return result

    def may_wrap(self, operand: SSAOperand) -> bool:
        return isinstance(operand, SSAValue) and operand.id in self.wrapped

    def store(self, ptr: SSAOperand, value: SSAOperand, mask: SSAOperand) -> None:
        self.body.items.append(SSAOp("store", (ptr, value, mask), None))

    def param(
        self, stem: str, ty: Any, *, spec: ArraySpec | None = None, value: Any = None
    ) -> Param:
        param = Param(f"{stem}{len(self.params)}", ty)
        self.params.append(param)
        if spec is not None:
            self.arrays[param.name] = spec
        else:
            self.scalars[param.name] = value
        return param

    def pick(self, accept: Callable[[Type], bool], *, wrapped: bool = True) -> SSAOperand:
        """A visible value whose type ``accept`` likes, later ones more often."""
        found = [v for v in self.body.values if accept(operand_type(v))]  # type: ignore[arg-type]
        if not wrapped:
            found = [v for v in found if not self.may_wrap(v)]
        if not found:
            return None
        k = max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))
        return found[k]

    def literal(self, ty: ScalarType) -> Constant:
        if ty.is_bool():
            return Constant(self.rng.random() < 0.5, ty)
        if ty.is_floating():
            return Constant(self.rng.choice([0.0, -0.0, 1.0, 0.0, -0.0, -1.5, 0.25, 3.0, -7.0]), ty)
        low, high = ty.int_range()
        return Constant(self.rng.choice([0, 1, 0, 1, 3, 7, high, low, -1 if low < 0 else 5]), ty)

    def number(self, accept: Callable[[ScalarType], bool] = anything) -> SSAOperand:
        """A value or sometimes a literal of a number type."""
        value = self.pick(lambda ty: not is_pointer(ty) and accept(scalar_of(ty)))
        if value is None or self.rng.random() < 0.1:
            types = [t for t in self.dtypes if accept(t)]
            return self.literal(self.rng.choice(types)) if types else value
        return value

    def fitting(self, shape: tuple[int, ...]) -> Callable[[Type], bool]:
        """Accepts what broadcasts to ``shape``."""

        def accept(ty: Type) -> bool:
            own = shape_of(ty)
            padded = (1,) * (len(shape) - len(own)) + own
            return len(own) <= len(shape) and all(
                a in (1, b) for a, b in zip(padded, shape, strict=True)
            )

        return accept

    def cast(self, x: SSAOperand, ty: ScalarType) -> SSAOperand:
        """``x`` as a ``ty``; floats are brought into the range of an integer first."""
        own = scalar_of(operand_type(x))  # type: ignore[arg-type]
        if own == ty or isinstance(x, Constant):
            return x if own == ty else Constant(x.value, ty) if isinstance(x, Constant) else x
        if own.is_integer() and ty.name == "bf16" and own.bits > 16:
            return Constant(1.0, ty)  # would round twice on some machines
        if own.is_floating() and ty.is_integer():
            if not self.allowed("op.select"):
                return Constant(1, ty)
            low = Constant(-100.0 if ty.is_signed() else -0.5, own)
            fits = self.emit(
                "and", self.emit("cmp_lt", x, Constant(100.0, own)), self.emit("cmp_lt", low, x)
            )
            x = self.emit("select", fits, x, Constant(0.0, own))
        return self.emit("cast", x, dtype=ty)
