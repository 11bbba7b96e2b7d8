"""Compiled kernels carried to machines without MLIR's bindings.

``MYTRITON_MLIR_IMAGES`` names a folder. Where the bindings are, every kernel that is compiled is also
kept there; where they are not, kernels come from there. An image is named by what it was compiled
from: the text, the stages (which name the chip and every option) and the size of a block. It is a
text file, PTX below a line of its own with a digest, so that what was damaged on the way is not run.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from mytriton.plugin_api import MytritonError, Source

from . import toolchain
from .stages import Stage, gpu_to_cubin_stages

VARIABLE = "MYTRITON_MLIR_IMAGES"
#: Changes when the toolchain makes something else of equal text and stages.
_FORMAT = "1"
_HEAD = re.compile(rb"// mytriton image of (\S+) for (\S+), sha256 ([0-9a-f]{64})\n")


class MissingImageError(MytritonError, ImportError):
    """There are no bindings to compile a kernel with, and it was not compiled beforehand."""


def folder() -> Path | None:
    """The folder that the variable names, or ``None``."""
    named = os.environ.get(VARIABLE, "")
    return Path(named) if named else None


def usable() -> bool:
    """Whether there are images here."""
    here = folder()
    return here is not None and next(here.glob("*/*.ptx"), None) is not None


def name_of(source: Source, stages: Sequence[Stage]) -> str:
    """What the image of a kernel is called."""
    parts = [_FORMAT, str(source.resources.get("threads", 0)), source.text]
    parts += [f"{name} {pipeline}" for name, pipeline in stages]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def path_of(name: str, root: Path) -> Path:
    """Where an image of that name is kept."""
    return root / name[:2] / f"{name}.ptx"


def keep(source: Source, chip: str, image: bytes) -> None:
    """Write an image to the folder, if one is named. Raises ``OSError`` when the disk refuses:
    whoever set the variable wants the image."""
    root = folder()
    if root is None:
        return
    path = path_of(name_of(source, gpu_to_cubin_stages(chip=chip, output="isa")), root)
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(image).hexdigest()
    head = f"// mytriton image of {source.entry} for {chip}, sha256 {digest}\n".encode()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head + image)
        os.chmod(temporary, 0o644)  # to be read by others, unlike what mkstemp makes
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def carried(source: Source, chips: Sequence[str]) -> tuple[bytes, str]:
    """The image for the first of ``chips`` that there is one for, and that chip.

    Raises ``MissingImageError``, saying what to install or to build.
    """
    root = folder()
    if root is not None:
        for path, chip in _paths(source, chips, root):
            if (image := _read(path)) is not None:
                return image, chip
    reason = toolchain.missing() or "the Python bindings of MLIR cannot be imported"
    raise MissingImageError(_nothing(source.entry, chips, root, reason))


def _paths(source: Source, chips: Sequence[str], root: Path) -> Iterator[tuple[Path, str]]:
    for chip in chips:
        name = name_of(source, gpu_to_cubin_stages(chip=chip, output="isa"))
        yield path_of(name, root), chip


def _read(path: Path) -> bytes | None:
    """An image, or ``None`` where there is none that is whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head = _HEAD.match(data)
    image = data[head.end() :] if head else b""
    whole = head is not None and hashlib.sha256(image).hexdigest().encode() == head[3]
    return image if whole else None


def _nothing(entry: str, chips: Sequence[str], root: Path | None, reason: str) -> str:
    if root is None:
        return f"{reason}. Install them: {toolchain.INSTALL}"
    there = "" if root.is_dir() else " (there is no such folder)"
    return (
        f"{reason}, and {VARIABLE}={root}{there} has no image of this {entry!r} for {chips[0]}."
        f" Launch or compile it once where the bindings are, with {VARIABLE} set and"
        f" MYTRITON_MLIR_CHIP={chips[0]}, and carry the folder here; or {toolchain.INSTALL}"
    )
