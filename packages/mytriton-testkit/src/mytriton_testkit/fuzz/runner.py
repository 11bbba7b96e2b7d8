"""Running random programs against a backend, and replaying what failed."""

from __future__ import annotations

import json
import platform
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from mytriton.interpreter.machine import run
from mytriton.ir.parser import parse
from mytriton.plugins import selection
from mytriton.plugins.errors import BackendDeclinedError
from mytriton.transforms.passes import optimise, run_pass
from mytriton.verify import verify

from ..cases.lint import same_bits
from .generate import OPTIONAL, make_program
from .program import Program
from .reference import Unsupported, disagreement, evaluate
from .shrink import shrink as shrink_program

#: One program in this many uses a feature the backend does not declare.
UNDECLARED_EVERY = 10


@dataclass(frozen=True)
class FuzzFailure:
    """One program that went wrong. ``kind``: ``text``, ``optimiser``, ``reference``, ``mismatch``,
    ``unstable``, ``error``, ``not-declined`` or ``bad-decline``."""

    kind: str
    message: str
    program: Program
    backend: str
    #: The repro file, when one was written.
    path: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """What a repro file holds."""
        about = {"backend": self.backend, "kind": self.kind, "message": self.message[:2000]}
        return {**self.program.to_json(), **about, "versions": versions()}

    def write(self, folder: Path) -> FuzzFailure:
        """The failure with a repro file in ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"repro-{self.backend}-{self.program.seed}-{self.kind}.json"
        path.write_text(json.dumps(self.to_json(), indent=1) + "\n", encoding="utf-8")
        return replace(self, path=path)


@dataclass
class FuzzReport:
    """What a run found."""

    backend: str
    seed: int
    programs: int = 0
    #: Programs with a feature the backend lacks, all of them declined.
    declined: int = 0
    #: Programs run through the backend (not only compiled).
    launched: int = 0
    seconds: float = 0.0
    failures: list[FuzzFailure] = field(default_factory=list)
    #: Programs that needed each feature.
    features: Counter[str] = field(default_factory=Counter)
    out_of_time: bool = False

    @property
    def ok(self) -> bool:
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports."""
        return {
            "backend": self.backend, "seed": self.seed, "programs": self.programs,
            "declined": self.declined, "launched": self.launched, "seconds": round(self.seconds, 3),
            "out_of_time": self.out_of_time, "features": dict(sorted(self.features.items())),
            "failures": [failure.to_json() for failure in self.failures],
        }  # fmt: skip


