"""The link to ``mytriton_testkit.fuzz``: random programs as part of a run, and replay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import NotAvailableError, UsageError
from .target import register_plugin

if TYPE_CHECKING:
    from .job import Setup

#: Programs of one worker: what a crash costs, and what is between two looks at the clock.
BATCH = 50


@dataclass(frozen=True)
class FuzzJob:
    """Some programs for a worker."""

    backend: str
    programs: int
    seed: int
    folder: str


def perform_fuzz(job: FuzzJob) -> dict[str, Any]:
    """In the worker: run the programs."""
    from ..fuzz import run_fuzz

    report = run_fuzz(job.backend, job.programs, job.seed, folder=Path(job.folder))
    failures = [f"{f.kind}: {f.message} ({f.path})"[:2000] for f in report.failures]
    return {"programs": report.programs, "failures": failures}


def fuzz(setup: Setup, programs: int, seed: int, folder: str, timeout: float) -> dict[str, Any]:
    """Run random programs in a worker; what the report says about them. Batch ``k`` of 50 has the
    seed ``seed + k``; a batch that ends its worker is one failure."""
    from .pool import Worker

    worker = Worker(setup)
    done, failures = 0, []
    try:
        for number, first in enumerate(range(0, programs, BATCH)):
            job = FuzzJob(setup.backend, min(BATCH, programs - first), seed + number, folder)
            result = worker.ask(job, timeout * job.programs)
            if result.end:
                text = f"{result.end}: {result.message} ({job.programs} programs, seed {job.seed})"
                failures.append(text)
                worker = Worker(setup)
                continue
            done += result.answer["programs"]
            failures += result.answer["failures"]
    finally:
        worker.close()
    return {"programs": done, "seed": seed, "failures": failures}


def replay(path: str, backend: str, plugin: str) -> int:
    """Run a saved program again; 0 when it is right now."""
    from mytriton.plugins.errors import MytritonBackendError

    from ..fuzz import replay as again

    register_plugin(backend, plugin)
    try:
        failure = again(path, backend)
    except MytritonBackendError as e:
        raise NotAvailableError(str(e)) from e
    except KeyError as e:
        raise UsageError(f"cannot replay {path}: it has no {e}") from e
    except (OSError, ValueError) as e:
        raise UsageError(f"cannot replay {path}: {e}") from e
    if failure is None:
        print("right: the program no longer fails")
        return 0
    print(f"{failure.kind}: {failure.message}")
    return 1
