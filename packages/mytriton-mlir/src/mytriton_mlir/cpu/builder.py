"""Writing MLIR text: values, constants, and levels of nested loops.

A ``Level`` is the body of the function or of a loop. An operation is written at the deepest level
of its operands, so what does not change in a loop lands outside it without a pass.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

#: Makes the list of a body's lines: for an inspection, one that notes what they come from.
LINES: ContextVar[Callable[[], list[str]]] = ContextVar("LINES", default=list)


@dataclass(eq=False)
class Level:
    """The lines of one body, and the values that were computed in it."""

    depth: int
    lines: list[str] = field(default_factory=lambda: LINES.get()())
    memo: dict[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Val:
    """An MLIR value. ``kind`` is the scalar type, ``width`` the number of lanes (0: a scalar)."""

    name: str
    kind: str
    width: int
    level: Level

    @property
    def type(self) -> str:
        return f"vector<{self.width}x{self.kind}>" if self.width else self.kind


def mlir_type(kind: str, width: int) -> str:
    return f"vector<{width}x{kind}>" if width else kind


def float_text(value: float, kind: str) -> str:
    """A float attribute that reads back as the same value of type ``kind``."""
    if not math.isfinite(value):
        layout, bits = ("<d", "<Q") if kind == "f64" else ("<f", "<I")
        (number,) = struct.unpack(bits, struct.pack(layout, value))
        return f"0x{number:0{16 if kind == 'f64' else 8}X}"
    text = repr(float(value))
    mantissa, _, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


class Builder:
    """Text of one function. Operations go to ``emit``; ``levels`` are the open bodies."""

    def __init__(self) -> None:
        self.root = Level(1)
        self.levels = [self.root]
        self._count = 0
        self._constants: dict[tuple[str, str], Val] = {}
        self._constant_lines: list[str] = []
        self._numbers: dict[str, int] = {}
        #: Functions of the C library that are called: name, type, number of arguments.
        self.externals: set[tuple[str, str, int]] = set()
        #: Whether it pays to write a short way for ordinary numbers beside the general one.
        self.expect_ordinary = False

    # ------------------------------------------------------------------ levels

    @property
    def level(self) -> Level:
        """The innermost open level."""
        return self.levels[-1]

    def push(self) -> Level:
        level = Level(len(self.levels) + 1)
        self.levels.append(level)
        return level

    def pop(self) -> Level:
        return self.levels.pop()

    def find(self, key: Any) -> Any:
        """A remembered value that is in scope, or ``None``."""
        for level in reversed(self.levels):
            found = level.memo.get(key)
            if found is not None:
                return found
        return None

    def line(self, level: Level, text: str) -> None:
        level.lines.append("  " * level.depth + text)

    # ------------------------------------------------------------------ values

    def name(self, hint: str = "") -> str:
        self._count += 1
        return f"%{hint}{self._count}" if hint else f"%v{self._count}"

    def constant(self, value: Any, kind: str, width: int = 0) -> Val:
        """A constant of an integer, boolean or float type, at the top of the function."""
        if kind == "i1":
            text = "true" if value else "false"
        elif kind[0] == "f":
            text = float_text(float(value), kind)
        else:
            text = str(int(value))
        found = self._constant(f"dense<{text}>" if width else text, kind, width)
        if kind == "i64" and not width:
            self._numbers[found.name] = int(value)
        return found

    def known(self, val: Val) -> int | None:
        """The number that an ``i64`` constant is."""
        return self._numbers.get(val.name)

    def iota(self, kind: str, width: int, stride: int = 1) -> Val:
        """The vector ``0, stride, 2 * stride, ...``."""
        numbers = ", ".join(str(i * stride) for i in range(width))
        return self._constant(f"dense<[{numbers}]>", kind, width)

    def _constant(self, text: str, kind: str, width: int) -> Val:
        ty = mlir_type(kind, width)
        found = self._constants.get((text, ty))
        if found is None:
            name = self.name("c")
            if kind == "i1" and not width:
                line = f"{name} = arith.constant {text}"
            else:
                line = f"{name} = arith.constant {text} : {ty}"
            self._constant_lines.append(f"  {line}")
            found = self._constants[text, ty] = Val(name, kind, width, self.root)
        return found

    def constants(self) -> list[str]:
        """The lines that define the constants."""
        return self._constant_lines

    def deepest(self, operands: Sequence[Val], at: Level | None = None) -> Level:
        """The innermost of the operands' levels (and ``at``)."""
        level = at or self.root
        for operand in operands:
            if operand.level.depth > level.depth:
                level = operand.level
        return level

    def emit(
        self, text: str, kind: str, width: int, operands: Sequence[Val], at: Level | None = None
    ) -> Val:
        """``%new = text`` at the level of its operands; equal text gives the same value."""
        level = self.deepest(operands, at)
        key = ("text", text)
        # Only pure operations come here without ``at``: they may be shared.
        if at is None and (found := level.memo.get(key)) is not None:
            return found  # type: ignore[no-any-return]
        name = self.name()
        level.lines.append(f"{'  ' * level.depth}{name} = {text}")
        val = Val(name, kind, width, level)
        if at is None:
            level.memo[key] = val
        return val

    # ------------------------------------------------------------------ common operations

    def binary(self, op: str, a: Val, b: Val, flags: str = "") -> Val:
        """``arith`` operation on two values of one kind; a scalar meets a vector by broadcast."""
        a, b = self.level_up(a, b)
        return self.emit(f"{op} {a.name}, {b.name}{flags} : {a.type}", a.kind, a.width, (a, b))

    def compare(self, op: str, predicate: str, a: Val, b: Val) -> Val:
        a, b = self.level_up(a, b)
        text = f"{op} {predicate}, {a.name}, {b.name} : {a.type}"
        return self.emit(text, "i1", a.width, (a, b))

    def select(self, condition: Val, a: Val, b: Val) -> Val:
        if condition.width or a.width or b.width:
            width = condition.width or a.width or b.width
            a, b = self.spread(a, width), self.spread(b, width)
            if not condition.width:
                text = f"arith.select {condition.name}, {a.name}, {b.name} : {a.type}"
                return self.emit(text, a.kind, a.width, (condition, a, b))
        types = f"{condition.type}, {a.type}" if condition.width else a.type
        text = f"arith.select {condition.name}, {a.name}, {b.name} : {types}"
        return self.emit(text, a.kind, a.width, (condition, a, b))

    def fma(self, a: Val, b: Val, c: Val) -> Val:
        width = a.width or b.width or c.width
        if width:
            a, b, c = (self.spread(v, width) for v in (a, b, c))
        text = f"math.fma {a.name}, {b.name}, {c.name} : {a.type}"
        return self.emit(text, a.kind, a.width, (a, b, c))

    def unary(self, op: str, a: Val, flags: str = "") -> Val:
        return self.emit(f"{op} {a.name}{flags} : {a.type}", a.kind, a.width, (a,))

    def cast(self, op: str, a: Val, kind: str) -> Val:
        """A conversion of every lane to ``kind``."""
        if a.kind == kind:
            return a
        text = f"{op} {a.name} : {a.type} to {mlir_type(kind, a.width)}"
        return self.emit(text, kind, a.width, (a,))

    def spread(self, a: Val, width: int) -> Val:
        """A scalar in every lane, broadcast where the scalar is computed."""
        if a.width or not width:
            return a
        text = f"vector.broadcast {a.name} : {a.kind} to {mlir_type(a.kind, width)}"
        return self.emit(text, a.kind, width, (a,))

    def level_up(self, a: Val, b: Val) -> tuple[Val, Val]:
        """Both of one width."""
        width = a.width or b.width
        return self.spread(a, width), self.spread(b, width)

    def rarely(
        self,
        lanes: Val,
        x: Val,
        usual: Callable[[Builder, Val], Val],
        rare: Callable[[Builder, Val], Val],
    ) -> Val:
        """``usual(x)``, or ``rare(x)`` for all lanes when one of ``lanes`` is set."""
        found = lanes
        if lanes.width:
            text = f"vector.reduction <or>, {lanes.name} : {lanes.type} into i1"
            found = self.emit(text, "i1", 0, (lanes,))
        outer = self.deepest((found, x))
        bodies: list[list[str]] = []
        for way in (rare, usual):
            # Inside, everything is written at the level of the branch.
            level = Level(outer.depth + 1)
            self.levels.append(level)
            result = way(self, Val(x.name, x.kind, x.width, level))
            self.levels.pop()
            self.line(level, f"scf.yield {result.name} : {result.type}")
            bodies.append(level.lines)
        name = self.name()
        self.line(outer, f"{name} = scf.if {found.name} -> ({x.type}) {{")
        outer.lines.extend(bodies[0])
        self.line(outer, "} else {")
        outer.lines.extend(bodies[1])
        self.line(outer, "}")
        return Val(name, x.kind, x.width, outer)

    def either(
        self,
        condition: Val,
        outer: Level,
        one: Callable[[Level], Val | None],
        other: Callable[[Level], Val | None],
    ) -> Val:
        """What ``one`` or ``other`` gives (if anything), by a scalar condition; they write to the
        level they are called with."""
        bodies = []
        for way in (one, other):
            level = Level(outer.depth + 1)
            self.levels.append(level)
            bodies.append((level.lines, way(level)))
            self.levels.pop()
        result = bodies[0][1]
        name, gives = self.name(), f" -> ({result.type})" if result else ""
        head = f"{name} = " if result else ""
        self.line(outer, f"{head}scf.if {condition.name}{gives} {{")
        for number, (lines, found) in enumerate(bodies):
            if number:
                self.line(outer, "} else {")
            outer.lines.extend(lines)
            if found:
                pad = "  " * (outer.depth + 1)
                outer.lines.append(f"{pad}scf.yield {found.name} : {found.type}")
        self.line(outer, "}")
        return Val(name, result.kind, result.width, outer) if result else condition

    def loop(
        self, level: Level, iv: str, bounds: tuple[Val, Val, Val],
        carried: Sequence[tuple[str, Val]], body: Level, yields: Sequence[Val],
    ) -> list[Val]:  # fmt: skip
        """Write ``scf.for`` around the lines of ``body``; gives the loop's results."""
        low, high, step = (b.name for b in bounds)
        head = f"scf.for {iv} = {low} to {high} step {step} "
        results: list[Val] = []
        if carried:
            types = ", ".join(value.type for _, value in carried)
            inits = ", ".join(f"{name} = {value.name}" for name, value in carried)
            head += f"iter_args({inits}) -> ({types}) "
            group = self.name("r")
            head = f"{group}:{len(carried)} = {head}"
            results = [
                Val(f"{group}#{i}", value.kind, value.width, level)
                for i, (_, value) in enumerate(carried)
            ]
        self.line(level, f"{head}: i64 {{")
        level.lines.extend(body.lines)
        if carried:
            names = ", ".join(y.name for y in yields)
            types = ", ".join(y.type for y in yields)
            level.lines.append(f"{'  ' * (level.depth + 1)}scf.yield {names} : {types}")
        self.line(level, "}")
        return results
