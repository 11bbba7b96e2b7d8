"""The Mandelbrot set: every lane counts its steps; a program stops when all of its lanes have escaped."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def mandelbrot_kernel(
    out_ptr, width, height, left, top, step, LIMIT: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(1)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cx = left + column * step
    cy = top + row * step + tl.zeros((BLOCK,), tl.float32)
    x = tl.zeros((BLOCK,), tl.float32)
    y = tl.zeros((BLOCK,), tl.float32)
    count = tl.zeros((BLOCK,), tl.int32)
    active = tl.full((BLOCK,), 1, tl.int32)
    steps = 0
    while steps < LIMIT and tl.max(active, axis=0) > 0:
        x, y = tl.where(active > 0, x * x - y * y + cx, x), tl.where(active > 0, 2 * x * y + cy, y)
        active = active & (x * x + y * y <= 4.0)
        count += active
        steps += 1
    tl.store(out_ptr + row * width + column, count, mask=column < width)


def mandelbrot(width, height, left, top, step, limit):
    out = np.empty((height, width), np.int32)
    grid = (triton.cdiv(width, 64), height)
    mandelbrot_kernel[grid](out, width, height, left, top, step, LIMIT=limit, BLOCK=64)
    return out


def check():
    width, height, left, top, step, limit = 100, 30, -2.0, -0.75, 0.03125, 40
    found = mandelbrot(width, height, left, top, step, limit)
    cx = left + np.arange(width) * step
    cy = top + np.arange(height) * step
    c = (cx[None, :] + 1j * cy[:, None]).astype(np.complex128)
    z, expected, active = np.zeros_like(c), np.zeros(c.shape, int), np.ones(c.shape, bool)
    for _ in range(limit):
        z = np.where(active, z * z + c, z)
        active &= abs(z) <= 2
        expected += active
    # Points on the boundary may escape a step earlier or later in single precision.
    assert (found == expected).mean() > 0.97


if __name__ == "__main__":
    check()
    print("Mandelbrot set: matches NumPy")
