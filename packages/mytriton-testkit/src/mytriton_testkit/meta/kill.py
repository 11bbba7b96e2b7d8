"""Which mutants the suite tells from the right backend. ``python -m mytriton_testkit.meta.kill``.

For each mutant only cases whose generated text the mistake changes are run: those about the
operation, then the others; one of each kernel before the next of any, short texts first. The first
that is not right kills it; a mutant survives all of them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from ..case import EDITIONS, Case
from ..suite.pool import Pool
from ..suite.runner import Run, Settings
from .mutants import Mutant, MutantBackend, all_mutants

PLUGIN = "mytriton_testkit.meta.mutants:PLUGINS."
#: The edition ``mytriton-c`` answers. ``misreadings`` has mistakes in the operations of later ones.
EDITION = EDITIONS[0]
#: Parts of the ids of cases that are about an operation: they are run first.
NEAR = {
    "cmp_lt": ("compare", "i64"), "program_id": ("grid",), "addptr": ("memory", "i64"),
    "load": ("mask",), "store": ("mask", "order"), "for": ("loop", "carried"),
    "yield": ("carried", "loop"), "mul": ("mul", "i64"), "": ("order", "grid", "scalar"),
}  # fmt: skip


@dataclass
class Kill:
    """What became of a mutant. ``case`` is the one that killed it, or empty."""

    mutant: Mutant
    case: str = ""
    message: str = ""
    outcome: str = ""
    #: Cases whose text the mutant changes, and how many were run.
    changed: int = 0
    run: int = 0
    seconds: float = 0.0

    @property
    def survived(self) -> bool:
        return not self.case

    @property
    def invalid(self) -> str:
        """Why it is no plausible mistake; empty when it is one."""
        if not self.changed:
            return "changes the text of no case"
        return "does not compile" if "CCompilerError" in self.message else ""


class Killer:
    """Runs mutants one after another, on one worker that survives as long as nothing crashes."""

    def __init__(self, level: str = "standard", timeout: float = 10.0) -> None:
        settings = Settings(
            "mutant", level, "execute", EDITION, plugin=f"{PLUGIN}none", timeout=timeout
        )
        self._engine = Run(settings)
        self._cases = [c for c in self._engine.cases if c.edition == EDITION]
        right = MutantBackend(None)
        self._functions = {c.id: self._engine.oracle.compiled(c).function for c in self._cases}
        self._texts = {name: right.text(f).text for name, f in self._functions.items()}
        setup = replace(self._engine.setup(), plugin=f"{PLUGIN}none")
        self._pool = Pool(setup, 1, timeout, patience=10**9)

    def close(self) -> None:
        """End the worker."""
        self._pool.close()
        self._engine.close()

    def _changed(self, mutant: Mutant) -> list[Case]:
        if mutant.launch is not None or mutant.key is not None:
            return list(self._cases)
        wrong = MutantBackend(mutant)
        feature = mutant.op
        found = []
        for case in self._cases:
            text = self._texts[case.id]
            if feature and feature != "yield" and f"{feature}\n" not in text:
                continue
            if wrong.text(self._functions[case.id]).text != text:
                found.append(case)
        return found

    def kill(self, mutant: Mutant) -> Kill:
        """Run cases until one is not right."""
        started = time.perf_counter()
        result = Kill(mutant)
        cases = self._changed(mutant)
        result.changed = len(cases)
        self._pool.switch(PLUGIN + mutant.id.replace(".", "__"))
        near = NEAR.get(mutant.op, (mutant.op,))
        named = [c for c in cases if any(part in c.id for part in near)]
        rest = [c for c in cases if c not in named]
        for case in (*self._varied(named), *self._varied(rest)):
            result.run += 1
            row = self._engine.judge(case, self._pool.run(self._engine.job(case)))
            if row.outcome != "right":
                result.case, result.message, result.outcome = case.id, row.message, row.outcome
                break
        result.seconds = time.perf_counter() - started
        return result

    def _varied(self, cases: Sequence[Case]) -> Iterator[Case]:
        """One case of each kernel, then the next of each; kernels with short texts first."""
        groups: dict[int, list[Case]] = {}
        for case in sorted(cases, key=lambda c: len(self._texts[c.id])):
            groups.setdefault(id(case.kernel), []).append(case)
        waiting = list(groups.values())
        while waiting:
            for group in waiting:
                yield group.pop(0)
            waiting = [g for g in waiting if g]


def survivors() -> dict[str, str]:
    """Mutants known to survive, and why that is no fault of the suite."""
    from ..suite.profile import _toml

    text = (resources.files(__package__) / "survivors.toml").read_text(encoding="utf-8")
    return {name: str(why) for name, why in _toml(text)["survivors"].items()}


def kill_all(
    select: str = "", progress: Callable[[Kill], Any] | None = None, part: tuple[int, int] = (0, 1)
) -> list[Kill]:
    """Run every mutant (whose id contains ``select``; of ``part[1]`` parts, part ``part[0]``)."""
    killer = Killer()
    found = []
    try:
        for number, mutant in enumerate(all_mutants()):
            if select not in mutant.id or number % part[1] != part[0]:
                continue
            found.append(killer.kill(mutant))
            if progress is not None:
                progress(found[-1])
    finally:
        killer.close()
    return found


def main() -> int:
    """Print what became of each mutant."""

    def show(k: Kill) -> None:
        what = k.invalid or (f"{k.outcome} at {k.case}" if k.case else "SURVIVED")
        print(f"{k.mutant.id:45} {k.run:4}/{k.changed:<4} {k.seconds:5.1f} s  {what}", flush=True)

    started = time.perf_counter()
    found = kill_all(sys.argv[1] if len(sys.argv) > 1 else "", show)
    alive = [k.mutant.id for k in found if k.survived and not k.invalid]
    invalid = [k.mutant.id for k in found if k.invalid]
    taken = time.perf_counter() - started
    print(f"{len(found)} mutants, {len(alive)} survive, {len(invalid)} invalid, {taken:.0f} s")
    return 1 if invalid or set(alive) - survivors().keys() else 0


if __name__ == "__main__":
    sys.exit(main())
