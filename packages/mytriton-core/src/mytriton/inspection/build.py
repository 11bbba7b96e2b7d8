"""From a kernel and arguments to an ``Inspection``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ..frontend.source import KernelSource
from ..ir.values import SSAFunction
from ..plugins import selection, sources
from ..plugins.errors import (
    BackendDeclinedError,
    BackendUnavailableError,
    NoBackendClaimedError,
)
from ..plugins.stages import stage_of
from ..plugins.types import LINE_INFO, ArgSpec, BackendInfo, LaunchSpec, Source
from ..runtime import launch
from ..runtime.compiler import Request, compile_ssa
from ..runtime.spread import spread
from .compiled import compiled_stage
from .model import Inspection, Stage
from .stages import (
    Passes,
    facts_stage,
    source_stage,
    ssa_lines,
    text_stage,
    tree_stage,
)

if TYPE_CHECKING:
    from ..runtime.jit import JITFunction

_DIVISIBLE = 16
#: What keeps a backend from compiling a kernel: the stages before it are shown nevertheless.
_CANNOT = (BackendDeclinedError, BackendUnavailableError, NoBackendClaimedError)
#: Figures of compiled code, as people call them.
_FIGURES = {
    "registers": "registers a thread", "spill_bytes": "bytes spilled", "shared_bytes": "shared bytes",
    "threads": "threads a program", "vector_bits": "bits a vector", "code_bytes": "bytes of code",
}  # fmt: skip


def inspect(
    kernel: JITFunction, args: Any, kwargs: Mapping[str, Any], grid: Any, backend: str | None
) -> Inspection:
    """Compile ``kernel`` for arguments (real ones, or descriptions such as ``"f32[1000]"``) and keep
    every stage. Nothing is launched."""
    kernel, args, kwargs = spread(kernel, args, kwargs)
    request, spec = launch.describe(kernel, args, kwargs, grid)
    stages = front_stages(kernel.source, request, spec.arguments)
    function = stages.function
    filename = kernel.source.filename
    more, resources, notes, name = _backend(kernel, function, spec, backend, filename)
    return Inspection(
        kernel.__name__, filename, name, (*stages.stages, *more), resources, tuple(notes)
    )


@dataclass
class Front:
    """The stages every backend shares, and the SSA they end in."""

    stages: tuple[Stage, ...]
    function: SSAFunction


def front_stages(source: KernelSource, request: Request, specs: Sequence[ArgSpec]) -> Front:
    """Source, expression tree, SSA before and after each pass, analysis facts."""
    filename = source.filename
    passes = Passes(filename)
    compiled = compile_ssa(source, request, passes)
    divisible = {s.name: _DIVISIBLE for s in specs if s.divisible_by_16}
    stages = (
        source_stage(source),
        tree_stage(compiled.ops, filename),
        _ssa("ssa", "SSA as lowered", compiled.unoptimised, filename),
        *passes.stages,
        _ssa("optimised", "Optimised SSA", compiled.function, filename),
        facts_stage(compiled.function, filename, divisible),
    )
    return Front(stages, compiled.function)


def _ssa(name: str, title: str, function: SSAFunction, filename: str) -> Stage:
    return Stage(name, title, "SSA", ssa_lines(function, filename), suffix=".ssa")


def _backend(
    kernel: Any, function: Any, spec: LaunchSpec, backend: str | None, filename: str
) -> tuple[list[Stage], dict[str, Any], list[str], str]:
    """What the chosen backend makes of the kernel, as far as it gets."""
    try:
        chosen = _chosen(kernel, function, spec, backend)
    except _CANNOT as error:
        return [], {}, [_stops("SSA", error)], error.backend or backend or "no backend"
    spec = replace(spec, options={**spec.options, LINE_INFO: True})
    try:
        _, source = launch.lowered(chosen, function, spec)
    except Exception as error:
        return [], {}, [_stops("SSA", error)], chosen.name
    notes: list[str] = []
    metadata: Mapping[str, Any] = {}
    try:
        metadata = getattr(chosen.compile(source, spec), "metadata", {})
    except Exception as error:
        notes.append(_stops(source.language, error))
    stages, resources, failed = back_stages(chosen.info, source, metadata, function, filename)
    return stages, resources, notes + failed, chosen.name


def _chosen(kernel: Any, function: Any, spec: LaunchSpec, backend: str | None) -> Any:
    """The backend that was named alone, else the one that would launch, else one that has a text."""
    choose = partial(
        selection.choose, function, spec, explicit=backend, decorator=kernel.backend,
        kernel=kernel.__name__,
    )  # fmt: skip
    if len(sources.requested(backend, kernel.backend)[0]) != 1:
        try:
            return choose().backend
        except NoBackendClaimedError:
            pass
    return choose(emit=True).backend


def _stops(where: str, error: Exception) -> str:
    lines = str(error).splitlines() or [type(error).__name__]
    return f"stops at {where}: {lines[0]}"


def back_stages(
    info: BackendInfo,
    source: Source,
    metadata: Mapping[str, Any],
    function: SSAFunction,
    filename: str,
) -> tuple[list[Stage], dict[str, Any], list[str]]:
    """What a backend lowered to and compiled, its figures, and why stages are missing."""
    stages: list[Stage] = []
    notes: list[str] = []
    lowered = None
    if source.language != "SSA":  # that is the stage before
        lowered = text_stage(info, source, function, filename)
        stages.append(lowered)
    figures = {word: metadata[k] for k, word in _FIGURES.items() if metadata.get(k) is not None}
    compiled = metadata.get("asm", {})
    for name in (each for each in compiled if not stage_of(each).image):
        try:
            text = compiled[name]
        except Exception as error:  # made when it is asked for, by the backend's compiler
            notes.append(_stops(name, error))
            continue
        if isinstance(text, str):
            stages.append(compiled_stage(name, text, lowered))
    return stages, figures, notes
