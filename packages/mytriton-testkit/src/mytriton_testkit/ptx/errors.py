"""What the emulator raises.

Every error about an instruction carries the line of the PTX text, the source line of the nearest
`.loc` before it, and, where threads are concerned, the block and thread that came first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """Where in the PTX text something is: line, instruction and, from `.loc`, the source line."""

    line: int
    text: str
    source: str | None = None

    def __str__(self) -> str:
        place = f"PTX line {self.line}: {self.text}"
        return f"{place} (from {self.source})" if self.source else place


@dataclass(frozen=True)
class Thread:
    """One thread of a launch: `blockIdx` and `threadIdx`."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        block, thread = (",".join(map(str, place)) for place in (self.block, self.thread))
        return f"block ({block}) thread ({thread})"


class PtxError(Exception):
    """Base of everything the emulator raises on purpose."""


class PtxSyntaxError(PtxError):
    """The text is no PTX, or PTX with a declaration the emulator cannot read."""


class PtxUnsupported(PtxError):
    """Legal PTX that the emulator does not implement; the message names the instruction."""


class LaunchError(PtxError):
    """The launch itself is wrong: arguments, block size, shared memory, unknown kernel."""


class PtxCheckError(PtxError):
    """A kernel did what it must not do. `kind` is one of `KINDS`."""

    KINDS = (
        "bounds",
        "alignment",
        "uninitialised",
        "race",
        "barrier",
        "collective",
        "async-copy",
        "hang",
        "trap",
    )

    def __init__(
        self,
        kind: str,
        message: str,
        site: Site | None = None,
        thread: Thread | None = None,
    ) -> None:
        self.kind, self.message, self.site, self.thread = kind, message, site, thread
        text = f"{kind}: {message}"
        if thread is not None:
            text += f"\n  by {thread}"
        if site is not None:
            text += f"\n  at {site}"
        super().__init__(text)
