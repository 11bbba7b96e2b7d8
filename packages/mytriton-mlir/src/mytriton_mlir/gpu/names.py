"""Names of the generated text: every SSA value has one of its own, parameters keep theirs."""

from __future__ import annotations

import re
from collections.abc import Iterable

#: Names that PTX keeps for itself.
_PTX = frozenset({"WARP_SZ", "kernels"})


def plain(name: str) -> str:
    """``name`` in ASCII, as an identifier of MLIR, LLVM and PTX."""
    text = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
    text = re.sub(r"\W", "_", text)
    return text if text[:1].isalpha() else f"arg{text}"


def kernel_name(name: str) -> str:
    """What the kernel is called in MLIR and in the image."""
    # Two underscores begin the functions of libdevice (__nv_expf) and of LLVM.
    text = re.sub(r"__+", "_", name) if name.startswith("__") else name
    text = plain(text).replace("arg_", "kernel_", 1) if text.startswith("_") else plain(text)
    return f"{text}_kernel" if text in _PTX else text


class Names:
    """Gives out names, each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def fresh(self, wanted: str) -> str:
        """``wanted``, or with the first suffix that makes it a new name."""
        name, count = wanted, 1
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name
