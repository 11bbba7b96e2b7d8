"""Wrong versions of ``examples/mytriton-c``, made by machine from its lowering table.

The suite must tell each of them from the right one. ``survivors.toml`` explains those it cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mytriton.plugin_api import (
    I32,
    Artifact,
    Availability,
    BackendInfo,
    Constant,
    Device,
    LaunchSpec,
    Source,
    SSAFunction,
    hookimpl,
)  # fmt: skip

from . import info
from .rows import (
    Change,
    another_axis,
    attrs,
    load_before_store,
    loop,
    operands,
    sequential,
    store_before_load,
    text,
)  # fmt: skip

Items = Callable[[Sequence[Any]], Sequence[Any]]
Launch = Callable[[tuple[int, int, int], Sequence[Any]], None]
Wrap = Callable[[Launch], Launch]


@dataclass(frozen=True)
class Mutant:
    """One mistake. ``op`` is the row it is in; empty for one outside the table."""

    op: str
    what: str
    change: Change | None = None
    #: Mistakes in the order of items.
    order: Items | None = None
    #: Mistakes in the launch.
    launch: Callable[[], Wrap] | None = None
    #: Mistakes in the key of compiled code.
    key: Callable[[SSAFunction, str], Any] | None = None

    @property
    def id(self) -> str:
        return f"{self.op or 'backend'}.{self.what.replace(' ', '_')}"


def _rows() -> list[Mutant]:
    integer = r"as_(\w+)\(U\(x\) ([-+*]) U\(y\)\)"
    table: dict[str, dict[str, Change]] = {
        "add": {
            "subtracts": text(r"(x\)?) \+ (U\()?y", r"\1 - \2y"),
            "adds the left operand twice": operands(lambda x, y: (x, x)),
            "saturates": text(integer, r"trunc_\1((double)x \2 (double)y)"),
            "one too much": text(r"(x\)?) \+ (U\(y\)|y)", r"\1 + \2 + 1"),
            "broadcasts the first lane": text(r"( y = .*?)\[i\]", r"\1[0]"),
            "drops the low bit": text(integer, r"as_\1((U(x) \2 U(y)) & ~1ull)"),
        },
        "sub": {
            "operands swapped": operands(lambda x, y: (y, x)),
            "adds": text(r"(x\)?) - (U\()?y", r"\1 + \2y"),
            "saturates": text(integer, r"trunc_\1((double)x \2 (double)y)"),
        },
        "mul": {
            "adds": text(r"(x\)?) \* (U\()?y", r"\1 + \2y"),
            "squares": operands(lambda x, y: (x, x)),
            "saturates": text(integer, r"trunc_\1((double)x \2 (double)y)"),
            "in 32 bits": text(integer, r"as_\1(U((uint32_t)x \2 (uint32_t)y))"),
            "loses the sign of zero": text(r"x \* y", "x * y + 0"),
        },
        "div": {
            "operands swapped": operands(lambda x, y: (y, x)),
            # Integers divide from the second edition on: see ``misreadings``.
            "by zero gives zero": text(r"= x / y", "= y == 0 ? 0 : x / y"),
            "of magnitudes": text(r"= x / y", "= x / (float)fabs(y)"),
            "in half precision": text(r"= (\S*)x / y;", r"= \1value_f16(bits_f16(x / y));"),
        },
        "neg": {
            "identity": text(r"-x|as_(\w+)\(0 - U\(x\)\)", "x"),
            "absolute": text(r"-x", "x < 0 ? x : -x"),
            "complement": text(r"as_(\w+)\(0 - U\(x\)\)", r"as_\1(~U(x))"),
            "from zero": text(r"= -x", "= 0 - x"),
        },
        "and": {
            "or": text(r"x & y", "x | y"),
            "exclusive or": text(r"x & y", "x ^ y"),
            "logical": text(r"x & y", "x && y"),
            "left only": operands(lambda x, y: (x, x)),
        },
        "cmp_lt": {
            "reversed": text(r"x < y", "x > y"),
            "or equal": text(r"x < y", "x <= y"),
            "unsigned": text(r"((?:int\d+_t x).*\n.*\n.*)x < y", r"\1U(x) < U(y)"),
            "true for NaN": text(r"x < y", "!(x >= y)"),
            "in single precision": text(r"x < y", "(float)x < (float)y"),
            "in 32 bits": text(r"((?:u?int64_t x).*\n.*\n.*)x < y", r"\1(int32_t)x < (int32_t)y"),
            "of the first lane": text(r"( y = .*?)\[i\]", r"\1[0]"),
        },
        "exp": {
            "base two": text(r"expf?\(x\)", "exp2(x)"),
            "minus one": text(r"expf?\(x\)", "expm1(x)"),
            "of the magnitude": text(r"expf?\(x\)", "exp(fabs(x))"),
            "clamped": text(r"expf?\(x\)", "exp(x > 80 ? 80 : x)"),
            "single precision": text(r"\bexp\(x\)", "expf(x)"),
            "flushes": text(r"(expf?\(x\))", r"(x < -80 ? 0 : \1)"),
            "in half precision": text(r"(expf?\(x\))", r"value_f16(bits_f16(\1))"),
        },
        "select": {
            "swapped": operands(lambda c, x, y: (c, y, x)),
            "always x": text(r"x \? y : z", "y"),
            "always y": text(r"x \? y : z", "z"),
            "condition of the first lane": text(r"( x = .*?)\[i\]", r"\1[0]"),
        },
        "cast": {
            "rounds": text(r"trunc_(\w+)\((.*?)\)", r"trunc_\1(rint(\2))"),
            "rounds down": text(r"trunc_(\w+)\((.*?)\)", r"trunc_\1(floor(\2))"),
            "bool of the integer part": text(r"\((x)\) != 0", r"(int64_t)(\1) != 0"),
            "bool is the low bit": text(r"\(x\) != 0", "((uint64_t)(x) & 1)"),
            "no sign extension": text(r"as_(\w+)\(U\(x\)\)", r"as_\1((uint32_t)(x))"),
            "saturates": text(r"as_(\w+)\(U\(x\)\)", r"trunc_\1((double)(x))"),
            "rounds twice": text(r"odd_f32\(x\)", "((float)x)"),
            "unsigned source": text(r"\((float|double)\)\(x\)", r"(\1)U(x)"),
        },
        "program_id": {
            "axis off by one": attrs(lambda op: {"axis": (op.attrs["axis"] + 1) % 3}),
            "always axis 0": attrs(lambda op: {"axis": 0}),
            "one too much": text(r"= (pid\d)", r"= \1 + 1"),
            "always zero": text(r"= pid\d", "= 0"),
        },
        "arange": {
            "start ignored": attrs(lambda op: {"start": 0}),
            "from one": text(r"\(int64_t\)i\b", "(int64_t)i + 1"),
            # "backwards" is missing on purpose: where every arange is, nothing can tell.
            "step two": text(r"\(int64_t\)i\b", "(int64_t)i * 2"),
            "every other": text(r"\(int64_t\)i\b", "(int64_t)i / 2 * 2"),
        },
        "zeros": {"ones": text(r"(v\d+(?:\[\w+\])?) = 0;", r"\1 = 1;")},
        "full": {
            "zero": operands(lambda value: (Constant(0, I32),)),
            "whole numbers": text(r"\] = (.*);", r"] = (int64_t)(\1);"),
        },
        "expand_dims": {
            "first element only": text(r"sizeof (\S+)\)", r"sizeof \1[0])"),
            "half": text(r"sizeof (\S+)\)", r"(sizeof \1 + 1) / 2)"),
        },
        "addptr": {
            "offset ignored": text(r" \+ \(uintptr_t\).*?;", ";"),
            "offset in bytes": text(r" \* sizeof\(.*?\)", ""),
            "minus": text(r" \+ \(uintptr_t\)", " - (uintptr_t)"),
            "unsigned offset": text(r"\(uintptr_t\)", "(uint32_t)"),
            "short offset": text(r"\(uintptr_t\)", "(int16_t)"),
            "one too far": text(r"( \* (sizeof\(.*?\)))", r"\1 + \2"),
            "offset of the first lane": text(r"(\(uintptr_t\).*?)\[i\]", r"\1[0]"),
            "wrong stride": text(r"i0 \* (\d+) \+ i1", r"i1 * \1 + i0"),
        },
        "load": {
            "mask dropped": text(r"= (\S+) \? (load_\w+\(.*?\)) : .*;", r"= \2;"),
            "mask inverted": text(r"= (\S+) \?", r"= !\1 ?"),
            "other ignored": operands(lambda p, m, o: (p, m, None)),
            "pads with one": text(r": 0;", ": 1;"),
            "mask of the first lane": text(r"= (\S+)\[i\] \?", r"= \1[0] ?"),
            "the lane before": text(r"(load_\w+\(\S+)\[i\]\)", r"\1[i ? i - 1 : 0])"),
        },
        "store": {
            "mask dropped": operands(lambda p, v, m: (p, v, None)),
            "mask inverted": text(r"if \((.*?)\) store", r"if (!\1) store"),
            "mask of the first lane": text(r"if \((\S+)\[i\]\)", r"if (\1[0])"),
            "first value everywhere": text(r", (\S+)\[i\]\);", r", \1[0]);"),
            "last lane left out": text(r"i < (\d+); i\+\+", r"i + 1 < \1; i++"),
            "nothing stored of zero": text(r"(store_\w+\(.*?, (.*)\));", r"if (\2) \1;"),
            "spread the other way": text(r"\[i0\]", "[i0 ? 0 : 0]"),
        },
        "for": {
            "one trip fewer": text(r"(trip\d+) < (n\d+)", r"\1 + 1 < \2"),
            "one trip more": text(r"(trip\d+) < (n\d+)", r"\1 <= \2"),
            "at least one trip": text(r"= trips\((.*)\);", r"= trips(\1) ? trips(\1) : 1;"),
            "step ignored": loop(step=lambda item: Constant(1, I32)),
            "start ignored": loop(start=lambda item: Constant(0, I32)),
            "index counts trips": text(r"U\(.*\) \+ (trip\d+) \* U\(.*\)\)", r"U(\1))"),
            "rounds trips down": text(
                r"= trips\((.*?), (.*?), (.*)\);",
                r"= (\1) < (\2) ? (U(\2) - U(\1)) / U(\3) : 0;",
            ),
            "results swapped": loop(results=lambda item: tuple(reversed(item.results))),
            "carried inputs swapped": loop(
                carried_inputs=lambda item: _same_types(item.carried_inputs)
            ),
        },
        "yield": {
            "one after another": sequential(),
            "last first one after another": sequential(reverse=True),
            "last value not carried": text(r"(?s)\A(.*\n)?[^\n]*\Z", r"\1"),
            "nothing carried": text(r"(?s).*", ""),
        },
    }
    for name, sign, other in (("maximum", ">", "<"), ("minimum", "<", ">")):
        table[name] = {
            "the other one": text(f"x {sign} y", f"x {other} y"),
            "NaN on the left lost": text(r" \|\| x != x", ""),
            "NaN ignored": text(r" \? x : y", " || y != y ? x : y"),
            "left one on a tie": text(f"x {sign} y", f"x {sign}= y"),
            "unsigned": text(f"((?:int\\d+_t x).*\\n.*\\n.*)x {sign} y", rf"\1U(x) {sign} U(y)"),
        }
    first, other_axis = text(r"k < (\d+)", r"k + 1 < \1"), attrs(another_axis)
    table["sum"] = {
        "last left out": first,
        "first left out": text("size_t k = 0", "size_t k = 1"),
        "axis off by one": other_axis,
        "starts at one": text(r"s = (-0\.0|0)\b", "s = 1"),
        "accumulates in half": text(r"sum_add\(&s, &c, x\)", "s = value_f16(bits_f16(s + x))"),
        "accumulates in 16 bits": text(r"s \+= U\(x\)", "s = (uint16_t)(s + U(x))"),
        "accumulates in 32 bits": text("uint64_t s", "uint32_t s"),
        "of magnitudes": text(r"sum_add\(&s, &c, x\)", "s += fabs(x)"),
        "twice the middle": text(
            r"(s \+= U\(x\)|sum_add\(&s, &c, x\));", r"\1; if (k == 2) { \1; }"
        ),
    }
    for name, sign, other in (("max", ">", "<"), ("min", "<", ">")):
        table[name] = {
            "last left out": first,
            "the other one": text(f"x {sign} m", f"x {other} m"),
            "axis off by one": other_axis,
            "starts at zero": text(r"m = x;\n", "m = 0;\n", 1),
            "NaN first stays": text(r" \|\| m != m", ""),
            "NaN propagates": text(r"if \(x", "if (x != x || x"),
            "unsigned": text(rf"((?:int\d+_t x)(?:.*\n)*?.*)x {sign} m", rf"\1U(x) {sign} U(m)"),
        }
    return [Mutant(op, what, change) for op, row in table.items() for what, change in row.items()]


def _same_types(values: Sequence[Any]) -> tuple[Any, ...]:
    """The values in reverse, if that fits their types."""
    back = tuple(reversed(values))
    return back if all(a.ty == b.ty for a, b in zip(values, back, strict=True)) else tuple(values)


# ---------------------------------------------------------------------- outside the table


def _first_scalars() -> Wrap:
    def wrap(launch: Launch) -> Launch:
        kept: list[Any] = []

        def wrong(grid: tuple[int, int, int], args: Sequence[Any]) -> None:
            if not kept:
                kept.extend(args)
            launch(
                grid, [a if hasattr(a, "pointer") else k for a, k in zip(args, kept, strict=True)]
            )

        return wrong

    return wrap


def _first_grid() -> Wrap:
    def wrap(launch: Launch) -> Launch:
        kept: list[tuple[int, int, int]] = []

        def wrong(grid: tuple[int, int, int], args: Sequence[Any]) -> None:
            kept.append(grid)
            launch(kept[0], args)

        return wrong

    return wrap


def _grid(pick: Callable[[int, int, int], tuple[int, int, int]]) -> Callable[[], Wrap]:
    return lambda: lambda launch: lambda grid, args: launch(pick(*grid), args)


def _outside() -> list[Mutant]:
    return [
        Mutant("", "load moved across a store", order=load_before_store),
        Mutant("", "store moved across a load", order=store_before_load),
        Mutant("", "launches with the first scalars", launch=_first_scalars),
        Mutant("", "launches the first grid", launch=_first_grid),
        Mutant("", "grid axes swapped", launch=_grid(lambda x, y, z: (y, x, z))),
        Mutant("", "grid one too short", launch=_grid(lambda x, y, z: (max(1, x - 1), y, z))),
        Mutant("", "grid one too long", launch=_grid(lambda x, y, z: (x + 1, y, z))),
        Mutant("", "last grid axis ignored", launch=_grid(lambda x, y, z: (x, y, 1))),
        Mutant("", "cache key of the name only", key=lambda function, text: function.name),
        Mutant(
            "", "cache key without constants",
            key=lambda function, text: "".join(c for c in text if not c.isdigit()),
        ),
        Mutant(
            "", "cache key without types",
            key=lambda function, text: (function.name, "".join(i.opcode for i in function.body)),
        ),
    ]  # fmt: skip


def all_mutants() -> list[Mutant]:
    """Every mutant; ids are unique."""
    found = [*_rows(), *_outside()]
    assert len({m.id for m in found}) == len(found)
    return found


class MutantBackend:
    """``mytriton-c`` with one mistake, as a plugin object."""

    INFO: BackendInfo

    def __init__(self, mutant: Mutant | None) -> None:
        self.mutant = mutant or Mutant("", "none")
        self.INFO = info("mutant", f"mytriton-c with a mistake: {self.mutant.id}")
        self._cache: dict[Any, Any] = {}

    def text(self, function: SSAFunction) -> Source:
        """The text of a kernel, mistake included."""
        from mytriton_c.emitter import Emitter
        from mytriton_c.lowerings import LOWERINGS

        mutant, rows = self.mutant, dict(LOWERINGS)
        if mutant.change is not None:
            rows[mutant.op] = mutant.change(rows[mutant.op])
        emitter = Emitter(function, rows)
        if mutant.order is not None:
            plain, order = emitter.body, mutant.order
            emitter.body = lambda items: plain(order(items))  # type: ignore[method-assign]
        text = emitter.kernel(f"kernel_{function.name}")
        parameters = tuple(p.ty for p in function.params)
        return Source(
            text, "C", f"kernel_{function.name}", {"parameters": parameters, "f": function}
        )

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability(devices=(Device("cpu"),))

    @hookimpl
    def mytriton_lower(self, function: SSAFunction, launch: LaunchSpec) -> Source:
        return self.text(function)

    @hookimpl
    def mytriton_compile(self, source: Source, launch: LaunchSpec) -> Artifact:
        from mytriton_c.plugin import CompiledKernel

        mutant = self.mutant
        if mutant.key is not None:
            key = mutant.key(source.resources["f"], source.text)
            if key not in self._cache:
                self._cache[key] = CompiledKernel(source)
            return self._cache[key]  # type: ignore[no-any-return]
        kernel = CompiledKernel(source)
        if mutant.launch is not None:
            kernel.launch = mutant.launch()(kernel.launch)  # type: ignore[method-assign,assignment]
        return kernel


class _Plugins:
    """``PLUGINS.add__subtracts`` is the backend with that mutant, ``PLUGINS.none`` the right one:
    what workers are told."""

    def __getattr__(self, name: str) -> MutantBackend:
        if name == "none":
            return MutantBackend(None)
        for mutant in all_mutants():
            if mutant.id.replace(".", "__") == name:
                return MutantBackend(mutant)
        raise AttributeError(name)


PLUGINS = _Plugins()
