"""2-D convolution (stride 1, zero padding) as a sum over the window of shifted, masked loads."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def conv2d_kernel(
    x_ptr, w_ptr, out_ptr, channels, height, width,
    KH: tl.constexpr, KW: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_W: tl.constexpr,
):  # fmt: skip
    filters = tl.num_programs(2)
    row = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)
    column = tl.program_id(0) * BLOCK_W + tl.arange(0, BLOCK_W)
    f = tl.program_id(2)
    acc = tl.zeros((BLOCK_H, BLOCK_W), tl.float32)
    for c in range(channels):
        for dy in tl.static_range(KH):
            for dx in tl.static_range(KW):
                y, x = row[:, None] + (dy - KH // 2), column[None, :] + (dx - KW // 2)
                inside = (0 <= y < height) & (0 <= x < width)
                value = tl.load(x_ptr + (c * height + y) * width + x, mask=inside, other=0.0)
                acc += value * tl.load(w_ptr + ((f * channels + c) * KH + dy) * KW + dx)
    tl.device_assert(f < filters)
    inside = (row[:, None] < height) & (column[None, :] < width)
    tl.store(out_ptr + (f * height + row[:, None]) * width + column[None, :], acc, mask=inside)


def conv2d(x, w):
    channels, height, width = x.shape
    filters, _, kh, kw = w.shape
    out = np.empty((filters, height, width), np.float32)
    grid = (triton.cdiv(width, 32), triton.cdiv(height, 8), filters)
    conv2d_kernel[grid](x, w, out, channels, height, width, KH=kh, KW=kw, BLOCK_H=8, BLOCK_W=32)
    return out


def check():
    rng = np.random.default_rng(11)
    x = rng.standard_normal((3, 21, 45)).astype(np.float32)
    w = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    padded = np.pad(x.astype(np.float64), ((0, 0), (1, 1), (1, 1)))
    expected = np.zeros((4, 21, 45))
    for dy in range(3):
        for dx in range(3):
            shifted = padded[:, dy : dy + 21, dx : dx + 45]
            expected += np.einsum("chw,fc->fhw", shifted, w[:, :, dy, dx].astype(np.float64))
    np.testing.assert_allclose(conv2d(x, w), expected, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    check()
    print("2-D convolution: matches NumPy")
