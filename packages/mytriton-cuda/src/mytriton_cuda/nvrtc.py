"""NVIDIA's run-time compiler, called through ctypes: needs its library, but no driver and no GPU.

The library is looked for in the wheels ``nvidia-cuda-nvrtc-cu12`` and ``nvidia-cuda-nvrtc`` and
then where the system keeps it. ``MYTRITON_NVRTC`` names a library to use instead.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mytriton.plugin_api import MytritonError, Span, format_error

_FROM_WHEELS = (
    "cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13",
    "cuda_nvrtc/bin/nvrtc64_120_0.dll", "cu13/bin/x86_64/nvrtc64_130_0.dll",
)  # fmt: skip
_FROM_SYSTEM = ("libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc.so")


class NvrtcError(MytritonError, RuntimeError):
    """The compiler is missing, or refuses a kernel. ``log`` is what it said."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.log = log


@dataclass(frozen=True)
class Image:
    """A compiled kernel: ``kind`` is ``"ptx"`` or ``"cubin"``."""

    data: bytes
    kind: str
    log: str = ""


def _candidates() -> Iterator[str]:
    if chosen := os.environ.get("MYTRITON_NVRTC"):
        yield chosen
        return
    spec = importlib.util.find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        for relative in _FROM_WHEELS:
            if (path := Path(folder) / relative).is_file():
                yield str(path)
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if root := os.environ.get(variable):
            yield str(Path(root, "lib64", "libnvrtc.so"))
    yield from _FROM_SYSTEM
    yield "/usr/local/cuda/lib64/libnvrtc.so"


class Nvrtc:
    """One loaded library."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self._lock = threading.Lock()
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = (major.value, minor.value)

    def compile(
        self,
        text: str,
        *,
        name: str = "kernel",
        arch: str = "sm_80",
        kind: str = "cubin",
        options: Sequence[str] = (),
        spans: Mapping[int, Span] | None = None,
    ) -> Image:
        """Compile CUDA C++ for ``arch`` (``sm_80``, ``sm_90a``).

        Raises ``NvrtcError`` with the compiler's message; ``spans`` (line of ``text`` -> position in
        the user's source) say which line of the kernel it is about.
        """
        program = ctypes.c_void_p()
        file = f"{name}.cu".encode()
        source = text.encode()
        self._check(
            self._library.nvrtcCreateProgram(ctypes.byref(program), source, file, 0, None, None)
        )
        try:
            # Subnormals are kept: no --ftz.
            words = [f"--gpu-architecture={arch}", "--std=c++17", *options]
            flags = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
            with self._lock:
                status = self._library.nvrtcCompileProgram(program, len(words), flags)
            log = self._read(program, "ProgramLog").decode(errors="replace").strip("\0\n")
            if status:
                raise NvrtcError(_explain(text, name, log, spans or {}), log)
            return Image(self._read(program, kind.upper()), kind, log)
        finally:
            self._library.nvrtcDestroyProgram(ctypes.byref(program))

    def _read(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self._library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(max(1, size.value))
        self._check(getattr(self._library, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw[: size.value]

    def _check(self, status: int) -> None:
        if status:
            raise NvrtcError(f"NVRTC failed: {self._library.nvrtcGetErrorString(status).decode()}")


def _explain(text: str, name: str, log: str, spans: Mapping[int, Span]) -> str:
    """The first error, the line it is about, and the user's line that line was made from."""
    lines = text.splitlines()
    for message in log.splitlines():
        place, found, rest = message.partition("): error: ")
        number = place.rpartition("(")[2]
        if not found or not number.isdigit() or not 0 < int(number) <= len(lines):
            continue
        row = int(number)
        about = f"NVRTC refuses kernel {name!r}: {rest}\n    {row}: {lines[row - 1].strip()}"
        return format_error(about, spans.get(row))
    return f"NVRTC refuses kernel {name!r}:\n{log}"


@cache
def load() -> Nvrtc:
    """The compiler of this machine. Raises ``NvrtcError`` when there is none."""
    for candidate in _candidates():
        try:
            return Nvrtc(ctypes.CDLL(candidate))
        except OSError:
            continue
    raise NvrtcError(
        "NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12 (or nvidia-cuda-nvrtc)"
    )


def available() -> bool:
    """Whether there is a compiler."""
    try:
        load()
    except NvrtcError:
        return False
    return True
