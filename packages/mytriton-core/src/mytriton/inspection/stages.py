"""Making the stages of an inspection."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..analysis.affine import Affine, affine
from ..analysis.axis import axis_info
from ..errors import Span
from ..frontend.source import KernelSource
from ..ir.printer import rows
from ..ir.types import shape_of
from ..ir.values import SSAFunction, SSAValue, walk
from ..plugins.types import BackendInfo, Source
from .model import Line, Stage
from .tree import tree_rows

#: Names of SSA values in the text of backends: ``%v12``, ``v12``, ``v12_0``, ``%12``.
_VALUE = re.compile(r"(?:%v?|\bv)(\d+)\b|\bv(\d+)_")


def source_line(span: Span | None, filename: str) -> int | None:
    """The line of the kernel's own file that a span came from: an inlined function counts for the
    line that calls it, when it stands in another file."""
    while span is not None and span.filename != filename:
        span = span.caller
    return span.line if span is not None else None


def source_stage(source: KernelSource) -> Stage:
    node = source.parse()
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    texts = source.text().splitlines()
    lines = tuple(Line(text, first + k) for k, text in enumerate(texts))
    return Stage("source", "Source", "Python", lines, suffix=".py")


def tree_stage(ops: Sequence[Any], filename: str) -> Stage:
    lines = tuple(Line(text, source_line(span, filename)) for text, span in tree_rows(ops))
    return Stage("tree", "Expression tree", "tree", lines)


def ssa_lines(function: SSAFunction, filename: str) -> tuple[Line, ...]:
    return tuple(Line(text, source_line(span, filename)) for text, span in rows(function))


class Passes:
    """Records what the optimiser's passes change."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.stages: list[Stage] = []

    def __call__(self, name: str, before: SSAFunction, after: SSAFunction) -> None:
        if after is before:
            return
        old, new = ssa_lines(before, self.filename), ssa_lines(after, self.filename)
        number = len(self.stages) + 1
        lines = tuple(diff(old, new))
        self.stages.append(
            Stage(f"{number}-{name}", f"Pass {number}: {name}", "SSA", lines, "diff", ".diff")
        )


def diff(old: Sequence[Line], new: Sequence[Line]) -> Iterator[Line]:
    """Both versions, line by line, marked with what went and what came."""
    matcher = difflib.SequenceMatcher(
        None, [line.text for line in old], [line.text for line in new], autojunk=False
    )
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            yield from (Line(line.text, line.source) for line in new[c:d])
            continue
        yield from (Line(line.text, line.source, "-") for line in old[a:b])
        yield from (Line(line.text, line.source, "+") for line in new[c:d])


def facts_stage(function: SSAFunction, filename: str, divisible_by: Mapping[str, int]) -> Stage:
    """What the analyses know: contiguity, divisibility, constancy, linear form."""
    info = axis_info(function, divisible_by)
    forms = affine(function)
    lines = []
    for item in walk(function.body):
        for value in item.results:
            axes = info.get(value.id)
            if axes is None:
                continue
            found = [
                f"contiguity {_axes(axes.contiguity)}", f"divisibility {_axes(axes.divisibility)}",
                f"constancy {_axes(axes.constancy)}",
            ]  # fmt: skip
            if _uniform(value, axes.constancy):
                found.append("uniform")
            if form := _form(value, forms):
                found.append(form)
            text = f"{value} : {value.ty}  " + "  ".join(found)
            lines.append(Line(text, source_line(item.span, filename)))
    return Stage("facts", "Analysis facts", "facts", tuple(lines))


def _axes(values: tuple[int, ...]) -> str:
    return "x".join("any" if v >= 1 << 30 else str(v) for v in values)


def _uniform(value: SSAValue, constancy: tuple[int, ...]) -> bool:
    shape = shape_of(value.ty)
    return not shape or all(c >= extent for c, extent in zip(constancy, shape, strict=False))


def _form(value: SSAValue, forms: Affine) -> str:
    linear = forms.linear.get(value.id)
    if linear is None or not linear.strides:
        return ""
    return "strides " + "x".join(str(s) if isinstance(s, int) else "?" for s in linear.strides)


def text_stage(info: BackendInfo, source: Source, function: SSAFunction, filename: str) -> Stage:
    """A backend's text. Lines are traced back by what the resources of the source say: ``spans`` (line
    number to position), or ``value_names`` (true where the text calls SSA value 12 ``v12``)."""
    language = source.language or "text"
    texts = source.text.splitlines()
    if spans := source.resources.get("spans"):
        found: Sequence[int | None] = [
            source_line(spans.get(k), filename) for k in range(1, len(texts) + 1)
        ]
    elif not source.resources.get("value_names"):
        found = [None] * len(texts)
    else:
        found = _by_values(texts, function, filename)
    lines = tuple(map(Line, texts, found))
    title = f"{language} of {info.name}"
    return Stage(source.stage, title, language, lines, suffix=info.suffix)


def _by_values(texts: Sequence[str], function: SSAFunction, filename: str) -> list[int | None]:
    known: dict[int, int | None] = {}
    for item in walk(function.body):
        for value in (*item.results, *(arg for region in item.regions for arg in region.args)):
            known[value.id] = source_line(item.span, filename)
    return [_first(text, known) for text in texts]


def _first(text: str, known: Mapping[int, int | None]) -> int | None:
    for match in _VALUE.finditer(text):
        line = known.get(int(match[1] or match[2]))
        if line is not None:
            return line
    return None
