"""The generator of random SSA programs. Every program is well-typed and defined: accesses stay in
bounds under their mask, programs store to places of their own, divisions are guarded, and nothing
reads what was never written."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mytriton.ir.expr import Param
from mytriton.ir.types import (
    BOOL,
    F32,
    I32,
    PointerType,
    ScalarType,
    Type,
    element_of,
    scalar_of,
    shape_of,
)
from mytriton.ir.values import Constant, SSAFunction, SSAOperand, SSAValue, operand_type

from ..cases.build import DTYPES, STORED
from .emitter import Declares, pointee
from .program import ArraySpec, Program
from .steps import FUNCTIONS, Steps
from .structures import Structures

#: Features the generator can bring into a program on purpose.
OPTIONAL = (
    *(f"dtype.{d}" for d in (*DTYPES, *STORED) if d not in ("i32", "bool")),
    "rank.2", "grid.axis1", "grid.axis2", "control.for", "control.if", "control.while",
    *(f"reduce.{r}" for r in ("sum", "max", "min", "argmax", "argmin", "xor_sum", "custom")),
    *(f"op.{name}" for name in FUNCTIONS), "op.div", "op.rem", "op.select", "op.maximum",
    "op.minimum", "op.neg", "op.abs", "op.full", "op.zeros", "op.or", "op.xor", "op.not", "op.shl",
    "op.shr", "op.umulhi", "op.bitcast", "op.fma", "op.trans", "op.dot", "op.num_programs",
    "op.cmp_le", "op.cmp_gt", "op.cmp_ge", "op.cmp_eq", "op.cmp_ne",
)  # fmt: skip
#: Chance of each kind of step, before what the backend lacks is left out.
WEIGHTS = {
    "binary": 28, "extremum": 8, "compare": 8, "select": 10, "unary": 6, "function": 10, "div": 7,
    "cast": 7, "load": 8, "scalar_load": 4, "gather": 4, "store": 10, "reload": 3, "reduce": 7,
    "construct": 4, "loop": 4, "while": 3, "branch": 5, "bits": 8, "shift": 5, "umulhi": 2,
    "bitcast": 4, "fma": 3, "custom_reduce": 2, "trans": 3, "dot": 5, "eight": 2, "programs": 1,
}  # fmt: skip
NEEDS = {
    "div": ("op.div",), "select": ("op.select",), "loop": ("control.for",), "cast": ("op.cast",),
    "extremum": ("op.maximum", "op.minimum"), "construct": ("op.full", "op.zeros"),
    "gather": ("op.maximum", "op.minimum"), "while": ("control.while",),
    "branch": ("control.if",), "umulhi": ("op.umulhi",), "bitcast": ("op.bitcast",),
    "fma": ("op.fma",), "custom_reduce": ("reduce.custom",), "trans": ("op.trans",),
    "dot": ("op.dot",), "programs": ("op.num_programs",),
    "eight": ("op.cast", "op.maximum", "op.minimum"),
}  # fmt: skip
#: Features of programs whose blocks have rank 2.
_SQUARE = ("rank.2", "op.dot", "op.trans")
#: Steps that are rarer inside of regions.
_HEAVY = ("loop", "while", "branch", "reduce", "custom_reduce", "dot")


class Generator(Steps, Structures):
    """Makes one program from a random source. ``wanted`` is a feature it must contain."""

    # ------------------------------------------------------------------ the frame of a program

    def program(self, seed: int) -> Program:
        """The whole program."""
        rng = self.rng
        rank2 = self.allowed("rank.2") and (self.wanted in _SQUARE or rng.random() < 0.4)
        if rank2:
            self.tile = (rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4, 16]))
            if rng.random() < 0.3 or self.wanted == "op.dot":
                self.tile = (rng.choice([2, 4, 16]),) * 2
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
        self.body.certain += [limit, self.trips]
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
        self.body.certain.append(place)
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
                max(1, w // 3) if k in _HEAVY else w for k, w in zip(names, weights, strict=True)
            ]
        getattr(self, f"_{self.rng.choices(names, weights)[0]}")()

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
        return [
            p for p in self.params
            if p.name in self.arrays and p not in self.outputs and pointee(p).name not in STORED
        ]  # fmt: skip

    def _load(self) -> None:
        self._load_from(self.rng.choice(self._inputs()), self.index)

    def _scalar_load(self) -> None:
        array = self.rng.choice(self._inputs())
        place = Constant(self.rng.randrange(self.n), I32)
        value = self.emit("load", self.emit("addptr", array, place), None, None)
        if value.ty == I32:
            self.body.certain.append(value)

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

    def _eight(self) -> None:
        """Numbers of 8 bits: loaded and widened, or narrowed and stored."""
        names = [d for d in STORED if self.allowed(f"dtype.{d}")]
        if not names or F32 not in self.dtypes:
            return
        ty = ScalarType(self.rng.choice(names))
        array = self.param("e", PointerType(ty), spec=ArraySpec(self.n, "eight"))
        ptr = self.emit("addptr", array, self.index)
        if self.rng.random() < 0.6:
            found = self.emit("load", ptr, self.mask, None)
            self.body.values.pop()
            self.emit("cast", found, dtype=F32)
            return
        x = self.number(lambda t: t == F32)
        narrow = self.limited(x, -400.0, 400.0) if not isinstance(x, Constant) else None
        if narrow is not None:
            self.store(ptr, self.emit("cast", narrow, dtype=ty), self.mask)
            self.body.values.pop()

    def _programs(self) -> None:
        self.body.certain.append(self.emit("num_programs", axis=self.rng.randrange(3)))

    def _reload(self) -> None:
        """What this program stored, or what was there before."""
        self._load_from(self.rng.choice(self.outputs), self.index)


def make_program(seed: int, declares: Declares, wanted: str = "") -> Program | None:
    """The program of a seed; ``None`` when ``wanted`` did not come up in it."""
    generator = Generator(random.Random(seed), declares, wanted)
    if wanted.startswith("dtype.") and wanted.removeprefix("dtype.") not in STORED:
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
