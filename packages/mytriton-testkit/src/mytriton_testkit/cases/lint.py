"""Case lint: every case is a defined program whose result depends on nothing but its arguments.

``problems(case)`` runs a case on the interpreter in four ways: plainly, optimised, under the strict
checks (bounds, ``empty`` contents, conflicting writes), and with the programs in reverse order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mytriton.errors import SanitizerError
from mytriton.interpreter.machine import Machine, run
from mytriton.interpreter.plan import make_plan
from mytriton.ir.features import features
from mytriton.ir.values import SSAFunction
from mytriton.runtime.arguments import launch_value
from mytriton.runtime.grid import normalise

from ..case import EDITIONS, LEVELS, TOLERANCES, Arguments, Case
from .compare import magnitudes, worst

#: What a backend must be able to do for level ``core``.
CORE_FEATURES = frozenset(
    [
        "control.for", "dtype.bool", "dtype.f32", "dtype.i32", "op.add", "op.addptr", "op.and",
        "op.arange", "op.cast", "op.cmp_lt", "op.div", "op.exp", "op.load", "op.maximum",
        "op.minimum", "op.mul", "op.neg", "op.program_id", "op.select", "op.store", "op.sub",
    ]
)  # fmt: skip
#: Widest block of a ``core`` case: one thread each must do.
CORE_BLOCK = 1024
#: Backends that no case may know about.
BACKEND_NAMES = ("cuda", "mlir", "interpreter", "nvrtc", "llvm", "hip", "metal", "emulator")
_ID = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*(\[[\w=.,+-]+\])?")


def make_arguments(case: Case, seed: int = 0) -> Arguments:
    """The arguments of a case, of one seed."""
    return case.arguments(np.random.default_rng(seed))


def copied(arguments: Arguments) -> Arguments:
    """A deep copy in which arrays that share memory still do, with their strides and offsets."""
    memo: dict[int, Any] = {}
    return {name: _copied(value, memo) for name, value in arguments.items()}


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    if not isinstance(value, np.ndarray):
        return list(value) if isinstance(value, list) else value
    if id(value) in memo:
        return memo[id(value)]
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    if base is value:
        memo[id(value)] = value.copy(order="K")
        return memo[id(value)]
    twin = _copied(base, memo)
    offset = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    found: np.ndarray[Any, Any] = np.ndarray(value.shape, value.dtype, twin, offset, value.strides)
    memo[id(value)] = found
    return found


def compiled(case: Case, arguments: Arguments) -> Any:
    """The stages of the case's kernel for its arguments."""
    return case.kernel.compile(**arguments)


def execute(case: Case, function: SSAFunction, arguments: Arguments, how: str = "plain") -> None:
    """Run ``function`` on the interpreter: ``plain``, ``strict`` or ``reversed``."""
    values = [launch_value(arguments[param.name]) for param in function.params]
    grid = normalise(case.grid)
    if how != "reversed":
        run(function, values, grid, sanitize=how == "strict")
        return
    machine = Machine(make_plan(function), values, grid)
    with np.errstate(all="ignore"):
        for program in reversed(range(machine.total)):
            machine.run_range(program, program + 1)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arguments are the same, bit for bit."""
    if not isinstance(a, np.ndarray):
        return bool(a is b or a == b or (a != a and b != b))
    return (
        a.shape == b.shape
        and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
    )


def static_problems(case: Case) -> list[str]:
    """What is wrong with the declaration of a case."""
    found = []
    if not _ID.fullmatch(case.id):
        found.append("the id is no dotted path with axes in brackets")
    text = f"{case.id} {case.note} {' '.join(case.features)}".lower()
    found += [f"it mentions {name!r}" for name in BACKEND_NAMES if re.search(rf"\b{name}\b", text)]
    if case.level not in LEVELS or case.edition not in EDITIONS:
        found.append(f"unknown level {case.level!r} or edition {case.edition!r}")
    if TOLERANCES.get(case.tolerance.name) != case.tolerance:
        found.append(f"tolerance {case.tolerance.name!r} is no class of its own")
    if not 1 <= len(case.grid) <= 3:
        found.append(f"grid {case.grid}")
    return found


def level_problems(case: Case, function: SSAFunction) -> list[str]:
    """A core case needs core features and narrow blocks only."""
    if case.level != "core":
        return []
    from mytriton.plugins.claims import largest_block

    found = [f"core case needs {name}" for name in sorted(features(function) - CORE_FEATURES)]
    if largest_block(function) > CORE_BLOCK:
        found.append(f"core case with a block of {largest_block(function)} elements")
    return found


def problems(case: Case, seed: int = 0) -> list[str]:
    """Everything that is wrong with a case; empty when it is fit for the suite."""
    found = static_problems(case)
    arguments = make_arguments(case, seed)
    stages = compiled(case, arguments)
    found += level_problems(case, stages.unoptimised)
    size = magnitudes(case, copied(arguments))
    wanted = case.expected(copied(arguments))
    results: dict[str, Arguments] = {}
    for name, function, how in (
        ("unoptimised", stages.unoptimised, "plain"),
        ("optimised", stages.function, "plain"),
        ("reversed", stages.unoptimised, "reversed"),
        ("strict", stages.unoptimised, "strict"),
    ):
        results[name] = copied(arguments)
        try:
            execute(case, function, results[name], how)
        except SanitizerError as error:
            found.append(f"strict checks: {error}")
            results.pop(name)
    plain = results["unoptimised"]
    for name, other in results.items():
        for key, value in plain.items():
            if not same_bits(value, other[key]):
                found.append(f"{name} run differs from the plain one in {key}")
    off = worst(case, plain, wanted, size)
    if off.ratio > 1:
        found.append(f"interpreter and NumPy differ: {off}")
    untouched = [k for k, v in arguments.items() if isinstance(v, np.ndarray) and k not in wanted]
    found += [
        f"{k} is written but not expected"
        for k in untouched
        if not same_bits(plain[k], arguments[k])
    ]
    return found


def duplicate_ids(cases: Iterable[Case]) -> list[str]:
    """Ids and aliases that occur twice."""
    seen: set[str] = set()
    twice: list[str] = []
    for case in cases:
        for name in (case.id, *case.aliases):
            if name in seen:
                twice.append(name)
            seen.add(name)
    return twice


def covered(cases: Sequence[Case]) -> frozenset[str]:
    """Feature ids that the cases need, all together."""
    found: set[str] = set()
    for case in cases:
        found |= features(compiled(case, make_arguments(case)).unoptimised) | case.features
    return frozenset(found)
