"""The host's C compiler: finding it, calling it, and keeping what it made.

A library is compiled once per text, compiler and flags. The cache is a folder of shared libraries
named by what went in and by a digest of what came out: a damaged file is recognised and made again,
and a finished one appears under its name in one step, so processes may share the folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import mytriton.plugin_api as mt

#: No fast-math and no contraction: results are those of IEEE 754. At -O2, compile time grows much
#: faster than the number of operations.
FLAGS = ("-std=c11", "-O1", "-ftree-vectorize", "-fPIC", "-shared", "-ffp-contract=off")
HEADER = Path(__file__).with_name("mytriton_c.h")


class CCompilerError(mt.MytritonError, RuntimeError):
    """The C compiler is missing, or refused what this backend wrote (which is a bug of ours)."""


def compiler() -> tuple[str, ...]:
    """The command in ``CC``, or ``cc``. Empty when there is no such program."""
    command = tuple(shlex.split(os.environ.get("CC", ""))) or ("cc",)
    return command if shutil.which(command[0]) else ()


@cache
def version(command: tuple[str, ...]) -> str:
    """The command, and the first line of what it says about itself."""
    answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    lines = (answer.stdout or answer.stderr).splitlines()
    return f"{' '.join(command)}: {lines[0] if lines else 'unknown version'}"


def load_library(text: str) -> ctypes.CDLL:
    """The shared library of ``text``, compiled if the cache lacks it. Raises ``CCompilerError``."""
    command = compiler()
    if not command:
        raise CCompilerError(f"no C compiler: {os.environ.get('CC') or 'cc'!r} is not on PATH")
    parts = [text, HEADER.read_text("utf-8"), version(command), *FLAGS]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
    folder = mt.cache_folder("c", create=True)
    for found in folder.glob(f"{key}-*.so") if folder is not None else ():
        try:
            if found.stem == f"{key}-{_digest(found)}":
                return ctypes.CDLL(str(found))
        except OSError:
            continue  # `mytriton cache clear` was faster
    # Unfinished work has a name that begins with .new-: it is left alone while it is young.
    with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as work:
        made = Path(work, "kernel.so")
        _compile(command, text, Path(work, "kernel.c"), made)
        library = ctypes.CDLL(str(made))
        if folder is not None:
            os.replace(made, folder / f"{key}-{_digest(made)}.so")
    return library


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _compile(command: tuple[str, ...], text: str, source: Path, made: Path) -> None:
    source.write_text(text, "utf-8")
    line = [*command, *FLAGS, f"-I{HEADER.parent}", str(source), "-o", str(made), "-lm"]
    answer = subprocess.run(line, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return
    said = answer.stderr.strip() or answer.stdout.strip()
    message = f"the C compiler failed (exit status {answer.returncode}): {shlex.join(line)}\n{said}"
    lines = text.splitlines()
    where = re.search(rf"{re.escape(source.name)}:(\d+)", said)
    if where and 0 < int(where[1]) <= len(lines):
        message += f"\ngenerated line {where[1]}: {lines[int(where[1]) - 1].strip()}"
    raise CCompilerError(message)
