"""Runs of the checked-in kernels with their expected results, for several tests.

A case makes its inputs, launches and compares; `run(module, ...)` may get a changed module, which
is how the tests of the checks use it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mytriton_testkit.ptx import Checks, Counters, Module, launch, load_module

DATA = Path(__file__).parent / "data"


def text(name: str) -> str:
    return (DATA / f"{name}.ptx").read_text()


def module(name: str) -> Module:
    return load_module(text(name))


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Values of several magnitudes, which no sum of them forgets."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-2, 3, shape)).astype("f4")


def exact(got: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_array_equal(got, wanted)


def close(got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance)


Run = Callable[[Module, "Checks | bool"], Counters]
CASES: dict[str, Run] = {}


def case(run: Run) -> Run:
    CASES[run.__name__] = run
    return run


@case
def vadd(m: Module, checks: Checks | bool = True) -> Counters:
    x, y, out = floats(1000), floats(1000, seed=1), np.zeros(1000, "f4")
    counters = launch((m, "vadd"), 4, 256, [x, y, out, 1000], checks=checks)
    exact(out, x + y)
    return counters


@case
def vadd4(m: Module, checks: Checks | bool = True) -> Counters:
    x, y, out = floats(1200), floats(1200, seed=1), np.zeros(1200, "f4")
    counters = launch((m, "vadd4"), 3, 128, [x, y, out, 300], checks=checks)
    exact(out, x + y)
    return counters


@case
def softmax(m: Module, checks: Checks | bool = True) -> Counters:
    x, out = floats(4, 500), np.zeros((4, 500), "f4")
    counters = launch((m, "softmax"), 4, 512, [x, out, 500], checks=checks)
    e = np.exp(x.astype("f8") - x.max(axis=1, keepdims=True))
    close(out, e / e.sum(axis=1, keepdims=True), 1e-5)
    return counters


@case
def tree_sum(m: Module, checks: Checks | bool = True) -> Counters:
    x, out = np.arange(1000, dtype="f4"), np.zeros(3, "f4")
    counters = launch((m, "tree_sum"), 3, 128, [x, out, 1000], 128 * 4, checks)
    owner = np.arange(1000) // 128 % 3
    exact(out, [x[owner == block].sum() for block in range(3)])
    return counters


@case
def collatz(m: Module, checks: Checks | bool = True) -> Counters:
    x, out = np.arange(1, 201, dtype="u4"), np.zeros(200, "i4")
    counters = launch((m, "collatz"), 2, 128, [x, out, 200], checks=checks)
    wanted = []
    for i, v in enumerate(map(int, x)):
        count = 0
        while v != 1:
            v = 3 * v + 1 if v & 1 else v >> 1
            count += 1
            if count == 500:
                break
        for k in range(i & 7):
            if k != 3:
                for j in range(k + 1):
                    count += (j * k) ^ i
        wanted.append(count)
    exact(out, wanted)
    return counters


@case
def calls(m: Module, checks: Checks | bool = True) -> Counters:
    out, out4 = np.zeros(96, "i4"), np.zeros((96, 4), "f4")
    counters = launch((m, "calls"), 2, 48, [out, out4], checks=checks)
    fib = [0, 1, 1, 2, 3, 5, 8, 13]
    exact(out, [fib[i % 8] for i in range(96)])
    i = np.arange(96)
    exact(out4, np.stack([i * 2, i + 3, i, (i + 3) / 2], axis=1))
    return counters


@case
def spaces(m: Module, checks: Checks | bool = True) -> Counters:
    pick, out = np.random.default_rng(0).integers(0, 99, 64).astype("i4"), np.zeros(128, "i4")
    counters = launch((m, "spaces"), 2, 64, [pick, out], checks=checks)
    wanted = []
    for t in range(64):
        mine = [int(pick[(t + k) & 63]) * (k + 1) for k in range(8)]
        p = mine if t & 1 else [10 * (t & 60) + 10 * k for k in range(4)]
        k = int(pick[t]) & 3
        wanted.append(p[k] + p[(k + 1) & 3] + (3, 5, 7, 11)[k] + mine[int(pick[t]) & 7])
    exact(out, wanted * 2)
    return counters


@case
def histogram(m: Module, checks: Checks | bool = True) -> Counters:
    x = np.random.default_rng(0).integers(0, 200, 500).astype("i4")
    bins, total = np.zeros(18, "i4"), np.zeros(1, "f4")
    counters = launch((m, "histogram"), 4, 128, [x, bins, total, 500], checks=checks)
    exact(bins[:16], np.bincount(x & 15, minlength=16))
    exact(bins[16:], [x.max(), 42])
    exact(total, [x.sum()])
    return counters


@case
def tiled(m: Module, checks: Checks | bool = True) -> Counters:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-9, 9, (2, 40, 40)).astype("f4")
    c = np.zeros((40, 40), "f4")
    counters = launch((m, "tiled"), (3, 3), (16, 16), [a, b, c, 40], checks=checks)
    exact(c, a @ b)
    return counters


@case
def maths(m: Module, checks: Checks | bool = True) -> Counters:
    import math

    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((2, 300)) * 4).astype("f4")
    x[:3] = 0, -0.0, 1e5
    out = np.zeros((22, 300), "f4")
    counters = launch((m, "maths"), 2, 160, [x, y, out, 300], checks=checks)
    a, b = x.astype("f8"), y.astype("f8")
    p = (np.abs(x) + np.float32(0.5)).astype("f8")
    with np.errstate(all="ignore"):
        wanted = [
            np.exp(a), np.log(p), np.sin(a), np.cos(a), np.tanh(a), np.sqrt(p), 1 / np.sqrt(p),
            p**b, np.fmod(a, p), np.vectorize(math.erf)(a), np.floor(a), np.ceil(a), np.rint(a),
            np.trunc(a), np.exp2(a), np.log2(p), a / p, a * b + p, np.arctan2(a, b), np.exp(a),
            np.sin(a), a / p,
        ]  # fmt: skip
        wanted = [each.astype("f4") for each in wanted]
    for row, each in enumerate(wanted):
        if row in (10, 11, 12, 13, 5, 16):
            exact(out[row], each)
        else:
            close(out[row], each, 2e-6)
    return counters


@case
def maths64(m: Module, checks: Checks | bool = True) -> Counters:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 100)) * 3
    x[0] = 1e9
    out = np.zeros((8, 100))
    counters = launch((m, "maths64"), 1, 128, [x, y, out, 100], checks=checks)
    p = np.abs(x) + 0.5
    with np.errstate(all="ignore"):
        wanted = [
            np.exp(x), np.log(p), np.sin(x), x / p, np.sqrt(p), x * y + p, np.floor(x), p**y
        ]  # fmt: skip
    for row, each in enumerate(wanted):
        np.testing.assert_allclose(out[row], each, rtol=1e-14, atol=1e-14)
    exact(out[3], wanted[3])
    return counters


@case
def integers(m: Module, checks: Checks | bool = True) -> Counters:
    rng = np.random.default_rng(0)
    special = [0, 1, -1, 2**31 - 1, -(2**31), 7, -7, 255, 65536]
    x = np.r_[np.repeat(special, 9), rng.integers(-(2**31), 2**31, 47)].astype("i4")
    y = np.r_[np.tile(special, 9), rng.integers(-300, 300, 47)].astype("i4")
    out = np.zeros((30, 128), "i8")
    counters = launch((m, "integers"), 1, 128, [x, y, out, 128], checks=checks)
    for i in range(128):
        exact(out[:, i], integer_row(int(x[i]), int(y[i])))
    return counters


def wrap(value: int, bits: int = 32, signed: bool = True) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def integer_row(a: int, b: int) -> list[int]:
    d = b or 1
    u, w, ub = a & 0xFFFFFFFF, d & 0xFFFFFFFF, b & 0xFFFFFFFF
    a64 = wrap((a << 20) ^ b, 64)
    d64 = wrap(d << 3 | 1, 64)
    both = [u >> 8 * i & 255 for i in range(4)] + [ub >> 8 * i & 255 for i in range(4)]
    octets = sum(both[n] << 8 * i for i, n in enumerate((0, 4, 1, 5)))
    low24 = wrap(a << 8) >> 8, wrap(b << 8) >> 8
    return [
        a + b, wrap(a * b), a * b, wrap(quotient(a, d)), wrap(a - quotient(a, d) * d),
        u // w, u % w, wrap(quotient(a64, d64), 64), wrap(a64 - quotient(a64, d64) * d64, 64),
        bin(u).count("1"), 32 - u.bit_length(), int(f"{u:032b}"[::-1], 2),
        (u & -u).bit_length(), u * w >> 32, wrap(a * b >> 32), wrap(a64 * d64, 64),
        a >> (b & 31), u >> (b & 31), octets,
        ((ub << 7) | (u >> 25)) & 0xFFFFFFFF, min(a, b), max(u, w), wrap(abs(a)),
        wrap(a64 * d64 >> 64, 64), wrap(low24[0] * low24[1]), (a & b) | (~a ^ b),
        a if a == b else ~b, wrap(a, 16) * wrap(b, 8),
        64 - (a64 & (2**64 - 1)).bit_length(), bin(a64 & (2**64 - 1)).count("1"),
    ]  # fmt: skip


def pipeline(m: Module, checks: Checks | bool, tiles: int) -> Counters:
    """The matrix product with so many iterations of its pipeline, on a grid of 2 x 2."""
    rng = np.random.default_rng(0)
    k = 16 * tiles
    a = rng.integers(-8, 8, (64, k)).astype("f2")
    b = rng.integers(-8, 8, (k, 64)).astype("f2")
    c = np.zeros((64, 64), "f4")
    counters = launch((m, "mma_pipe"), (2, 2), 128, [a, b, c, 64, k], checks=checks)
    exact(c, a.astype("f4") @ b.astype("f4"))
    return counters


@case
def mma_pipe(m: Module, checks: Checks | bool = True) -> Counters:
    return pipeline(m, checks, 5)


@case
def halves(m: Module, checks: Checks | bool = True) -> Counters:
    bits = np.random.default_rng(0).integers(0, 65536, 400).astype("u2")
    bits[(bits & 0x7C00) == 0x7C00] = 0x3C00
    f16, pairs, bf16 = np.zeros(400, "u2"), np.zeros(400, "u4"), np.zeros(400, "u2")
    counters = launch((m, "halves"), 2, 256, [bits, f16, pairs, bf16, 400], checks=checks)
    x = bits.view("f2")
    with np.errstate(all="ignore"):
        square = (x * x).astype("f8")
        exact(f16.view("f2"), (square * x + x).astype("f2"))
        low = x.astype("f4") + np.float32(1)
        two = np.stack([low.astype("f2"), x], axis=1)
        exact(pairs.view("f2").reshape(-1, 2), two + two)
        scaled = (x.astype("f4") * np.float32(1.7)).view("u4")
    exact(bf16, (scaled + 0x7FFF + (scaled >> 16 & 1)) >> 16)
    return counters


@case
def packing(m: Module, checks: Checks | bool = True) -> Counters:
    out = np.zeros(7, "i8")
    pair = struct.pack("<if", -77, 12.0)
    args = [-3, -300, pair, 1e10, True, out, -(2**40)]
    counters = launch((m, "packing"), 1, 1, args, checks=checks)
    exact(out, [-3, -300, -77, 12, 10**10, 1, -(2**40)])
    return counters


@case
def votes(m: Module, checks: Checks | bool = True) -> Counters:
    x = np.random.default_rng(3).integers(-50, 120, 32)
    out = np.zeros((32, 8), "u4")
    counters = launch((m, "votes"), 1, 32, [x.astype("i4"), out], checks=checks)
    ballot = sum(1 << i for i in range(32) if x[i] > 0)
    for t in range(32):
        idx = (t & 16) | ((t ^ 9) & 15)
        wanted = [
            ballot, int((x > 100).any()), int((x > -100).all()), x[t - 3 if t >= 3 else t],
            x[t + 3 if t < 29 else t], x[idx], ballot if x[t] > 0 else 0, x.sum(),
        ]  # fmt: skip
        exact(out[t], np.array(wanted, "i8").astype("u4"))
    return counters
