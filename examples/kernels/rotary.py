"""Rotary position embedding: halves of each head are rotated by an angle that grows with position."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def rotate(a, b, cos, sin):
    return a * cos - b * sin, b * cos + a * sin


@triton.jit
def rotary_kernel(x_ptr, out_ptr, heads, HALF: tl.constexpr, LOG2_BASE: tl.constexpr):
    position, head = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, HALF)
    frequency = tl.exp2(lanes * (-LOG2_BASE / HALF))
    angle = position * frequency
    base = (position * heads + head) * (2 * HALF)
    first = tl.load(x_ptr + base + lanes)
    second = tl.load(x_ptr + base + HALF + lanes)
    first, second = rotate(first, second, tl.cos(angle), tl.sin(angle))
    tl.store(out_ptr + base + lanes, first)
    tl.store(out_ptr + base + HALF + lanes, second)


def rotary(x, base=10_000.0):
    positions, heads, size = x.shape
    out = np.empty_like(x)
    rotary_kernel[(positions, heads)](x, out, heads, HALF=size // 2, LOG2_BASE=float(np.log2(base)))
    return out


def check():
    x = np.random.default_rng(4).standard_normal((70, 3, 32)).astype(np.float32)
    frequency = 10_000.0 ** (-np.arange(16) / 16)
    angle = (np.arange(70)[:, None] * frequency)[:, None, :]
    a, b = x[..., :16].astype(np.float64), x[..., 16:].astype(np.float64)
    expected = np.concatenate(
        [a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], axis=-1
    )
    np.testing.assert_allclose(rotary(x), expected, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    check()
    print("rotary embedding: matches NumPy")
