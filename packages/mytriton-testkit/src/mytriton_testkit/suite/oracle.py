"""What a case must give: the interpreter on unoptimised SSA, checked against the case's own float64
expression. Runs in the parent process, where nothing is poisoned."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ..case import Case
from .compare import compare, slack_of
from .errors import SuiteError
from .memory import guard

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LaunchOf:
    """One launch: the arguments of a case, drawn with a seed. ``fence``: see ``memory``."""

    case: str
    seed: int = 0
    fence: bool = False


@dataclass
class Reference:
    """The outputs a launch must leave, and how far they may be off."""

    expected: Mapping[str, Any]
    oracle: dict[str, Array]
    #: Names of the arrays nobody may store to.
    inputs: tuple[str, ...]
    slack: dict[str, Any]


def arguments_of(case: Case, seed: int) -> dict[str, Any]:
    """The arguments of a case; equal for equal seeds in any process."""
    return dict(case.arguments(np.random.default_rng([zlib.crc32(case.id.encode()), seed])))


def copied(arguments: dict[str, Any]) -> dict[str, Any]:
    """A copy in which arrays that share memory still do."""
    return guard(arguments)[0]


def compiled_of(case: Case, arguments: Mapping[str, Any]) -> Any:
    """The stages of the kernel, source to optimised SSA."""
    args, rest = call_of(case, arguments)
    return case.kernel.compile(*args, **rest)


def call_of(case: Case, arguments: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The arguments as a call has them: by position where that is possible, for a parameter may
    have any name (``self``)."""
    rest = {**arguments, **case.options}
    args = []
    for parameter in case.kernel.binder.signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY or parameter.name not in arguments:
            break
        args.append(rest.pop(parameter.name))
    return args, rest


def passed(case: Case, arguments: Mapping[str, Any]) -> list[str]:
    """The arguments a compiled kernel gets: what is None is known when it is compiled."""
    return [name for name in case.kernel.binder.runtime if arguments[name] is not None]


def core_needs_of(case: Case, compiled: Any, arguments: Mapping[str, Any]) -> frozenset[str]:
    """The feature ids that core computes: from the kernel, and from where the arrays are."""
    from mytriton.plugins.claims import launch_features
    from mytriton.plugins.types import LaunchSpec
    from mytriton.runtime.arguments import described

    specs = tuple(described(name, arguments[name]) for name in passed(case, arguments))
    return frozenset(compiled.function.features()) | launch_features(LaunchSpec(specs))


def run_oracle(
    case: Case, arguments: Mapping[str, Any], function: Any, *, sanitize: bool = False
) -> None:
    """Run the reference interpreter on ``arguments``, in place."""
    from mytriton.interpreter.machine import run
    from mytriton.runtime.arguments import launch_value
    from mytriton.runtime.grid import normalise

    run(
        function,
        [launch_value(arguments[name]) for name in passed(case, arguments)],
        normalise(case.grid),
        sanitize=sanitize,
    )


class Oracle:
    """References of launches, computed once each."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self._cases = {case.id: case for case in cases}
        self._compiled: dict[str, Any] = {}
        self._plans: dict[str, Any] = {}
        self.reference = lru_cache(maxsize=64)(self._reference)

    def before(self, launch: LaunchOf) -> dict[str, Any]:
        """The arguments of a launch as they were."""
        return arguments_of(self._cases[launch.case], launch.seed)

    def compiled(self, case: Case) -> Any:
        """Compilation of the kernel for the arguments of a case."""
        if case.id not in self._compiled:
            self._compiled[case.id] = compiled_of(case, arguments_of(case, 0))
        return self._compiled[case.id]

    def _plan(self, case: Case) -> Any:
        from mytriton.interpreter.plan import make_plan

        if case.id not in self._plans:
            self._plans[case.id] = make_plan(self.compiled(case).unoptimised)
        return self._plans[case.id]

    def _reference(self, launch: LaunchOf) -> Reference:
        """Raises ``SuiteError`` when the interpreter and the case's own expression disagree."""
        case = self._cases[launch.case]
        arguments = arguments_of(case, launch.seed)
        try:
            expected = case.expected(copied(arguments))
            run = copied(arguments)
            run_oracle(case, run, self._plan(case))
            slack = _slack(case, arguments, expected)
        except Exception as e:
            raise SuiteError(f"{case.id}: the oracle raised {type(e).__name__}: {e}") from e
        problems = []
        for name, value in run.items():
            if not isinstance(value, np.ndarray):
                continue
            if name not in expected:
                if value.tobytes() != arguments[name].tobytes():
                    problems.append(f"the kernel stores to {name}, which 'expected' leaves out")
                continue
            if (shape := np.shape(expected[name])) not in ((), value.shape):
                problems.append(f"'expected' gives {name} the shape {shape}, not {value.shape}")
                continue
            limit = slack.get(name, 0.0)
            found = compare(name, value, expected[name], ulp=case.tolerance.ulp, slack=limit)
            if found.message:
                problems.append(f"interpreter and 'expected' disagree: {found.message}")
        if problems:
            raise SuiteError(f"{case.id} (seed {launch.seed}): {'; '.join(problems)}")
        arrays = {n: v for n, v in run.items() if isinstance(v, np.ndarray)}
        inputs = tuple(n for n in arrays if n not in expected)
        return Reference(expected, arrays, inputs, slack)


def _slack(case: Case, arguments: dict[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    if case.tolerance.scale_by != "terms":
        return {}
    sizes = expected if case.magnitude is None else case.magnitude(copied(arguments))
    return {n: slack_of(case, sizes[n], arguments[n].dtype) for n in expected if n in sizes}
