"""Steps of the program generator that change shapes or have regions: reductions, products, loops,
branches."""

from __future__ import annotations

from collections.abc import Sequence

from mytriton.ir.types import F32, I32, ScalarType, Type, scalar_of, shape_of, with_shape
from mytriton.ir.values import (
    Constant,
    Region,
    SSAForRange,
    SSAOperand,
    SSAValue,
    operand_type,
)

from .emitter import Emitter

DEEPEST = 2
_REDUCTIONS = ("sum", "max", "min", "argmax", "argmin", "xor_sum")


class Structures(Emitter):
    """Adds one structured operation with everything in it, or a change of shape."""

    # ------------------------------------------------------------------ shapes

    def _whole(self) -> SSAOperand:
        """A block of the whole tile."""
        return self.pick(lambda t: shape_of(t) == self.tile)

    def _reduce(self) -> None:
        kinds = [k for k in _REDUCTIONS if self.allowed(f"reduce.{k}")]
        value = self._whole()
        if not kinds or value is None:
            return
        kind = self.rng.choice(kinds)
        ty = scalar_of(operand_type(value))  # type: ignore[arg-type]
        if kind == "xor_sum" and ty.is_floating():
            return
        narrow = kind in ("sum", "max", "min") and ty.bits < 32
        if narrow and not (ty.is_floating() and kind == "sum"):
            wide = ScalarType("f32" if ty.is_floating() else "i32")
            if wide not in self.dtypes:
                return
            value = self.cast(value, wide)
        if len(self.tile) == 1 or self.rng.random() < 0.3:
            self.emit(kind, value)
            return
        axis = self.rng.randrange(2)
        self.emit("expand_dims", self.emit(kind, value, axis=axis), axis=axis)
        # The rank-1 result fits the tile only by accident: it is no value to draw.
        self.body.values.pop(-2)

    def _custom_reduce(self) -> None:
        """A reduction with a region. Sums of floats depend on the order: other operations do not."""
        value = self._whole()
        if value is None:
            return
        ty = scalar_of(operand_type(value))  # type: ignore[arg-type]
        words = ["maximum", "minimum"] if not ty.is_bool() else []
        if not ty.is_floating():
            words += ["and", "or", "xor"]
            words += [] if ty.is_bool() else ["add", "mul"]
        words = [w for w in words if self.allowed(f"op.{w}")]
        if not words:
            return
        args = (self.fresh(ty), self.fresh(ty))
        outer = self.open(())
        self.body.values = list(args)
        result = self.emit(self.rng.choice(words), *args)
        region = Region(args, self.close(outer), (result,))
        if len(self.tile) == 1 or self.rng.random() < 0.3:
            self.structured("reduce", (value,), (ty,), (region,))
            return
        axis = self.rng.randrange(2)
        rest = with_shape((self.tile[1 - axis],), ty)
        (found,) = self.structured("reduce", (value,), (rest,), (region,), axis=axis)
        self.emit("expand_dims", found, axis=axis)
        self.body.values.pop(-2)

    def _trans(self) -> None:
        """Transposed: once where the tile is square, there and back otherwise."""
        value = self._whole()
        if len(self.tile) != 2 or value is None:
            return
        turned = self.emit("trans", value, order=(1, 0))
        if self.tile[0] != self.tile[1]:
            self.body.values.pop()
            self.emit("trans", turned, order=(1, 0))

    def _dot(self) -> None:
        if len(self.tile) != 2 or self.tile[0] != self.tile[1]:
            return
        allowed = [t for t in self.dtypes if t.name in ("f32", "f16", "bf16", "f64", "i8")]
        if not allowed:
            return
        ty = self.rng.choice(allowed)
        out = I32 if ty.name == "i8" else ty if ty.name == "f64" else F32
        a, b = self._whole(), self._whole()
        if a is None or b is None or out not in self.dtypes:
            return
        a, b = (x if scalar_of(x.ty) == ty else self.cast(x, ty) for x in (a, b))
        if isinstance(a, Constant) or isinstance(b, Constant):
            return
        acc = None
        if self.rng.random() < 0.5:
            acc = self.pick(lambda t: t == with_shape(self.tile, out))
        self.emit("dot", a, b, acc, out_dtype=out, input_precision="ieee")

    def _construct(self) -> None:
        ty = self.rng.choice(self.dtypes)
        if self.rng.random() < 0.4:
            self.emit("zeros", shape=self.tile, dtype=ty)
            return
        value = self.pick(lambda t: shape_of(t) == () and scalar_of(t) == ty)
        self.emit(
            "full", value if value is not None else self.literal(ty), shape=self.tile, dtype=ty
        )

    # ------------------------------------------------------------------ loops

    def _loop(self) -> None:
        if self.depth >= DEEPEST:
            return
        rng = self.rng
        start: SSAOperand = Constant(rng.choice([0, 0, 1]), I32)
        stop: SSAOperand = self.trips if rng.random() < 0.5 else Constant(rng.randint(0, 3), I32)
        step = Constant(rng.choice([1, 1, 2]), I32)
        inputs = self._entering()
        index = self.fresh(I32)
        args = self._arguments(inputs)
        outer = self.open((index, *args), (index,))
        self._some_steps(1, 5)
        yields = tuple(self._yielded(arg, args) for arg in args)
        items = self.close(outer)
        results = tuple(self.fresh(arg.ty) for arg in args)
        self.wrapped.update(value.id for value in results)
        self.body.items.append(
            SSAForRange(index, start, stop, step, tuple(inputs), args, items, yields, results)
        )
        self.body.values += results

    def _while(self) -> None:
        """Counts down to zero, or up to a bound, with other values carried beside the count."""
        if self.depth >= DEEPEST:
            return
        rng = self.rng
        up = rng.random() < 0.4
        first: SSAOperand = Constant(rng.choice([0, 0, -1]), I32)
        if not up:
            first = self.trips if rng.random() < 0.5 else Constant(rng.randint(0, 4), I32)
        inputs = [first, *self._entering()]
        before, inside = self._arguments(inputs), self._arguments(inputs)
        outer = self.open(before, before[:1])
        zero, limit = Constant(0, I32), self.trips
        going = (
            self.emit("cmp_lt", before[0], limit) if up else self.emit("cmp_lt", zero, before[0])
        )
        if rng.random() < 0.3:
            going = self.emit("and", going, self.condition())
        condition = Region(before, self.close(outer), (going,))
        outer = self.open(inside, inside[:1])
        self._some_steps(1, 4)
        count = self._counted(inside[0], up)
        rest = inside[1:]
        yields = (count, *(self._yielded(arg, rest) for arg in rest))
        body = Region(inside, self.close(outer), yields)
        self.structured("while", inputs, [arg.ty for arg in inside], (condition, body))

    def _counted(self, count: SSAValue, up: bool) -> SSAValue:
        if up:
            return self.emit("add", count, Constant(1, I32))
        word = self.rng.choice(["sub", "sub", "shr", "div"])
        if word in ("shr", "div") and not self.allowed(f"op.{word}"):
            word = "sub"
        return self.emit(word, count, Constant(2 if word == "div" else 1, I32))

    def _entering(self) -> list[SSAOperand]:
        """Values a loop begins with; sometimes two of one type, so that they can be exchanged."""
        drawn = (self.number() for _ in range(self.rng.randint(1, 3)))
        found: list[SSAOperand] = [v for v in drawn if v is not None]
        if self.rng.random() < 0.3 and found:
            found.append(found[0])
        return found

    def _arguments(self, inputs: Sequence[SSAOperand]) -> tuple[SSAValue, ...]:
        args = tuple(self.fresh(o.ty) for o in inputs if o is not None)
        self.wrapped.update(arg.id for arg in args)
        return args

    def _some_steps(self, low: int, high: int) -> None:
        for _ in range(self.rng.randint(low, high)):
            self.step()

    def _yielded(self, arg: SSAValue, args: Sequence[SSAValue]) -> SSAOperand:
        if self.rng.random() < 0.35:  # exchange, rotate, copy or keep
            return self.rng.choice([a for a in args if a.ty == arg.ty])
        value = self.pick(lambda ty: ty == arg.ty)
        return value if value is not None else arg

    # ------------------------------------------------------------------ branches

    def _branch(self) -> None:
        if self.depth >= DEEPEST:
            return
        condition = self.condition()
        samples = [
            v for v in (self.number() for _ in range(self.rng.randint(0, 3))) if v is not None
        ]
        types: list[Type] = [v.ty for v in samples]
        sides = [self._side(types, samples, least) for least in (1, 0)]
        if self.rng.random() < 0.3:
            sides.reverse()
        self.structured("if", (condition,), types, sides)

    def _side(self, types: list[Type], samples: Sequence[SSAOperand], least: int) -> Region:
        outer = self.open(())
        self._some_steps(least, 4)
        yields = []
        for ty, sample in zip(types, samples, strict=True):
            found = self.pick(lambda t, ty=ty: t == ty)  # type: ignore[misc]
            yields.append(found if found is not None else sample)
        return Region((), self.close(outer), tuple(yields))
