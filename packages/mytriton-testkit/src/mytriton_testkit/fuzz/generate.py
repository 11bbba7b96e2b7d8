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
    is_pointer,
    scalar_of,
    shape_of,
)
from mytriton.ir.values import (
    Constant,
    SSAForRange,
    SSAFunction,
    SSAItem,
    SSAOp,
    SSAOperand,
    SSAValue,
    operand_type,
)

from ..cases.build import DTYPES
from .program import ArraySpec, Program

Declares = Callable[[str], bool]
#: Features the generator can bring into a program on purpose.
OPTIONAL = (
    *(f"dtype.{d}" for d in DTYPES if d not in ("i32", "bool")),
    "rank.2", "grid.axis1", "grid.axis2", "control.for", "reduce.sum", "reduce.max", "reduce.min",
    "op.exp", "op.div", "op.select", "op.maximum", "op.minimum", "op.neg", "op.full", "op.zeros",
)  # fmt: skip
#: Chance of each kind of step, before what the backend lacks is left out.
WEIGHTS = {
    "binary": 30, "extremum": 8, "compare": 8, "select": 10, "unary": 6, "exp": 3, "div": 6,
    "cast": 6, "load": 8, "gather": 4, "store": 10, "reload": 3, "reduce": 6, "construct": 4,
    "loop": 5,
}  # fmt: skip
NEEDS = {
    "exp": ("op.exp",), "div": ("op.div",), "select": ("op.select",), "loop": ("control.for",),
    "extremum": ("op.maximum", "op.minimum"), "unary": ("op.neg",), "cast": ("op.cast",),
    "construct": ("op.full", "op.zeros"), "gather": ("op.maximum", "op.minimum"),
}  # fmt: skip


class _Body:
    """A region that is being filled: its items, and the values visible in it."""

    def __init__(self, values: Sequence[SSAOperand]) -> None:
        self.items: list[SSAItem] = []
        self.values = list(values)


