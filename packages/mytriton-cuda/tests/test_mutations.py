"""Nothing the generated kernels do to be safe is superfluous or unseen: each barrier and each mask test
of their PTX is deleted in turn, and the emulator reports it or the result is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_blocked import add, normalised, running, two_sizes
from test_matmul import matmul

import mytriton as triton
import mytriton.language as tl
from mytriton_cuda import mapping
from mytriton_cuda.launch import compile_source

pytestmark = pytest.mark.nvrtc
ptx = pytest.importorskip("mytriton_testkit.ptx")
RNG = np.random.default_rng(0)
BARRIER = re.compile(r"\s*bar\.sync")
MASK = re.compile(r"\s*@!?%p\d+ bra\s+(\S+);")
ACCESS = re.compile(r"\s*(ld|st)\.global")


def floats(*shape: int) -> np.ndarray:
    """Whole numbers of several magnitudes: sums of them are exact."""
    return (RNG.integers(-9, 9, shape) * 4.0 ** RNG.integers(0, 4, shape)).astype(np.float32)


def add_case() -> tuple[Any, ...]:
    # In the second program every register but one holds elements that are masked off.
    x, y, out = floats(513), floats(513), np.zeros(513, np.float32)
    return add, dict(x=x, y=y, out=out, n=513, BLOCK=512), 2, {"out": x + y}


def tile_case() -> tuple[Any, ...]:
    x, out, side = floats(16, 64), np.zeros((16, 64), np.float32), np.zeros(16, np.float32)
    w = x - x.max(axis=1, keepdims=True)
    expected = {"out": w + w.sum(axis=0, keepdims=True), "side": x.max(axis=1)}
    return normalised, dict(x=x, out=out, side=side, M=16, N=64), 1, expected


def loop_case() -> tuple[Any, ...]:
    x, out = floats(4, 256), np.zeros(256, np.float32)
    best, a, b = np.zeros(256, np.float32), 0.0, 1.0
    for v in x:
        best = np.maximum(best, v - v.max() + v.sum())
        a, b = b + v.min(), a
    return running, dict(x=x, out=out, trips=4, BLOCK=256), 1, {"out": (best + a - b).astype("f4")}


def memory_case() -> tuple[Any, ...]:
    x, out, small = (RNG.integers(0, 99, n).astype(np.int32) for n in (1024, 1024, 32))
    total = (x + x.sum()).astype(np.int32)
    arguments = dict(x=x, out=out, small=small, A=1024, B=32)
    return two_sizes, arguments, 1, {"out": total, "small": total[:32]}


def product_case() -> tuple[Any, ...]:
    x = RNG.integers(-4, 5, (33, 33)).astype(np.float16)
    y, out = RNG.integers(-4, 5, (33, 30)).astype(np.float16), np.zeros((33, 30), np.float32)
    arguments = dict(x=x, y=y, out=out, m=33, n=30, depth=33, M=32, N=32, K=16, RELU=False)
    return matmul, arguments, 2, {"out": x.astype("f4") @ y.astype("f4")}


@triton.jit
def until(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))
    while tl.load(out + BLOCK - 1) < 100.0:
        v = tl.load(out + i)
        if tl.load(out) < 50.0:
            v += 7.0
        tl.store(out + i, v + 5.0)


def branch_case() -> tuple[Any, ...]:
    x, out = np.arange(256, dtype=np.float32) - 256, np.zeros(256, np.float32)
    v = x.copy()
    while v[-1] < 100:
        v += 12 if v[0] < 50 else 5
    return until, dict(x=x, out=out, BLOCK=256), 1, {"out": v}


CASES: dict[str, Callable[[], tuple[Any, ...]]] = {
    "add": add_case, "tile": tile_case, "loop": loop_case, "memory": memory_case,
    "product": product_case, "branch": branch_case,
}  # fmt: skip


#: Kinds of mutant that compute the same here: a barrier for arguments that could overlap and do not,
#: and threads that all store the same number.
EQUIVALENT = {"tile": ["barrier", "mask"], "memory": ["barrier", "mask"]}


def compiled(name: str, warps: int | None) -> tuple[str, int]:
    kernel, arguments, _, _ = CASES[name]()
    options = {"num_warps": warps} if warps else {}
    function, spec = kernel.specialise({**arguments, **options})
    source = mapping.lowered(function, spec)
    image = compile_source(source, "sm_80", "ptx")
    return image.data.decode(), source.resources["threads"]


def run(name: str, text: str, threads: int) -> None:
    kernel, arguments, grid, expected = CASES[name]()
    values = [arguments[n] for n in kernel.binder.runtime]
    ptx.launch(ptx.load_module(text), grid, threads, values, checks=ptx.Checks(step_limit=20_000))
    for each, wanted in expected.items():
        np.testing.assert_array_equal(arguments[each], wanted)


def mutants(text: str) -> Iterator[tuple[str, int, str]]:
    lines = text.splitlines()
    labels = {line.strip().rstrip(":"): n for n, line in enumerate(lines) if line.endswith(":")}
    for n, line in enumerate(lines):
        kind = "barrier" if BARRIER.match(line) else ""
        if branch := MASK.match(line):
            skipped = lines[n + 1 : labels.get(branch[1], 0)]
            straight = not any(MASK.match(s) or s.endswith(":") for s in skipped)
            kind = "mask" if straight and any(map(ACCESS.match, skipped)) else ""
        if kind:
            yield kind, n + 1, "\n".join([*lines[:n], *lines[n + 1 :]])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("warps", [None, 4])
def test_every_barrier_and_mask_test_is_needed(name: str, warps: int | None) -> None:
    text, threads = compiled(name, warps)
    run(name, text, threads)
    survivors = []
    found = list(mutants(text))
    for kind, line, mutant in found:
        try:
            run(name, mutant, threads)
        except (ptx.PtxError, AssertionError):
            continue
        survivors.append((kind, f"line {line}: {text.splitlines()[line - 1].strip()}"))
    assert [kind for kind, _ in survivors] == EQUIVALENT.get(name, []), survivors
    assert len(found) > len(survivors)
