"""What the program generator writes with: operations, literals, and a choice of visible values."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from mytriton.ir.expr import Param
from mytriton.ir.registry import get
from mytriton.ir.types import (
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
from mytriton.ir.values import (
    Constant,
    Region,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)

from ..cases.build import DTYPES
from .program import ArraySpec

Declares = Callable[[str], bool]
_WRAPPING = frozenset({"add", "sub", "mul", "neg", "sum", "shl", "abs", "fma"})
COMPARISONS = ("cmp_lt", "cmp_le", "cmp_gt", "cmp_ge", "cmp_eq", "cmp_ne")


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
    """A region that is being filled: its items, and the values visible in it. ``certain`` are
    ``i32`` scalars that no rounding touches: what control flow may depend on."""

    def __init__(self, values: Sequence[SSAOperand], certain: Sequence[SSAOperand] = ()) -> None:
        self.items: list[SSAItem] = []
        self.values = list(values)
        self.certain = list(certain)


class Emitter:
    """A function that is being written, at random. ``wanted`` is a feature it must contain."""

    #: The shape blocks have, the lane's own index and the mask that keeps it inside of the arrays.
    tile: tuple[int, ...]
    index: SSAValue
    mask: SSAValue
    #: A small ``i32`` parameter, and how many elements the arrays have.
    trips: Param
    n: int

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

    def combine(self, opcode: str, *operands: SSAOperand, **attrs: Any) -> SSAValue | None:
        """Emit when the operands have values, fit the tile and the result is a declared type."""
        types = [operand_type(o) for o in operands]
        if any(o is None for o in operands) or all(isinstance(o, Constant) for o in operands):
            return None
        try:
            result = get(opcode).infer(types, attrs)
        except Exception:
            return None
        if result is None or element_of(result) not in self.dtypes:
            return None
        if not self.fitting(self.tile)(result):
            return None
        return self.emit(opcode, *operands, **attrs)

    def limited(self, x: SSAOperand, low: float | None, high: float) -> SSAOperand:
        """``x`` brought between two numbers, where the backend can; ``None`` where it cannot."""
        if x is None or not (self.allowed("op.minimum") and self.allowed("op.maximum")):
            return None
        ty = scalar_of(operand_type(x))  # type: ignore[arg-type]
        found: SSAOperand = self.combine("minimum", x, Constant(high, ty))
        if found is not None and low is not None:
            found = self.combine("maximum", found, Constant(low, ty))
        return found

    # ------------------------------------------------------------------ control flow

    def step(self) -> None:
        """One random step."""
        raise NotImplementedError

    def comparison(self) -> str:
        """A comparison the backend has."""
        return self.rng.choice([op for op in COMPARISONS if self.allowed(f"op.{op}")])

    def sure(self) -> SSAOperand:
        """An ``i32`` scalar that no rounding touches, or a small number."""
        if self.body.certain and self.rng.random() < 0.7:
            return self.rng.choice(self.body.certain)
        return Constant(self.rng.randint(-1, 4), I32)

    def condition(self) -> SSAOperand:
        """A scalar bool that is the same on every machine."""
        a, b = self.sure(), self.sure()
        if isinstance(a, Constant) and isinstance(b, Constant):
            a = self.trips
        found = self.emit(self.comparison(), a, b)
        words = [w for w in ("and", "or", "xor") if self.allowed(f"op.{w}")]
        if words and self.rng.random() < 0.3:
            other = self.emit(self.comparison(), self.trips, self.sure())
            return self.emit(self.rng.choice(words), found, other)
        return found

    def open(self, args: Sequence[SSAValue], certain: Sequence[SSAValue] = ()) -> Body:
        """Begin a region; what was open comes back for ``close``."""
        outer = self.body
        self.body = Body([*outer.values, *args], [*outer.certain, *certain])
        self.depth += 1
        return outer

    def close(self, outer: Body) -> list[SSAItem]:
        """End a region: its items."""
        self.depth -= 1
        items, self.body = self.body.items, outer
        return items

    def structured(
        self, opcode: str, inputs: Sequence[SSAOperand], types: Sequence[Type],
        regions: Sequence[Region], **attrs: Any,
    ) -> tuple[SSAValue, ...]:  # fmt: skip
        """Append an operation with regions; its results join the values."""
        results = tuple(self.fresh(ty) for ty in types)
        self.wrapped.update(value.id for value in results)
        item = SSAOp(opcode, tuple(inputs), results or None, attrs, tuple(regions))
        self.body.items.append(item)
        self.used.update(o.id for o in inputs if isinstance(o, SSAValue))
        self.body.values += results
        return results


__all__ = ["BOOL", "COMPARISONS", "Body", "Declares", "Emitter", "anything", "no_bool", "no_float",
           "pointee"]  # fmt: skip
