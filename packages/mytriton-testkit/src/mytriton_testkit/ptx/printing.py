"""`vprintf`, what a kernel's `printf` is compiled to: the text goes to standard output, thread by
thread."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Any

from .errors import PtxUnsupported
from .spaces import LOCAL_BASE, LOCAL_WINDOW, WINDOW
from .state import Frame, Machine
from .syntax import Call, Symbol
from .types import Array

_DIRECTIVE = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|j|z|t)?([diouxXcspfFeEgGaA%])")
_LONG = frozenset({"ll", "l", "j", "z", "t"})


def vprintf(m: Machine, frame: Frame, ins: Call, lanes: Array) -> None:
    """Print for every lane, in their order."""
    text, values = (_argument(frame, ins, number) for number in (0, 1))
    for lane in lanes:
        form = _string(m, int(text[lane]), ins)
        print(expanded(form, _Arguments(m, int(lane), int(values[lane]), ins)), end="")


def _argument(frame: Frame, ins: Call, number: int) -> Array:
    actual = ins.arguments[number]
    assert isinstance(actual, Symbol)
    return frame.params[actual.name][:, :8].copy().view("u8")[:, 0]


def _string(m: Machine, address: int, ins: Call) -> str:
    """The characters from an address of global memory to the first zero."""
    buffer = m.launch.memory.find(address)
    if buffer is None:
        raise PtxUnsupported(f"printf with a string that is not in global memory ({ins.site})")
    found = m.launch.memory.read(address, buffer.end - address).tobytes()
    text: str = found.split(b"\0", 1)[0].decode(errors="replace")
    return text


class _Arguments:
    """The values of one lane: each at the next multiple of its size."""

    def __init__(self, m: Machine, lane: int, address: int, ins: Call) -> None:
        self.m, self.lane, self.ins, self.at = m, lane, ins, address

    def take(self, form: str) -> Any:
        size = struct.calcsize(form)
        self.at = -(-self.at // size) * size
        if self.at >> WINDOW != LOCAL_WINDOW >> WINDOW:
            raise PtxUnsupported(f"printf with values outside local memory ({self.ins.site})")
        local = self.m.local
        start = self.lane * local.stride + self.at - LOCAL_WINDOW - LOCAL_BASE
        self.at += size
        return struct.unpack(form, local.views.octets[start : start + size].tobytes())[0]

    def string(self) -> str:
        return _string(self.m, self.take("<Q"), self.ins)


def expanded(form: str, values: _Arguments) -> str:
    """A format with its values."""
    return "".join(_pieces(form, values))


def _pieces(form: str, values: _Arguments) -> Iterator[str]:
    end = 0
    for match in _DIRECTIVE.finditer(form):
        yield form[end : match.start()]
        end = match.end()
        flags, length, kind = match.groups()
        if kind == "%":
            yield "%"
        elif kind == "s":
            yield f"%{flags}s" % values.string()
        elif kind == "p":
            yield f"{values.take('<Q'):#x}"
        elif kind in "fFeEgG":
            yield f"%{flags}{kind}" % values.take("<d")
        elif kind in "aA":
            yield float(values.take("<d")).hex()
        elif kind == "c":
            yield chr(values.take("<I") & 0xFF)
        else:
            letter = "<q" if length in _LONG else "<i"
            number = values.take(letter if kind in "di" else letter.upper())
            yield f"%{flags}{'d' if kind in 'diu' else kind}" % number
    yield form[end:]
