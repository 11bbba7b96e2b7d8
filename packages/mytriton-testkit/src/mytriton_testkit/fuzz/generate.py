"""The generator of random SSA programs. Every program is well-typed and defined: accesses stay in
bounds under their mask, programs store to places of their own, divisions are guarded, and nothing
reads what was never written."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    scalar_of,
    shape_of,
)
from mytriton.ir.values import (
    Constant,
    SSAForRange,
    SSAFunction,
    SSAOperand,
    SSAValue,
    operand_type,
)

from ..cases.build import DTYPES
from .emitter import Body, Declares, Emitter, anything, no_bool, no_float, pointee
from .program import ArraySpec, Program

#: Features the generator can bring into a program on purpose.
OPTIONAL = (
    *(f"dtype.{d}" for d in DTYPES if d not in ("i32", "bool")),
    "rank.2", "grid.axis1", "grid.axis2", "control.for", "reduce.sum", "reduce.max", "reduce.min",
    "op.exp", "op.div", "op.select", "op.maximum", "op.minimum", "op.neg", "op.full", "op.zeros",
)  # fmt: skip
#: Chance of each kind of step, before what the backend lacks is left out.
WEIGHTS = {
    "binary": 30, "extremum": 8, "compare": 8, "select": 10, "unary": 6, "exp": 3, "div": 6,
    "cast": 6, "load": 8, "scalar_load": 4, "gather": 4, "store": 10, "reload": 3, "reduce": 6,
    "construct": 4, "loop": 5,
}  # fmt: skip
NEEDS = {
    "exp": ("op.exp",), "div": ("op.div",), "select": ("op.select",), "loop": ("control.for",),
    "extremum": ("op.maximum", "op.minimum"), "unary": ("op.neg",), "cast": ("op.cast",),
    "construct": ("op.full", "op.zeros"), "gather": ("op.maximum", "op.minimum"),
}  # fmt: skip


class Generator(Emitter):
    """Makes one program from a random source. ``wanted`` is a feature it must contain."""

    # ------------------------------------------------------------------ the frame of a program

    def program(self, seed: int) -> Program:
        """The whole program."""
        rng = self.rng
        rank2 = self.allowed("rank.2") and (self.wanted == "rank.2" or rng.random() < 0.4)
        if rank2:
            self.tile: tuple[int, ...] = (rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4, 16]))
        else:
            self.tile = (rng.choice([1, 2, 8, 16, 32]),)
        grid = self._grid()
        lanes = 1
        for extent in (*self.tile, *grid):
            lanes *= extent
        self.n = rng.choice([lanes, max(1, lanes - 1), max(1, lanes - 3), 1, lanes // 2 + 1])
        for _ in range(rng.randint(1, 3)):
            self._input()
        for _ in range(rng.randint(1, 3)):
            ty = rng.choice(self.dtypes)
            self.outputs.append(self.param("out", PointerType(ty), spec=ArraySpec(self.n)))
        limit = self.param("n", I32, value=self.n)
        self.trips = self.param("k", I32, value=rng.randint(0, 4))
        self._scalar_params()
        self._frame(limit, grid)
        for _ in range(rng.randint(4, 22)):
            self.step()
        for out in self.outputs:
            self._final_store(out)
        self._show_the_rest()
        function = SSAFunction("fuzzed", tuple(self.params), self.body.items)
        return Program(function, self.arrays, self.scalars, grid, seed, self.wanted)

    def _grid(self) -> tuple[int, int, int]:
        rng = self.rng
        grids = [
            (1, 1, 1),
            (2, 1, 1),
            (3, 1, 1),
            (1, 2, 1),
            (2, 2, 1),
            (1, 1, 2),
            (1, 2, 2),
            (2, 2, 2),
        ]
        fitting = [
            g for g in grids
            if (g[1] == 1 or self.allowed("grid.axis1")) and (g[2] == 1 or self.allowed("grid.axis2"))
        ]  # fmt: skip
        if self.wanted.startswith("grid.axis"):
            fitting = [g for g in fitting if g[int(self.wanted[-1])] > 1]
        return rng.choice(fitting)

    def _input(self) -> None:
        rng = self.rng
        ty = rng.choice(self.dtypes)
        contents = rng.choice(["small", "plain", "special", "special"])
        self.param("x", PointerType(ty), spec=ArraySpec(self.n, contents))

    def _scalar_params(self) -> None:
        rng = self.rng
        choices = [t for t in self.dtypes if t.name in ("f32", "i32", "i64", "bool")]
        for ty in rng.sample(choices, min(len(choices), rng.randint(0, 2))):
            value: Any = rng.choice([0, 1, -3, 1000, 2**31 - 1, -(2**31)])
            if ty.is_floating():
                value = rng.choice([0.5, -2.0, 1.25, -0.0, float("inf"), float("nan")])
            elif ty.is_bool():
                value = rng.random() < 0.5
            elif ty.bits == 64:
                value = rng.choice([2**40, -5])
            self.body.values.append(self.param("s", ty, value=value))

    def _frame(self, limit: Param, grid: tuple[int, int, int]) -> None:
        """The lane's own index and the mask that keeps it inside of the arrays."""
        place: SSAOperand = self.emit("program_id", axis=0)
        for axis in (1, 2):
            if grid[axis] > 1:
                before = Constant(grid[0] * (grid[1] if axis == 2 else 1), I32)
                pid = self.emit("program_id", axis=axis)
                place = self.emit("add", self.emit("mul", pid, before), place)
        width = self.tile[-1]
        index: SSAOperand = self.emit("arange", start=0, end=width)
        if len(self.tile) == 2:
            index = self.emit("expand_dims", index, axis=0)
            rows: SSAOperand = self.emit("arange", start=0, end=self.tile[0])
            rows = self.emit("expand_dims", rows, axis=1)
            rows = self.emit("add", self.emit("mul", place, Constant(self.tile[0], I32)), rows)
            self.index = self.emit("add", self.emit("mul", rows, Constant(width, I32)), index)
        else:
            self.index = self.emit("add", self.emit("mul", place, Constant(width, I32)), index)
        self.mask = self.emit("cmp_lt", self.index, limit)
        self.wrapped.clear()  # nothing so far is large

    def _final_store(self, out: Param) -> None:
        ty = pointee(out)
        fits = self.fitting(self.tile)
        value = self._unused(lambda t: fits(t) and scalar_of(t) == ty)
        value = value or self._unused(lambda t: fits(t) and scalar_of(t).kind == ty.kind)
        self._store_to(out, value if value is not None else self.literal(ty))

    def _show_the_rest(self) -> None:
        """Store what nothing has read, to outputs of its own type: what is not seen is not tested."""
        fits = self.fitting(self.tile)
        left = [v for v in self.body.values if isinstance(v, SSAValue) and v.id not in self.used]
        for value in left[-6:]:
            if fits(value.ty):
                ty = PointerType(scalar_of(value.ty))
                self.outputs.append(self.param("out", ty, spec=ArraySpec(self.n)))
                self._store_to(self.outputs[-1], value)

    def _unused(self, accept: Callable[[Type], bool]) -> SSAOperand:
        """A value that nothing has read yet, else any."""
        found = [
            v for v in self.body.values
            if isinstance(v, SSAValue) and v.id not in self.used and accept(v.ty)
        ]  # fmt: skip
        return self.rng.choice(found) if found else self.pick(accept)

    # ------------------------------------------------------------------ steps

    def step(self) -> None:
        """One random step."""
        names = [k for k in WEIGHTS if all(map(self.allowed, NEEDS.get(k, ())))]
        weights = [WEIGHTS[k] for k in names]
        if self.depth:
            weights = [
                w // 3 if k in ("loop", "reduce") else w
                for k, w in zip(names, weights, strict=True)
            ]
        getattr(self, f"_{self.rng.choices(names, weights)[0]}")()

    def _binary(self) -> None:
        opcode = self.rng.choice(["add", "add", "sub", "mul", "mul", "and"])
        accept = {"and": no_float, "mul": no_bool}.get(opcode, anything)
        self._combine(opcode, self.number(accept), self.number(accept))

    def _combine(self, opcode: str, *operands: SSAOperand) -> SSAValue | None:
        """Emit when the operands have values, fit the tile and the result is a declared type."""
        types = [operand_type(o) for o in operands]
        if any(o is None for o in operands) or all(isinstance(o, Constant) for o in operands):
            return None
        try:
            result = get(opcode).infer(types, {})
        except Exception:
            return None
        if result is None or element_of(result) not in self.dtypes:
            return None
        if not self.fitting(self.tile)(result):
            return None
        return self.emit(opcode, *operands)

    def _extremum(self) -> None:
        opcode = self.rng.choice(["maximum", "minimum"])
        self._combine(opcode, self.number(no_bool), self.number(no_bool))

    def _compare(self) -> None:
        self._combine("cmp_lt", self.number(), self.number())

    def _select(self) -> None:
        condition = self.pick(lambda ty: scalar_of(ty) == BOOL)
        x = self.number()
        kind = scalar_of(operand_type(x)).kind if x is not None else ""  # type: ignore[arg-type]
        self._combine("select", condition, x, self.number(lambda t: t.kind == kind))

    def _unary(self) -> None:
        self._combine("neg", self.number(lambda t: not t.is_bool()))

    def _exp(self) -> None:
        x = self.number(lambda t: t.is_floating())
        if x is None or isinstance(x, Constant):
            return
        if self.allowed("op.minimum"):
            limited = self._combine("minimum", x, Constant(4.0, scalar_of(operand_type(x))))  # type: ignore[arg-type]
            x = limited if limited is not None else x
        self._combine("exp", x)

    def _div(self) -> None:
        x = self.number(lambda t: not t.is_bool())
        kind = scalar_of(operand_type(x)).kind if x is not None else ""  # type: ignore[arg-type]
        y = self.number(lambda t: t.kind == kind)
        if x is None or y is None:
            return
        if kind != "float":
            element = scalar_of(operand_type(y))  # type: ignore[arg-type]
            if self.rng.random() < 0.5 or not self.allowed("op.maximum"):
                y = Constant(
                    self.rng.choice([2, 3, 7, -3] if kind == "int" else [2, 3, 7]), element
                )
            elif isinstance(y, Constant):
                return
            else:
                y = self._combine("maximum", y, Constant(1, element))
        self._combine("div", x, y)

    def _cast(self) -> None:
        x = self.number()
        if x is not None and not isinstance(x, Constant):
            self.cast(x, self.rng.choice(self.dtypes))

    # ------------------------------------------------------------------ memory

    def _masked(self) -> SSAOperand:
        """The mask of the frame, sometimes narrowed."""
        if self.rng.random() < 0.3:
            fits = self.fitting(self.tile)
            extra = self.pick(lambda t: scalar_of(t) == BOOL and fits(t), wrapped=False)
            if extra is not None:
                return self.emit("and", self.mask, extra)
        return self.mask

    def _load_from(self, array: Param, index: SSAOperand) -> SSAValue:
        ptr = self.emit("addptr", array, index)
        ty = pointee(array)
        other: SSAOperand = None
        if self.rng.random() < 0.4:
            other = self.literal(ty)
        elif self.rng.random() < 0.3:
            other = self.pick(lambda t: element_of(t) == ty and self.fitting(self.tile)(t))
        return self.emit("load", ptr, self._masked(), other)

    def _inputs(self) -> list[Param]:
        return [p for p in self.params if p.name in self.arrays and p not in self.outputs]

    def _load(self) -> None:
        self._load_from(self.rng.choice(self._inputs()), self.index)

    def _scalar_load(self) -> None:
        array = self.rng.choice(self._inputs())
        place = Constant(self.rng.randrange(self.n), I32)
        self.emit("load", self.emit("addptr", array, place), None, None)

    def _gather(self) -> None:
        index = self.pick(
            lambda t: (
                scalar_of(t).is_integer() and scalar_of(t).bits > 16 and shape_of(t) == self.tile
            ),
            wrapped=False,
        )
        if index is None:
            return
        ty = scalar_of(operand_type(index))  # type: ignore[arg-type]
        low = self.emit("maximum", index, Constant(0, ty))
        place = self.emit("minimum", low, Constant(self.n - 1, ty))
        self._load_from(self.rng.choice(self._inputs()), place)

    def _store(self) -> None:
        self._store_to(self.rng.choice(self.outputs), self._unused(self.fitting(self.tile)))

    def _store_to(self, out: Param, value: SSAOperand) -> None:
        if value is None:
            return
        ptr = self.emit("addptr", out, self.index)
        value = self.cast(value, pointee(out))
        self.store(ptr, value, self._masked())

    def _reload(self) -> None:
        """What this program stored, or what was there before."""
        self._load_from(self.rng.choice(self.outputs), self.index)

    # ------------------------------------------------------------------ shapes

    def _reduce(self) -> None:
        kinds = [k for k in ("sum", "max", "min") if self.allowed(f"reduce.{k}")]
        value = self.pick(lambda t: shape_of(t) == self.tile)
        if not kinds or value is None:
            return
        kind = self.rng.choice(kinds)
        ty = scalar_of(operand_type(value))  # type: ignore[arg-type]
        if ty.bits < 32 and not (ty.is_floating() and kind == "sum"):
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
        if self.depth >= 2:
            return
        rng = self.rng
        start: SSAOperand = Constant(rng.choice([0, 0, 1]), I32)
        stop: SSAOperand = self.trips if rng.random() < 0.5 else Constant(rng.randint(0, 3), I32)
        step = Constant(rng.choice([1, 1, 2]), I32)
        inputs = [v for v in (self.number() for _ in range(rng.randint(1, 3))) if v is not None]
        if rng.random() < 0.3 and inputs:
            inputs.append(inputs[0])  # two of one type, so that they can be exchanged
        types = [operand_type(v) for v in inputs]
        index = self.fresh(I32)
        args = tuple(self.fresh(ty) for ty in types if ty is not None)
        self.wrapped.update(arg.id for arg in args)
        outer, self.body = self.body, Body([*self.body.values, index, *args])
        self.depth += 1
        for _ in range(rng.randint(1, 5)):
            self.step()
        yields = tuple(self._yielded(arg, args) for arg in args)
        self.depth -= 1
        items, self.body = self.body.items, outer
        results = tuple(self.fresh(arg.ty) for arg in args)
        self.wrapped.update(value.id for value in results)
        self.body.items.append(
            SSAForRange(index, start, stop, step, tuple(inputs), args, items, yields, results)
        )
        self.body.values += results

    def _yielded(self, arg: SSAValue, args: Sequence[SSAValue]) -> SSAOperand:
        if self.rng.random() < 0.35:  # exchange, rotate, copy or keep
            return self.rng.choice([a for a in args if a.ty == arg.ty])
        value = self.pick(lambda ty: ty == arg.ty)
        if value is not None:
            return value
        return arg


def make_program(seed: int, declares: Declares, wanted: str = "") -> Program | None:
    """The program of a seed; ``None`` when ``wanted`` did not come up in it."""
    generator = Generator(random.Random(seed), declares, wanted)
    if wanted.startswith("dtype."):
        # Make sure an array of the type is there and is used.
        ty = ScalarType(wanted.removeprefix("dtype."))
        generator.dtypes = [*generator.dtypes, *[ty] * 6]
    program = generator.program(seed)
    needed = program.function.features()
    if wanted and wanted not in needed:
        return None
    if any(not declares(name) for name in needed if name != wanted):
        return None
    return program if wanted else replace(program, undeclared="")


__all__ = ["OPTIONAL", "Generator", "make_program"]
