"""Errors a kernel author can see, and the source positions they carry.

Every compile-time error prints as ``file.py:LINE:COL: one sentence``, the source line and a caret;
errors inside inlined functions add the chain of calls that led there.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(slots=True, unsafe_hash=True)
class Span:
    """A region of the user's source. Lines count from 1, columns from 1 (as editors do). Nobody changes
    one; it is not frozen because a trace makes thousands, and that would double their cost."""

    filename: str
    line: int
    col: int
    end_line: int = 0
    end_col: int = 0
    function: str = ""
    #: Where the function that contains this span was called, when it was inlined.
    caller: Span | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}:{self.col}"

    def source_line(self) -> str:
        """The text of the first line of the span, or ``""`` when the source is gone."""
        return linecache.getline(self.filename, self.line).rstrip("\r\n")

    def render(self) -> str:
        """The source line with a caret below the column the span starts at."""
        text = self.source_line()
        if not text.strip():
            return ""
        pad = "".join("\t" if c == "\t" else " " for c in text[: self.col - 1])
        width = 1
        if self.end_line == self.line and self.end_col > self.col:
            width = min(self.end_col, len(text) + 1) - self.col
        return f"    {text}\n    {pad}{'^' * max(1, width)}"


def format_error(message: str, span: Span | None) -> str:
    """Position, sentence, source line with caret, and the chain of inlined calls."""
    if span is None:
        return message
    lines = [f"{span}: {message}"]
    if picture := span.render():
        lines.append(picture)
    caller = span.caller
    while caller is not None:
        lines.append(
            f"  called from {caller}" + (f" in {caller.function}" if caller.function else "")
        )
        if picture := caller.render():
            lines.append(picture)
        caller = caller.caller
    return "\n".join(lines)


class MytritonError(Exception):
    """Base of every error this package defines."""


class CompilationError(MytritonError):
    """A kernel cannot be compiled. ``message`` is the bare sentence, ``span`` the position."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        self.message = message
        self.span = span
        super().__init__(message)

    def __str__(self) -> str:
        return format_error(self.message, self.span)


class ASTFrontendError(CompilationError, TypeError):
    """Syntax or a construct the kernel language does not have."""


class UnknownNameError(ASTFrontendError, NameError):
    """A name that is neither a local, a global, a closure variable nor a builtin."""


class KernelTypeError(CompilationError, TypeError):
    """Operand types or shapes an operation does not take."""


class VerificationError(CompilationError, TypeError):
    """SSA that breaks a structural rule or the rule of an operation."""


class PassError(VerificationError):
    """An optimisation pass produced SSA that does not verify. Names the pass, shows the diff."""


class ParseError(MytritonError, ValueError):
    """Text that is not SSA in module form. Carries the line number in its message."""


class OpRuleError(TypeError):
    """Raised by an operation's own rules (type rule, verifier); callers add the position."""


class OutOfBoundsError(MytritonError, IndexError):
    """A program touched memory outside an argument. ``message`` is the bare sentence."""

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        *,
        argument: str = "",
        index: int = 0,
        program: tuple[int, int, int] = (0, 0, 0),
    ) -> None:
        self.message = message
        self.span = span
        self.argument = argument
        self.index = index
        self.program = program
        super().__init__(message)

    def __str__(self) -> str:
        return format_error(self.message, self.span)


def outside_text(
    access: str, argument: str, index: int, program: tuple[int, int, int], valid: str
) -> str:
    """The sentence about an access outside its argument. ``valid``: what is inside."""
    return f"{access} of {argument}[{index}] in program {program} is out of bounds ({valid})"


class DeviceAssertionError(MytritonError, AssertionError):
    """A ``tl.device_assert`` of a running kernel failed. ``message`` is the bare sentence."""

    def __init__(self, message: str, span: Span | None = None) -> None:
        self.message = message
        self.span = span
        super().__init__(message)

    def __str__(self) -> str:
        return format_error(self.message, self.span)


@dataclass(frozen=True)
class Link:
    """One value on the way to a finding: where the source computes it, what it says there, and what
    that was in the offending lane."""

    expression: str
    value: str
    span: Span | None = None

    def __str__(self) -> str:
        where = "argument" if self.span is None else f"line {self.span.line}:"
        return f"{where} {self.expression} = {self.value}"


@dataclass(frozen=True)
class Finding:
    """One thing the sanitizer found. ``count`` says how many lanes it happened to; the other
    fields describe the first."""

    #: ``"out-of-bounds"``, ``"undefined"``, ``"conflict"``, ``"overflow"``, ``"division-by-zero"``,
    #: ``"shift-out-of-range"``, ``"cast-out-of-range"`` or ``"nan"``.
    kind: str
    message: str
    argument: str = ""
    program: tuple[int, int, int] = (0, 0, 0)
    index: int | None = None
    span: Span | None = None
    count: int = 1
    #: The offending indices into the argument, the first few of them.
    indices: tuple[int, ...] = ()
    #: What the mask of the access was there; ``None`` when it has no mask.
    mask: bool | None = None
    #: Position of the lane in the block.
    lane: tuple[int, ...] = ()
    #: How the value came about, from the access back to arguments and program ids.
    chain: tuple[Link, ...] = ()

    def __str__(self) -> str:
        more = f" (and {self.count - 1} more like it)" if self.count > 1 else ""
        lines = [format_error(self.message + more, self.span)]
        if len(self.indices) > 1:
            rest = ", ..." if self.count > len(self.indices) else ""
            lines.append(f"  indices: {', '.join(map(str, self.indices))}{rest}")
        if self.index is not None:
            lines.append(f"  mask: {'none given' if self.mask is None else str(self.mask).lower()}")
        if self.chain:
            lines.append(f"  how it came about{f' in lane {self.lane}' if self.lane else ''}:")
            lines += [f"    {link}" for link in self.chain]
        return "\n".join(lines)


class SanitizerError(MytritonError):
    """What strict mode found in one launch, after the whole grid ran. ``findings`` has the data."""

    def __init__(self, kernel: str, findings: Sequence[Finding]) -> None:
        self.kernel = kernel
        self.findings = tuple(findings)
        super().__init__(kernel, self.findings)

    def __str__(self) -> str:
        plural = "problem" if len(self.findings) == 1 else "problems"
        head = f"{len(self.findings)} {plural} in kernel {self.kernel!r}:"
        return "\n".join([head, *map(str, self.findings)])


class ArgumentError(MytritonError, TypeError):
    """An argument a kernel cannot take, or a call that does not bind to its parameters."""


class ArgumentNameError(MytritonError, KeyError):
    """A name that is no argument of the kernel, asked for by a function of the user."""

    def __str__(self) -> str:  # KeyError shows the repr
        return str(self.args[0])


class VariableError(ArgumentError, ValueError):
    """A ``MYTRITON_*`` environment variable with a value it does not take."""


class ArgumentRangeError(ArgumentError, OverflowError):
    """An integer argument that fits in no type of the language."""


class GridError(MytritonError, ValueError):
    """A launch grid that is not one to three non-negative ints."""


class CompiledOnlyWarning(UserWarning):
    """A backend was named that cannot launch on the arguments: the kernel was compiled, not run."""


class StridesWarning(UserWarning):
    """An array with gaps or reversed strides was passed, but none of its strides."""
