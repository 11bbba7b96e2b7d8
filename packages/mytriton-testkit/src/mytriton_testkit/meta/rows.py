"""Ways to get a row of a lowering table wrong. A *change* makes a wrong row of a right one; it works
on the text of the row or on the operation it is given, so it fits any row of that shape."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from mytriton.plugin_api import SSAForRange, SSAItem, SSAOp, shape_of

Row = Callable[[Any, Any], list[str]]
Change = Callable[[Row], Row]


def text(pattern: str, replacement: str, count: int = 0) -> Change:
    """Replace in the lines of the row."""

    def change(row: Row) -> Row:
        def wrong(emitter: Any, op: Any) -> list[str]:
            lines = "\n".join(row(emitter, op))
            return re.sub(pattern, replacement, lines, count=count).split("\n")

        return wrong

    return change


def rebuilt(make: Callable[[Any], Any]) -> Change:
    """Give the row another operation; where ``make`` gives ``None`` the row stays right."""

    def change(row: Row) -> Row:
        def wrong(emitter: Any, op: Any) -> list[str]:
            return row(emitter, make(op) or op)

        return wrong

    return change


def operands(pick: Callable[..., Sequence[Any]]) -> Change:
    """Give the row other operands."""

    def make(op: Any) -> Any:
        return SSAOp(op.opcode, tuple(pick(*op.operands)), op.result, op.attrs, op.regions, op.span)

    return rebuilt(make)


def attrs(pick: Callable[[Any], dict[str, Any]]) -> Change:
    """Give the row other attributes."""

    def make(op: Any) -> Any:
        changed = {**op.attrs, **pick(op)}
        return SSAOp(op.opcode, op.operands, op.result, changed, op.regions, op.span)

    return rebuilt(make)


def another_axis(op: Any) -> dict[str, Any]:
    """The axis next to the right one, where there is one."""
    axis, rank = op.attrs.get("axis"), len(shape_of(op.operands[0].ty))
    return {} if axis is None or rank < 2 else {"axis": (axis + 1) % rank}


def loop(**parts: Callable[[SSAForRange], Any]) -> Change:
    """Give the row a loop with other parts."""

    def make(item: Any) -> Any:
        names = ("index", "start", "stop", "step", "carried_inputs", "carried_args", "body",
                 "yields", "results", "span")  # fmt: skip
        values = [parts[n](item) if n in parts else getattr(item, n) for n in names]
        return SSAForRange(*values)

    return rebuilt(make)


def sequential(reverse: bool = False) -> Change:
    """Carried values assigned one after another, each seeing those before it."""

    def change(row: Row) -> Row:
        def wrong(emitter: Any, item: Any) -> list[str]:
            lines: list[str] = []
            pairs = list(zip(item.carried_args, item.yields, strict=True))
            for arg, value in reversed(pairs) if reverse else pairs:
                name, source = emitter.name(arg), emitter.name(value)
                if name != source:
                    lines += emitter.copy(name, arg.ty, source)
            return lines

        return wrong

    return change


def load_before_store(items: Sequence[SSAItem]) -> list[SSAItem]:
    """The items with every store put after the next load of the same body."""
    found = list(items)
    for at in range(len(found) - 1, -1, -1):
        if found[at].opcode != "store":
            continue
        for to in range(at + 1, len(found)):
            if found[to].opcode in ("store", "for"):
                break
            if found[to].opcode == "load":
                found.insert(to, found.pop(at))
                break
    return found


def store_before_load(items: Sequence[SSAItem]) -> list[SSAItem]:
    """The items with every load put after the next store that does not need it."""
    found = list(items)
    for at in range(len(found) - 1, -1, -1):
        if found[at].opcode != "load":
            continue
        mine = {value.id for value in found[at].results}
        for to in range(at + 1, len(found)):
            used = {getattr(o, "id", None) for o in found[to].inputs}
            if found[to].regions or used & mine:
                break
            if found[to].opcode == "store":
                found.insert(to, found.pop(at))
                break
    return found
