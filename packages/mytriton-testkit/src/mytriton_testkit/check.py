"""``check_backend()``: the suite from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .suite.report import CaseResult, Report


def check_backend(
    name: str,
    *,
    level: str = "",
    stage: str = "",
    edition: str = "",
    profile: str | Path = "",
    select: str | Sequence[str] = (),
    workers: int = 0,
    timeout: float = 30.0,
    in_process: bool = False,
    plugin: str | ModuleType = "",
    case_modules: Sequence[str] = (),
    allow_interpreter: bool = False,
    progress: Callable[[CaseResult, int], Any] | None = None,
) -> Report:
    """Run the conformance suite against a backend; see ``mytriton-conformance --help``.

    ``plugin`` is an importable module to register under ``name`` in every process, for a backend
    that is not installed. ``case_modules`` replace the suite's own cases (each has ``cases()``).
    ``allow_interpreter`` switches the guard against fallback off; it is for testing the suite.
    Raises ``ConformanceError`` when there is nothing to report: ``exit_code`` says of which kind.
    """
    from .suite.runner import Settings, run

    chosen = (select,) if isinstance(select, str) else tuple(select)
    module = plugin if isinstance(plugin, str) else plugin.__name__
    settings = Settings(
        name, level, stage, edition, str(profile), chosen, workers, timeout, in_process, False,
        module, tuple(case_modules), allow_interpreter=allow_interpreter,
    )  # fmt: skip
    return run(settings, progress)
