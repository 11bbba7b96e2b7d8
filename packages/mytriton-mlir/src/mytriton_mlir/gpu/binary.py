"""The image inside of the text of a module: ``gpu.binary @kernels [#gpu.object<..., "...">]``."""

from __future__ import annotations

import re

_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
_ESCAPE = re.compile(rb'\\(?:([0-9A-Fa-f]{2})|(["\\nt]))|(\\)', re.S)
_LETTERS = {b'"': b'"', b"\\": b"\\", b"n": b"\n", b"t": b"\t"}
_OPEN, _CLOSE = "[<{(", "]>})"


def extract_gpu_binary(mlir_text: str, *, symbol_name: str = "kernels") -> bytes:
    """The object that ``gpu.binary @symbol_name`` holds, byte by byte.

    Raises ``ValueError`` when the text has no such binary, or the binary no object.
    """
    marker = f"gpu.binary @{symbol_name}"
    start = _find(mlir_text, marker)
    if start is None:
        raise ValueError(f"MLIR module does not contain {marker}")
    # The object is the only string directly inside of `[#gpu.object< >]`: target and properties,
    # which hold strings too, lie deeper.
    nesting, place = "", start + len(marker)
    while place < len(mlir_text):
        character = mlir_text[place]
        if character == '"':
            string = _STRING.match(mlir_text, place)
            if string is None:
                raise ValueError(f"MLIR {marker} holds a string that does not end")
            if nesting == "[<":
                return decode_byte_string(string[1])
            place = string.end()
            continue
        if character in _OPEN:
            nesting += character
        elif character in _CLOSE:
            nesting = nesting[:-1]
            if character == "]" and not nesting:
                break
        place += 1
    raise ValueError(f"MLIR {marker} does not contain an object")


def _find(text: str, marker: str) -> int | None:
    """Where ``marker`` is, as words of their own and outside of strings."""
    word = re.compile(rf'(?P<string>"(?:[^"\\]|\\.)*")|{re.escape(marker)}(?![\w$.])', re.S)
    for match in word.finditer(text):
        if match["string"] is None:
            return match.start()
    return None


def decode_byte_string(literal: str) -> bytes:
    r"""The bytes of an MLIR string literal, given without its quotes.

    MLIR prints printable ASCII as it is, a backslash as ``\\``, every other byte as ``\`` and two
    hexadecimal digits; it also reads ``\"``, ``\n`` and ``\t``. Raises ``ValueError`` for anything
    else after a backslash.
    """

    def decoded(match: re.Match[bytes]) -> bytes:
        if match[3] is not None:
            raise ValueError(
                f"not an escape of MLIR: {literal[match.start() : match.start() + 3]!r}"
            )
        return bytes([int(match[1], 16)]) if match[1] is not None else _LETTERS[match[2]]

    return _ESCAPE.sub(decoded, literal.encode())
