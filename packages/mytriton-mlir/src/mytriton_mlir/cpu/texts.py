"""For an inspection: LLVM IR and assembly of a kernel, made when somebody asks; size of its code."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from ..texts import Made, Text
from .target import Target


class Texts(Made):
    """``"llir"`` (LLVM IR), ``"asm"`` (assembly of this processor) and ``"obj"`` (object code) of an
    MLIR module. The texts carry the lines of the module, as debug information."""

    def __init__(self, text: str, target: Target) -> None:
        super().__init__(("llir", "asm", "obj"), {})
        self._text, self._features = text, target.features

    def make(self, stage: str) -> Mapping[str, Text]:
        from .compile import to_object, to_texts

        if stage == "obj":
            return {"obj": to_object(self._text, self._features)}
        llir, asm = to_texts(self._text, self._features)
        return {"llir": llir, "asm": asm}


_EXECUTABLE = 4  # SHF_EXECINSTR


def code_bytes(image: bytes) -> int | None:
    """Bytes of instructions in object code; ``None`` where it is no 64-bit ELF file."""
    if image[:6] != b"\x7fELF\x02\x01":
        return None
    (start,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    total = 0
    for k in range(count):
        flags, _, _, length = struct.unpack_from("<QQQQ", image, start + k * size + 8)
        total += length if flags & _EXECUTABLE else 0
    return total
