"""``MYTRITON_DUMP=folder``: every stage of every kernel that is compiled, as files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..plugins.manager import warn_once
from ..plugins.stages import stage_of
from .build import back_stages, front_stages
from .model import Stage

if TYPE_CHECKING:
    from ..runtime.specialisation import Specialisation


def dump(made: Specialisation, folder: str) -> Path | None:
    """Write the stages of a compiled variant below ``folder`` and return where: a folder named after
    the kernel, the backend and a digest of the SSA, the same in every process. A disk that refuses is
    a warning."""
    compiled = made.compiled
    front = front_stages(compiled.source, compiled.request, made.spec.arguments)
    metadata = getattr(made.artifact, "metadata", {})
    filename = compiled.source.filename
    back, *_ = back_stages(made.backend.info, made.source, metadata, made.function, filename)
    digest = hashlib.sha256(f"{made.function}\\n{made.spec.options}".encode()).hexdigest()[:12]
    target = Path(folder) / f"{made.kernel.__name__}-{made.backend.name}-{digest}"
    try:
        target.mkdir(parents=True, exist_ok=True)
        for number, stage in enumerate([*front.stages, *back]):
            _write(target / f"{number:02d}-{_file(stage)}", stage)
        _images(target, len(front.stages) + len(back), metadata)
    except OSError as error:
        warn_once(("dump", folder), f"MYTRITON_DUMP={folder}: {error}", RuntimeWarning)
        return None
    return target


def _file(stage: Stage) -> str:
    return stage.name.replace("/", "-") + stage.suffix


def _write(path: Path, stage: Stage) -> None:
    if stage.kind == "diff":
        text = "".join(f"{line.mark} {line.text}\n" for line in stage.lines)
    else:
        text = stage.text
    path.write_text(text, encoding="utf-8")


def _images(target: Path, number: int, metadata: Any) -> None:
    stages = metadata.get("asm", {})
    for name in stages:
        try:
            image = stages[name]
        except Exception:  # made when asked for: a launch must not fail for a dump
            continue
        if isinstance(image, bytes):
            (target / f"{number:02d}-{name}{stage_of(name).suffix}").write_bytes(image)
            number += 1
