"""For an inspection: which line of the user's kernel each line of the MLIR text came from.

The text is written once more, by an emitter that ends each line with a mark of the item it was
written for. Compiling a kernel pays nothing for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, SupportsIndex

import mytriton.plugin_api as mt

from .builder import LINES, Val
from .emitter import Emitter, default_assumptions, entry_name, prepared
from .plan import Branch, Group, Loop, Root, Step, While
from .target import Target
from .tile import AxisMap

#: A mark: no text of a kernel has this character.
_MARK = re.compile("\x01(\\d+)$")


class _Marks:
    """The items met so far, and the number of the one that is being written."""

    def __init__(self) -> None:
        self.spans: list[mt.Span | None] = [None]
        self.current = 0
        self._numbers: dict[int, int] = {}

    def enter(self, item: mt.SSAItem | None) -> int:
        """Write for ``item`` from now on; gives what was written for before."""
        before = self.current
        if item is not None and item.span is not None:
            number = self._numbers.setdefault(id(item), len(self.spans))
            if number == len(self.spans):
                self.spans.append(item.span)
            self.current = number
        return before

    def lines(self) -> list[str]:
        return _Lines(self)


class _Lines(list[str]):
    """Lines of a body, each with the mark of what it was written for."""

    def __init__(self, marks: _Marks) -> None:
        super().__init__()
        self._marks = marks

    def _marked(self, text: str) -> str:
        return text if "\x01" in text else f"{text}\x01{self._marks.current}"

    def append(self, text: str) -> None:
        super().append(self._marked(text))

    def extend(self, texts: Iterable[str]) -> None:
        super().extend(map(self._marked, texts))

    def insert(self, index: SupportsIndex, text: str) -> None:
        super().insert(index, self._marked(text))

    def __iadd__(self, texts: Iterable[str]) -> _Lines:  # type: ignore[misc,override]
        self.extend(texts)
        return self


class _Tracer(Emitter):
    """An emitter that tells what it writes for."""

    marks: _Marks

    def at(self, root: Root) -> None:
        self.marks.enter(self._about(root))

    def _about(self, root: Root) -> mt.SSAItem | None:
        """What a root is written for: the operation, else who made the value, else whose buffer it
        goes to."""
        if root.op is not None:
            return root.op
        for value in (root.operand, root.target):
            if isinstance(value, mt.SSAValue) and value.id in self.makers:
                return self.makers[value.id]
        return None

    def _compute(self, value: mt.SSAValue, amap: AxisMap, r: int) -> Val:
        before = self.marks.enter(self.makers.get(value.id))
        found = super()._compute(value, amap, r)
        self.marks.current = before
        return found

    def _program_ids(self, program: Val, sizes: Sequence[Val]) -> None:
        items = (i for i in mt.walk(self.function.body) if i.opcode == "program_id")
        before = self.marks.enter(next(items, None))
        super()._program_ids(program, sizes)
        self.marks.current = before

    def step(self, step: Step) -> None:
        before = self.marks.enter(self._item(step))
        super().step(step)
        self.marks.current = before

    def _item(self, step: Step) -> mt.SSAItem | None:
        """What a step is about: the loops round a group are for the first thing it does."""
        if isinstance(step, Group):
            found = (self._about(root) for root in step.roots)
            return next((item for item in found if item is not None), None)
        if isinstance(step, (Loop, Branch, While)):
            return step.item
        return step


def spans_of(function: mt.SSAFunction, target: Target, text: str) -> dict[int, mt.Span]:
    """The positions of the lines (from 1) of ``text``, which ``emit`` wrote for ``function``."""
    marks = _Marks()
    token = LINES.set(marks.lines)
    try:
        function = prepared(function)
        tracer = _Tracer(function, target, default_assumptions(function))
        tracer.marks = marks
        marked = tracer.kernel(entry_name(function)).splitlines()
    finally:
        LINES.reset(token)
    found = [_MARK.search(line) for line in marked]
    if [_MARK.sub("", line) for line in marked] != text.splitlines():
        return {}  # another variant: rather nothing than something wrong
    numbers = {k: int(match[1]) for k, match in enumerate(found, 1) if match}
    return {k: span for k, n in numbers.items() if (span := marks.spans[n]) is not None}


class Spans(Mapping[int, mt.Span]):
    """``spans_of``, when somebody looks."""

    def __init__(self, function: mt.SSAFunction, target: Target, text: str) -> None:
        self._of: tuple[Any, ...] = (function, target, text)
        self._found: dict[int, mt.Span] | None = None

    def _all(self) -> dict[int, mt.Span]:
        if self._found is None:
            self._found = spans_of(*self._of)
        return self._found

    def __getitem__(self, line: int) -> mt.Span:
        return self._all()[line]

    def __iter__(self) -> Iterator[int]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())
