"""The small words of the SSA text: names, constants, attributes, types. The printer spells them and
the parser reads them with what is here."""

from __future__ import annotations

import math
import re
import struct
from functools import lru_cache
from typing import Any

from ..errors import ParseError
from .numerics import format_constant
from .types import F64, BlockType, PointerType, ScalarType, Type, parse_type
from .values import Constant

#: Words the module form gives a meaning: a parameter of that name is printed in quotes.
KEYWORDS = frozenset(
    {"none", "true", "false", "nan", "inf", "for", "in", "range", "yield", "kernel", "iter_args",
     "args", "else"}
)  # fmt: skip
#: Tuples nested deeper than this are no attributes (the verifier refuses them too).
MAX_DEPTH = 32

NAME = re.compile(r"[^\W\d]\w*")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
STRING = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")
OPCODE = re.compile(r"[^\W\d][\w.]*")
VALUE = re.compile(r"%([0-9]{1,18})(?![\w])")
TYPE = re.compile(r"[a-z]\w*(?:<[\w ]*(?:ptr<\w*>)?>)?")
CONSTANT = re.compile(
    r"(true|false|nan(?:\(0x[0-9a-f]{1,16}\))?|-?(?:inf|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?))"
    r"(?::([a-z]\w*))?(?![\w.(<:])"
)
_INTEGER = re.compile(r"-?[0-9]+$")
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))", re.DOTALL)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}


def spell_name(name: str) -> str:
    """A parameter's or kernel's name: quoted unless it reads as one plain word."""
    if NAME.fullmatch(name) and name not in KEYWORDS:
        return name
    return '"' + name.encode("unicode_escape").decode("ascii").replace('"', '\\"') + '"'


def spell_attribute(value: Any) -> str:
    """An attribute value: types by name, numbers so that they read back, the rest as in Python."""
    if type(value) is float:
        return format_constant(value, F64)
    if isinstance(value, (ScalarType, PointerType, BlockType)):
        return str(value)
    if isinstance(value, tuple):
        inner = ", ".join(map(spell_attribute, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def unescape(text: str) -> str:
    """The inverse of the escapes above; raises ``ValueError`` for one that is not known."""

    def one(match: re.Match[str]) -> str:
        digits = match[1] or match[2] or match[3]
        if digits:
            return chr(int(digits, 16))
        if match[4] not in _ESCAPES:
            raise ValueError(f"no escape is spelt \\{match[4]}")
        return _ESCAPES[match[4]]

    return _ESCAPE.sub(one, text) if "\\" in text else text


@lru_cache(maxsize=4096)
def read_type(text: str) -> Type:
    return parse_type(text)


def read_float(text: str) -> float:
    """A float as ``format_constant`` spells it. Raises ``ValueError``."""
    if text.startswith("nan("):
        number: float = struct.unpack("<d", struct.pack("<Q", int(text[4:-1], 16)))[0]
        if not math.isnan(number):
            raise ValueError(f"{text} is not a NaN")
        return number
    return float(text)


def read_constant(text: str, ty: ScalarType) -> Constant:
    """The constant ``text`` is as a ``ty``. Raises ``ValueError`` when it cannot be one."""
    if ty.is_bool() or text in ("true", "false"):
        if text not in ("true", "false") or not ty.is_bool():
            raise ValueError(f"{text} is not a {ty}")
        return Constant(text == "true", ty)
    if ty.is_floating():
        constant = Constant(read_float(text), ty)
        if math.isinf(constant.value) and not text.endswith("inf"):
            raise ValueError(f"{text} is too large for {ty}")
        return constant
    low, high = ty.int_range()
    if not _INTEGER.match(text) or not low <= (number := int(text)) <= high:
        raise ValueError(f"{text} is not an {ty} ({low} to {high})")
    return Constant(number, ty)


class Cursor:
    """One line of text and how far it has been read."""

    __slots__ = ("number", "pos", "text")

    def __init__(self, text: str, number: int) -> None:
        self.text = text
        self.number = number
        self.pos = 0

    def fail(self, expected: str) -> ParseError:
        """The error that says what should have stood here."""
        rest = self.text[self.pos : self.pos + 40] or "the end of the line"
        shown = self.text if len(self.text) <= 200 else self.text[:200] + "..."
        return ParseError(f"line {self.number}: expected {expected}, got {rest!r}\n    {shown}")

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Read what matches, and the spaces after it."""
        match = pattern.match(self.text, self.pos)
        if match is not None:
            self._move(match.end())
        return match

    def skip(self, word: str) -> bool:
        """Read ``word`` if it is next, and the spaces after it."""
        found = self.text.startswith(word, self.pos)
        if found:
            self._move(self.pos + len(word))
        return found

    def _move(self, pos: int) -> None:
        text = self.text
        while text.startswith(" ", pos):
            pos += 1
        self.pos = pos

    def need(self, word: str) -> None:
        if not self.skip(word):
            raise self.fail(repr(word))

    def need_match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = self.take(pattern)
        if match is None:
            raise self.fail(what)
        return match

    def at_end(self) -> bool:
        return self.pos >= len(self.text)

    def need_end(self) -> None:
        if not self.at_end():
            raise self.fail("the end of the line")

    def name(self, what: str) -> str:
        start = self.pos
        if match := self.take(QUOTED):
            try:
                return unescape(match[1])
            except (ValueError, OverflowError):
                self.pos = start
                raise self.fail(what) from None
        return self.need_match(NAME, what)[0]

    def type(self) -> Type:
        start = self.pos
        match = self.need_match(TYPE, "a type")
        try:
            return read_type(match[0])
        except ValueError:
            self.pos = start
            raise self.fail("a type") from None

    def types(self) -> list[Type]:
        """A list of types, separated by commas."""
        found = [self.type()]
        while self.skip(","):
            found.append(self.type())
        return found

    def value(self) -> int:
        return int(self.need_match(VALUE, "a value such as %3")[1])

    def attribute(self, depth: int = 0) -> Any:
        """The value of an attribute."""
        start = self.pos
        try:
            if self.text.startswith("(", start):
                return self._tuple(depth)
            if match := self.take(STRING):
                return unescape(match[1] if match[1] is not None else match[2])
            if match := self.take(CONSTANT):
                if match[2] or match[1] in ("true", "false"):
                    raise ValueError
                return int(match[1]) if _INTEGER.match(match[1]) else read_float(match[1])
            match = NAME.match(self.text, start)
            if match and match[0] in _WORDS:
                self._move(match.end())
                return _WORDS[match[0]]
            return self.type()
        except (ValueError, OverflowError) as error:
            if isinstance(error, ParseError):
                raise
            self.pos = start
            raise self.fail("an attribute value") from None

    def _tuple(self, depth: int) -> tuple[Any, ...]:
        self.need("(")
        if depth >= MAX_DEPTH:
            raise self.fail(f"tuples nested at most {MAX_DEPTH} deep")
        found: list[Any] = []
        while not self.skip(")"):
            found.append(self.attribute(depth + 1))
            if not self.skip(","):
                self.need(")")
                break
        return tuple(found)
