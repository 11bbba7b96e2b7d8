"""The link to ``mytriton_testkit.fuzz``: random programs as part of a run, and replay."""

from __future__ import annotations

from typing import Any

from .errors import SuiteError, UsageError
from .target import register_plugin


def fuzz(engine: Any, programs: int, seed: int) -> dict[str, Any]:
    """Run random programs; what the report says about them."""
    try:
        from ..fuzz import run_fuzz
    except ImportError as e:
        raise SuiteError(f"the fuzzer cannot be imported: {e}") from e
    result = run_fuzz(engine.target.name, programs, seed)
    failures = [str(getattr(f, "path", f)) for f in getattr(result, "failures", [])]
    return {"programs": programs, "seed": seed, "failures": failures}


def replay(path: str, backend: str, plugin: str) -> int:
    """Run a saved program again; 0 when it is right now."""
    from .. import fuzz as package

    register_plugin(backend, plugin)
    run = getattr(package, "replay", None)
    if run is None:
        raise SuiteError("this testkit cannot replay programs")
    try:
        result = run(path, **({"backend": backend} if backend else {}))
    except OSError as e:
        raise UsageError(f"cannot read {path}: {e}") from e
    print(result)
    return 0 if getattr(result, "ok", result is None) else 1