class Generator:
    """Makes one program from a random source. ``wanted`` is a feature it must contain."""

    def __init__(self, rng: random.Random, declares: Declares, wanted: str = "") -> None:
        self.rng = rng
        self.wanted = wanted
        self.allowed = lambda name: declares(name) or name == wanted
        self.dtypes = [ScalarType(d) for d in DTYPES if self.allowed(f"dtype.{d}")]
        self.params: list[Param] = []
        self.arrays: dict[str, ArraySpec] = {}
        self.scalars: dict[str, Any] = {}
        self.outputs: list[Param] = []
        self.next = 0
        self.depth = 0
        self.body = _Body([])

    # ------------------------------------------------------------------ building blocks

    def fresh(self, ty: Type) -> SSAValue:
        self.next += 1
        return SSAValue(self.next - 1, ty)

    def emit(self, opcode: str, *operands: SSAOperand, **attrs: Any) -> SSAValue:
        """Append an operation; its result joins the values later steps draw from."""
        ty = get(opcode).infer([operand_type(o) for o in operands], attrs)
        assert ty is not None
        result = self.fresh(ty)
        self.body.items.append(SSAOp(opcode, operands, result, attrs))
        if not is_pointer(ty):
            self.body.values.append(result)
        return result

    def store(self, ptr: SSAOperand, value: SSAOperand, mask: SSAOperand) -> None:
        self.body.items.append(SSAOp("store", (ptr, value, mask), None))

    def param(self, stem: str, ty: Any, *, spec: ArraySpec | None = None, value: Any = None) -> Param:
        param = Param(f"{stem}{len(self.params)}", ty)
        self.params.append(param)
        if spec is not None:
            self.arrays[param.name] = spec
        else:
            self.scalars[param.name] = value
        return param

    def pick(self, accept: Callable[[Type], bool]) -> SSAOperand:
        """A visible value whose type ``accept`` likes, later ones more often."""
        found = [v for v in self.body.values if accept(operand_type(v))]  # type: ignore[arg-type]
        if not found:
            return None
        k = max(self.rng.randrange(len(found)), self.rng.randrange(len(found)))
        return found[k]

    def literal(self, ty: ScalarType) -> Constant:
        if ty.is_bool():
            return Constant(self.rng.random() < 0.5, ty)
        if ty.is_floating():
            return Constant(self.rng.choice([0.0, -0.0, 1.0, -1.5, 0.25, 3.0, -7.0, 100.0]), ty)
        low, high = ty.int_range()
        return Constant(self.rng.choice([0, 1, 2, 3, 7, high, low, -1 if low < 0 else 5]), ty)

    def number(self, accept: Callable[[ScalarType], bool] = lambda t: True) -> SSAOperand:
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

    # ------------------------------------------------------------------ the frame of a program

    def program(self, seed: int) -> Program:
        """The whole program."""
        rng = self.rng
        rank2 = self.allowed("rank.2") and (self.wanted == "rank.2" or rng.random() < 0.4)
        if rank2:
            self.tile: tuple[int, ...] = (rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 4, 16]))
        else:
            self.tile = (rng.choice([1, 2, 8, 16, 32, 64]),)
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
        function = SSAFunction("fuzzed", tuple(self.params), self.body.items)
        return Program(function, self.arrays, self.scalars, grid, seed, self.wanted)

    def _grid(self) -> tuple[int, int, int]:
        rng = self.rng
        y = rng.choice([1, 2]) if self.allowed("grid.axis1") else 1
        z = rng.choice([1, 1, 2]) if self.allowed("grid.axis2") else 1
        y = 2 if self.wanted == "grid.axis1" else y
        z = 2 if self.wanted == "grid.axis2" else z
        return rng.choice([1, 2, 3]), y, z

    def _input(self) -> None:
        rng = self.rng
        ty = rng.choice(self.dtypes)
        contents = rng.choice(["small", "plain", "plain", "special"])
        self.param("x", PointerType(ty), spec=ArraySpec(self.n, contents))

    def _scalar_params(self) -> None:
        rng = self.rng
        choices = [t for t in self.dtypes if t.name in ("f32", "i32", "i64", "bool")]
        for ty in rng.sample(choices, min(len(choices), rng.randint(0, 2))):
            value: Any = rng.choice([0, 1, -3, 1000])
            if ty.is_floating():
                value = rng.choice([0.5, -2.0, 1.25])
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

    def _final_store(self, out: Param) -> None:
        ty = scalar_of(out.ty.element)  # type: ignore[union-attr]
        value = self.pick(lambda t: self.fitting(self.tile)(t) and scalar_of(t).kind == ty.kind)
        self._store_to(out, value if value is not None else self.literal(ty))

    # ------------------------------------------------------------------ steps

    def step(self) -> None:
        """One random step."""
        names = [k for k in WEIGHTS if all(map(self.allowed, NEEDS.get(k, ())))]
        weights = [WEIGHTS[k] for k in names]
        if self.depth:
            weights = [w // 3 if k in ("loop", "reduce") else w for k, w in zip(names, weights, strict=True)]
        getattr(self, f"_{self.rng.choices(names, weights)[0]}")()

    def _binary(self) -> None:
        opcode = self.rng.choice(["add", "add", "sub", "mul", "mul", "and"])
        accept: Callable[[ScalarType], bool] = lambda t: True
        if opcode == "and":
            accept = lambda t: not t.is_floating()
        elif opcode == "mul":
            accept = lambda t: not t.is_bool()
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
        accept: Callable[[ScalarType], bool] = lambda t: not t.is_bool()
        self._combine(opcode, self.number(accept), self.number(accept))

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
                y = Constant(self.rng.choice([2, 3, 7, -3] if kind == "int" else [2, 3, 7]), element)
            elif isinstance(y, Constant):
                return
            else:
                y = self._combine("maximum", y, Constant(1, element))
        self._combine("div", x, y)

    def _cast(self) -> None:
        x = self.number()
        if x is not None and not isinstance(x, Constant):
            self.cast(x, self.rng.choice(self.dtypes))

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

    # ------------------------------------------------------------------ memory

    def _masked(self) -> SSAOperand:
        """The mask of the frame, sometimes narrowed."""
        if self.rng.random() < 0.3:
            extra = self.pick(lambda t: scalar_of(t) == BOOL and self.fitting(self.tile)(t))
            if extra is not None:
                return self.emit("and", self.mask, extra)
        return self.mask

    def _load_from(self, array: Param, index: SSAOperand) -> SSAValue:
        ptr = self.emit("addptr", array, index)
        ty = array.ty.element  # type: ignore[union-attr]
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

    def _gather(self) -> None:
        index = self.pick(
            lambda t: scalar_of(t).is_integer() and scalar_of(t).bits >= 32 and shape_of(t) == self.tile
        )
        if index is None:
            return
        ty = scalar_of(operand_type(index))  # type: ignore[arg-type]
        low = self.emit("maximum", index, Constant(0, ty))
        place = self.emit("minimum", low, Constant(self.n - 1, ty))
        self._load_from(self.rng.choice(self._inputs()), place)

    def _store(self) -> None:
        self._store_to(self.rng.choice(self.outputs), self.pick(self.fitting(self.tile)))

    def _store_to(self, out: Param, value: SSAOperand) -> None:
        if value is None:
            return
        ptr = self.emit("addptr", out, self.index)
        value = self.cast(value, out.ty.element)  # type: ignore[union-attr]
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
        self.emit("full", value if value is not None else self.literal(ty), shape=self.tile, dtype=ty)

    # ------------------------------------------------------------------ loops

    def _loop(self) -> None:
        if self.depth >= 2:
            return
        rng = self.rng
        start: SSAOperand = Constant(rng.choice([0, 0, 1]), I32)
        stop: SSAOperand = rng.choice([self.trips, Constant(rng.randint(0, 3), I32)])
        step = Constant(rng.choice([1, 1, 2]), I32)
        inputs = [v for v in (self.number() for _ in range(rng.randint(1, 3))) if v is not None]
        if rng.random() < 0.3 and inputs:
            inputs.append(inputs[0])  # two of one type, so that they can be exchanged
        types = [operand_type(v) for v in inputs]
        index = self.fresh(I32)
        args = tuple(self.fresh(ty) for ty in types if ty is not None)
        outer, self.body = self.body, _Body([*self.body.values, index, *args])
        self.depth += 1
        for _ in range(rng.randint(1, 5)):
            self.step()
        yields = tuple(self._yielded(arg, args) for arg in args)
        self.depth -= 1
        items, self.body = self.body.items, outer
        results = tuple(self.fresh(arg.ty) for arg in args)
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
