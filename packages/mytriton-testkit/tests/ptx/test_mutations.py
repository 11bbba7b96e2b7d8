"""The checks catch what they are for: every barrier, wait and mask test of a chosen set of kernels is
deleted in turn, and each time either a check speaks or the result is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from mytriton_testkit.ptx import Checks, Module, PtxError, load_module

from . import cases

BARRIER = re.compile(r"\s*bar(rier)?\.(sync|cta)")
WAIT = re.compile(r"\s*cp\.async\.wait_(group|all)")
#: A branch over an access: forwards, by a predicate.
ACCESS = re.compile(r"\s*(@!?%p\d+ )?(ld|st)\.global|\s*cp\.async\.c")
BRANCH = re.compile(r"\s*@!?%p\d+ bra\s+(\S+);")


def guards(lines: list[str]) -> bool:
    """Whether code that a branch skips is a single access with what leads to it."""
    straight = not any(BRANCH.match(line) or line.endswith(":") for line in lines)
    return straight and any(ACCESS.match(line) for line in lines)


def mutants(text: str) -> Iterator[tuple[str, int, str]]:
    """What was deleted, its line, and the text without it."""
    lines = text.splitlines()
    labels = {line.strip().rstrip(":"): n for n, line in enumerate(lines) if line.endswith(":")}
    for n, line in enumerate(lines):
        branch = BRANCH.match(line)
        kind = (
            "barrier" if BARRIER.match(line)
            else "wait" if WAIT.match(line)
            else "mask" if branch and guards(lines[n + 1 : labels.get(branch[1], 0)])
            else ""
        )  # fmt: skip
        if kind:
            yield kind, n + 1, "\n".join([*lines[:n], *lines[n + 1 :]])


def mma_of_many_tiles(m: Module, checks: Checks | bool = True) -> None:
    # NVRTC unrolls the pipeline: each number of tiles takes another way through it.
    for tiles in range(1, 8):
        cases.pipeline(m, checks, tiles)


RUNS = {
    name: cases.CASES[name]
    for name in ("vadd", "vadd4", "softmax", "tree_sum", "tiled", "histogram", "votes")
} | {"mma_pipe": mma_of_many_tiles}
#: Mutants that compute the same: line numbers by kernel, each with the reason.
_NEVER = "never reached: where NVRTC unrolls, another tile always follows"
EQUIVALENT: dict[str, dict[int, str]] = {
    "tree_sum": {82: "every thread of a block stores the same sum"},
    "mma_pipe": {195: _NEVER, 250: _NEVER, 305: _NEVER},
}
ALL = [(name, *each) for name in RUNS for each in mutants(cases.text(name))]


@pytest.mark.parametrize(
    ("name", "kind", "line", "text"), ALL, ids=[f"{n}-{k}-{line}" for n, k, line, _ in ALL]
)
def test_mutant_is_caught(name: str, kind: str, line: int, text: str) -> None:
    if line in EQUIVALENT.get(name, {}):
        pytest.skip(EQUIVALENT[name][line])
    with pytest.raises((PtxError, AssertionError)):
        RUNS[name](load_module(text), Checks(step_limit=20_000))


def test_the_set_has_every_kind() -> None:
    assert {kind for _, kind, _, _ in ALL} == {"barrier", "wait", "mask"}
    assert len(ALL) > 30
