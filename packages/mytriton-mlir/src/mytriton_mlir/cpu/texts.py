"""For an inspection: LLVM IR and assembly of a kernel, made when somebody asks; size of its code."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from .target import Target


class Texts(Mapping[str, "str | bytes"]):
    """``"llir"`` (LLVM IR), ``"asm"`` (assembly of this processor) and ``"obj"`` (object code) of an
    MLIR module. The texts carry the lines of the module, as debug information."""

    def __init__(self, text: str, target: Target) -> None:
        self._text, self._features = text, target.features
        self._made: dict[str, str | bytes] = {}

    def __getitem__(self, stage: str) -> str | bytes:
        if stage not in ("llir", "asm", "obj"):
            raise KeyError(stage)
        if stage not in self._made:
            from .compile import to_object, to_texts

            if stage == "obj":
                self._made["obj"] = to_object(self._text, self._features)
            else:
                llir, asm = to_texts(self._text, self._features)
                self._made |= {"llir": llir, "asm": asm}
        return self._made[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(("llir", "asm", "obj"))

    def __len__(self) -> int:
        return 3


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
