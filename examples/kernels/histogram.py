"""Histogram by comparison: every program counts its part into a row of its own, a second kernel adds."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def count_kernel(x_ptr, parts_ptr, n, BINS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    pid = tl.program_id(0)
    bins = tl.arange(0, BINS)
    count = tl.zeros((BINS,), tl.int32)
    for step in range(STEPS):
        offsets = (pid * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1)
        count += tl.sum((x[:, None] == bins[None, :]).to(tl.int32), axis=0)
    tl.store(parts_ptr + pid * BINS + bins, count)


@triton.jit
def add_kernel(parts_ptr, out_ptr, parts, BINS: tl.constexpr):
    bins = tl.arange(0, BINS)
    total = tl.zeros((BINS,), tl.int32)
    for part in range(parts):
        total += tl.load(parts_ptr + part * BINS + bins)
    tl.store(out_ptr + bins, total)


def histogram(x, bins):
    programs = triton.cdiv(x.size, 64 * 4)
    parts, out = np.empty((programs, bins), np.int32), np.empty(bins, np.int32)
    count_kernel[(programs,)](x, parts, x.size, BINS=bins, BLOCK=64, STEPS=4)
    add_kernel[(1,)](parts, out, programs, BINS=bins)
    return out


def check():
    x = np.random.default_rng(12).integers(0, 16, 3_000).astype(np.int32)
    assert np.array_equal(histogram(x, 16), np.bincount(x, minlength=16))


if __name__ == "__main__":
    check()
    print("histogram: matches NumPy")