def versions() -> dict[str, str]:
    """Versions that matter for a repro."""
    found = {"python": platform.python_version(), "numpy": np.__version__}
    for name in ("mytriton-core", "mytriton-testkit"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


class _Failed(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class _Checker:
    """Checks programs against one backend."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.backend = selection.named(name)
        self.launches = self.backend.availability.can_launch
        self._declared: dict[str, bool] = {}

    def declares(self, feature: str) -> bool:
        if feature not in self._declared:  # the generator asks often, and tables may be slow
            known = self.backend.info.capabilities.get(feature)
            self._declared[feature] = known is not None and known.state == "yes"
        return self._declared[feature]

    def check(self, program: Program) -> None:
        """Raises ``_Failed``."""
        if program.undeclared:
            self._declined(program)
            return
        expected, optimised = self._oracle(program)
        try:
            source = self.backend.lower(optimised, program.launch_spec())
            artifact = (
                self.backend.compile(source, program.launch_spec()) if self.launches else None
            )
        except Exception as error:
            raise _Failed("error", f"{type(error).__name__}: {error}") from error
        if artifact is not None:
            self._compare(program, expected, artifact)

    def _oracle(self, program: Program) -> tuple[Any, Any]:
        function = program.function
        verify(function)
        if parse(str(function)) != function:
            raise _Failed("text", "the printed module parses to another function")
        plain = program.arguments()
        run(function, program.launch_values(plain), program.grid)
        try:
            expected = evaluate(function, program.arguments(), program.grid)
        except Unsupported as reason:
            raise _Failed("reference", f"unsupported: {reason}") from reason
        for name, memory in expected.items():
            if where := disagreement(memory, plain[name]):
                raise _Failed("reference", f"interpreter and reference differ: {name}{where}")
        spec = program.launch_spec()
        optimised = optimise(function, 1)
        for one in self.backend.passes(optimised, spec):
            optimised = run_pass(one, optimised)
        after = program.arguments()
        run(optimised, program.launch_values(after), program.grid)
        for name in expected:
            if not _same(plain[name], after[name]):
                raise _Failed("optimiser", f"the optimised program stores something else to {name}")
        return expected, optimised

    def _compare(self, program: Program, expected: Any, artifact: Any) -> None:
        results = []
        for _ in range(2):
            arguments = program.arguments()
            try:
                artifact.launch(program.grid, program.launch_values(arguments))
            except Exception as error:
                raise _Failed("error", f"{type(error).__name__}: {error}") from error
            results.append(arguments)
        for name, memory in expected.items():
            if where := disagreement(memory, results[0][name]):
                raise _Failed("mismatch", f"{name}{where}")
            if not same_bits(results[0][name], results[1][name]):
                raise _Failed("unstable", f"two launches differ in {name}")

    def _declined(self, program: Program) -> None:
        optimised = optimise(program.function, 1)
        if program.undeclared not in optimised.features():
            return
        try:
            selection.choose(optimised, program.launch_spec(), explicit=self.name)
        except BackendDeclinedError as error:
            if program.undeclared not in str(error):
                text = f"declined without naming {program.undeclared}: {error}"
                raise _Failed("bad-decline", text) from error
        except Exception as error:
            raise _Failed("bad-decline", f"{type(error).__name__}: {error}") from error
        else:
            raise _Failed("not-declined", f"{program.undeclared} is not declared but was accepted")


def _same(a: Any, b: Any) -> bool:
    """Equal bits, any NaN being as good as another."""
    if same_bits(a, b):
        return True
    with np.errstate(all="ignore"):
        one, two = (np.asarray(x).reshape(-1) for x in (a, b))
        odd = (one != one) & (two != two)
    return same_bits(one[~odd], two[~odd])


def _failure(checker: _Checker, program: Program) -> FuzzFailure | None:
    try:
        checker.check(program)
    except _Failed as failed:
        return FuzzFailure(failed.kind, str(failed), program, checker.name)
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        return FuzzFailure("error", message, program, checker.name)
    return None


def run_fuzz(
    backend: str,
    n: int = 200,
    seed: int = 0,
    *,
    time_budget: float | None = None,
    shrink: bool = True,
    folder: Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> FuzzReport:
    """Run ``n`` random programs of ``seed`` on ``backend``; stops after ``time_budget`` seconds.

    ``folder`` receives a repro file for each failure, ``progress`` the number of programs done.
    Raises what ``selection.named`` raises for a backend that cannot be had.
    """
    started = time.perf_counter()
    checker = _Checker(backend)
    report = FuzzReport(checker.name, seed)
    undeclared = [name for name in OPTIONAL if not checker.declares(name)]
    for k in range(n):
        if time_budget is not None and time.perf_counter() - started > time_budget:
            report.out_of_time = True
            break
        wanted = undeclared[k % len(undeclared)] if undeclared and k % UNDECLARED_EVERY == 9 else ""
        program = _program(seed * 1_000_003 + k, checker.declares, wanted)
        if program is None:
            continue
        report.programs += 1
        report.features.update(program.function.features())
        failure = _failure(checker, program)
        if failure is not None:
            report.failures.append(_finished(checker, failure, shrink, folder))
        else:
            report.declined += bool(program.undeclared)
            report.launched += checker.launches and not program.undeclared
        if progress is not None:
            progress(k + 1)
    report.seconds = time.perf_counter() - started
    return report


def _program(seed: int, declares: Callable[[str], bool], wanted: str) -> Program | None:
    for attempt in range(20):
        program = make_program(seed + attempt * 7_919_000_003, declares, wanted)
        if program is not None:
            return program
    return None


def _finished(
    checker: _Checker, failure: FuzzFailure, shrink: bool, folder: Path | None
) -> FuzzFailure:
    if shrink:

        def fails(candidate: Program) -> bool:
            again = _failure(checker, candidate)
            return again is not None and again.kind == failure.kind

        small = _failure(checker, shrink_program(failure.program, fails))
        failure = small if small is not None and small.kind == failure.kind else failure
    if folder is None:
        return failure
    try:
        return failure.write(folder)
    except OSError as e:  # what was found is worth more than its file
        return replace(failure, message=f"{failure.message} (not saved: {e})")


def replay(path: str | Path, backend: str = "") -> FuzzFailure | None:
    """Run the program of a repro file once more, on ``backend`` or the one it failed on.

    Returns the failure, or ``None`` when all is well now. Raises ``ValueError`` for another file.
    """
    record: Mapping[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    try:
        program = Program.from_json(record)
    except (AttributeError, TypeError) as e:
        raise ValueError(f"its program is malformed: {e}") from e
    return _failure(_Checker(backend or record["backend"]), program)
