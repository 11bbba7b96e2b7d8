"""Stages below a backend's text: LLVM IR, PTX, assembly. Compilers write into them which line of
the text above an instruction came from, as debug information: ``.loc`` in assembly and PTX,
``!dbg`` in LLVM IR. Here that becomes the lines' sources, and leaves the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..plugins.stages import stage_of
from .model import Line, Stage

#: File and line; where the instruction was inlined from another function, the line of the call.
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)(?:.*inlined_at\s+\d+\s+(\d+))?")
#: Directives for debuggers and unwinders, and labels that only they refer to.
_NOISE = re.compile(
    r"\s*(\.cfi_|\.file\s|\.Ltmp\d+:|\.Lfunc_begin\d+:|\$L__tmp\d+:|\$L__func_(begin|end)\d+:)"
)
_DEBUG_SECTION = re.compile(r"\s*\.section\s+\.debug_")
_SECTION = re.compile(r"\s*\.(section|text|data)\b")
_DBG = re.compile(r",? !dbg !(\d+)")
_LOCATION = re.compile(r"!(\d+) = (?:distinct )?!DILocation\(line: (\d+),")
_METADATA = re.compile(r"!(\d+|llvm\.dbg\.\w+|llvm\.module\.flags) = ")


def compiled_stage(name: str, text: str, below: Stage | None) -> Stage:
    """The stage ``name``; its debug information counts lines of the text in stage ``below``."""
    known = stage_of(name)
    sources = [line.source for line in below.lines] if below is not None else []
    rows = _llvm(text) if "!dbg" in text else _assembly(text)
    lines = tuple(Line(row, _at(sources, number)) for row, number in rows)
    return Stage(name, known.title, known.title, lines, suffix=known.suffix)


def _at(sources: Sequence[int | None], number: int) -> int | None:
    return sources[number - 1] if 0 < number <= len(sources) else None


def _assembly(text: str) -> Iterator[tuple[str, int]]:
    """The lines of assembly without debug information, each with the line above it came from."""
    number, debug = 0, False
    for row in text.splitlines():
        if _DEBUG_SECTION.match(row):
            debug = True
        elif debug and row.strip() == "}":  # ends a section of PTX
            debug = False
            continue
        elif debug and _SECTION.match(row):
            debug = False
        if debug or _NOISE.match(row):
            continue
        if match := _LOC.match(row):
            number = int(match[3] or match[2])
            continue
        instruction = row[:1].isspace() and not row.lstrip().startswith((".", "$", "//"))
        yield row, number if instruction else 0


def _llvm(text: str) -> Iterator[tuple[str, int]]:
    """The lines of LLVM IR without debug information, each with the line above it came from."""
    places = {int(m[1]): int(m[2]) for m in _LOCATION.finditer(text)}
    for row in text.splitlines():
        if _METADATA.match(row):
            continue
        match = _DBG.search(row)
        yield ((row, 0) if match is None else (_DBG.sub("", row), places.get(int(match[1]), 0)))
