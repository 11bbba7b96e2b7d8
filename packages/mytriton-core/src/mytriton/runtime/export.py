"""``kernel.export``: a kernel compiled ahead of time, as files another program can use."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..ir.types import is_pointer
from ..plugins import selection
from ..plugins.stages import STAGES
from ..plugins.types import LaunchSpec, Source
from . import launch
from .grid_rule import grid_rule
from .interface import backend_text

if TYPE_CHECKING:
    from .jit import JITFunction

#: Facts about compiled code that go into the manifest.
_FACTS = ("arch", "chip", "target", "cpu", "threads", "shared_bytes", "registers")


@dataclass(frozen=True)
class Exported:
    """What ``kernel.export`` wrote. ``files``: by what they are (``"source"``, ``"ptx"``, ``"obj"``,
    ``"manifest"``)."""

    folder: Path
    files: Mapping[str, Path]
    manifest: Mapping[str, Any]


def export(
    kernel: JITFunction, folder: str | Path, backend: str, grid: Any, arguments: Mapping[str, Any]
) -> Exported:
    """See ``JITFunction.export``."""
    function, spec = launch.specialise(kernel, arguments)
    rule = grid_rule(grid, spec)
    chosen = selection.choose(
        function, spec, explicit=backend_text(backend), kernel=kernel.__name__, emit=True
    ).backend
    _, source = launch.lowered(chosen, function, spec)
    metadata, code = _compiled(chosen, source, spec)
    target, name = _folder(folder), kernel.__name__
    files = {"source": target / f"{name}{chosen.info.suffix}"}
    files["source"].write_text(source.text, encoding="utf-8")
    for stage, data in code.items():
        files[stage] = target / f"{name}{STAGES[stage].suffix}"
        files[stage].write_bytes(data.encode() if isinstance(data, str) else data)
    files["manifest"] = target / f"{name}.json"
    manifest = _manifest(kernel, chosen, source, spec, metadata, rule)
    manifest["files"] = {k: path.name for k, path in files.items() if k != "manifest"}
    files["manifest"].write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return Exported(target, files, manifest)


def _folder(path: str | Path) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"an export is written into a folder, got {path!r}")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArgumentError(f"cannot export into {str(path)!r}: {error.strerror}") from None
    return Path(path)


def _compiled(
    backend: Any, source: Source, spec: LaunchSpec
) -> tuple[Mapping[str, Any], dict[str, str | bytes]]:
    """Facts and code; a compiler that is missing here leaves the text, with a warning."""
    if source.language == "SSA":
        return {}, {}
    try:
        metadata = getattr(backend.compile(source, spec), "metadata", {})
        stages = metadata.get("asm", {})
        return metadata, {n: stages[n] for n, s in STAGES.items() if s.loadable and n in stages}
    except Exception as error:
        lines = str(error).splitlines() or [type(error).__name__]
        text = f"{backend.name} could not compile here, so that only text is exported: {lines[0]}"
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        return {}, {}


def _manifest(
    kernel: JITFunction, backend: Any, source: Source, spec: LaunchSpec,
    metadata: Mapping[str, Any], rule: Sequence[int | str] | None,
) -> dict[str, Any]:  # fmt: skip
    from .. import __version__

    resources = source.resources
    facts = {k: v for k in _FACTS if (v := metadata.get(k, resources.get(k))) is not None}
    return {
        "mytriton": __version__,
        "kernel": kernel.__name__,
        "backend": backend.name,
        "language": source.language,
        "entry": source.entry,
        "arguments": [
            {
                "name": a.name,
                "kind": "array" if is_pointer(a.type) else "scalar",
                "type": str(a.type),
            }
            for a in spec.arguments
        ],
        "constants": {name: _plain(value) for name, value in spec.constexprs.items()},
        "options": {name: _plain(value) for name, value in spec.options.items()},
        "grid": None if rule is None else list(rule),
        "calling": resources.get("calling", ""),
        **facts,
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)
