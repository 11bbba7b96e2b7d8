"""The lines of a function: written in order, some lifted in front of the loop they are met in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mytriton.plugin_api import Constant, ScalarType, Span

from .names import Names
from .scalars import constant_name, literal, value_type

_INDENT = "  "


def quoted(text: str) -> str:
    """A string literal of MLIR."""
    plain = {b: chr(b) for b in range(32, 127) if chr(b) not in '"\\'}
    return '"' + "".join(plain.get(b, f"\\{b:02X}") for b in text.encode()) + '"'


class Body:
    """Writes operations and names their results.

    Constants and the places of a thread are needed anywhere: they are defined once, at the top
    level, in front of the item in which they are first needed.
    """

    def __init__(self, names: Names, depth: int) -> None:
        self.names = names
        self.lines: list[tuple[str, Span | None]] = []
        self._top = self._depth = depth
        #: Where the top-level item that is being written begins.
        self._item = 0
        self._constants: dict[str | tuple[str, object], str] = {}
        self.span: Span | None = None

    def line(self, text: str) -> None:
        """Write one line."""
        self.lines.append((_INDENT * self._depth + text, self.span))

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """``head {``, what is written meanwhile one step deeper, ``}``."""
        self.line(f"{head} {{")
        self._depth += 1
        yield
        self._depth -= 1
        self.line(end)

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """What is written meanwhile is one step deeper."""
        self._depth += 1
        yield
        self._depth -= 1

    @contextmanager
    def item(self, span: Span | None) -> Iterator[None]:
        """What is written meanwhile belongs to one item of SSA."""
        outer, self.span = self.span, span
        if self._depth == self._top:
            self._item = len(self.lines)
        yield
        self.span = outer

    def define(self, text: str, wanted: str) -> str:
        """``%name = text``; returns ``%name``."""
        name = "%" + self.names.fresh(wanted)
        self.line(f"{name} = {text}")
        return name

    def lift(self, text: str, wanted: str) -> str:
        """``define``, in front of the top-level item: for what is the same everywhere."""
        name = "%" + self.names.fresh(wanted)
        self.lines.insert(self._item, (f"{_INDENT * self._top}{name} = {text}", None))
        self._item += 1
        return name

    def constant(self, constant: Constant) -> str:
        """The name of a constant."""
        text = literal(constant)
        spelled = text if constant.ty.is_bool() else f"{text} : {value_type(constant.ty)}"
        return self._once(spelled, constant_name(constant))

    def number(self, value: int, ty: ScalarType) -> str:
        """The name of a whole number."""
        return self.constant(Constant(value, ty))

    def index(self, value: int) -> str:
        """The name of a number of MLIR's ``index`` type."""
        return self._once(f"{value} : index", f"c_index_{value}")

    def _once(self, spelled: str, wanted: str) -> str:
        if spelled not in self._constants:
            self._constants[spelled] = self.lift(f"arith.constant {spelled}", wanted)
        return self._constants[spelled]
