"""Quantisation of rows to int8 with one scale a row, and back."""

import numpy as np

import mytriton as triton
import mytriton.language as tl
from mytriton.language.extra import libdevice


@triton.jit
def quantise_kernel(x_ptr, q_ptr, scale_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + columns, mask=columns < n, other=0.0)
    scale = tl.max(tl.abs(x), axis=0) / 127
    scale = scale if scale > 0 else 1.0
    q = tl.clamp(libdevice.rint(x / scale), -127.0, 127.0)
    tl.store(q_ptr + row * n + columns, q.to(tl.int8), mask=columns < n)
    tl.store(scale_ptr + row, scale)


@triton.jit
def dequantise_kernel(q_ptr, scale_ptr, out_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    q = tl.load(q_ptr + row * n + columns, mask=columns < n)
    scale = tl.load(scale_ptr + row)
    tl.store(out_ptr + row * n + columns, q.to(tl.float32) * scale, mask=columns < n)


def quantise(x):
    rows, n = x.shape
    q, scale = np.empty(x.shape, np.int8), np.empty(rows, np.float32)
    quantise_kernel[(rows,)](x, q, scale, n, BLOCK=triton.next_power_of_2(n))
    return q, scale


def dequantise(q, scale):
    rows, n = q.shape
    out = np.empty(q.shape, np.float32)
    dequantise_kernel[(rows,)](q, scale, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def check():
    x = np.random.default_rng(13).standard_normal((20, 100)).astype(np.float32)
    x[3] = 0
    q, scale = quantise(x)
    largest = np.abs(x).max(1)
    np.testing.assert_allclose(scale, np.where(largest > 0, largest / 127, 1), rtol=1e-6)
    assert np.abs(q).max() <= 127 and (q[3] == 0).all()
    # Rounding to the nearest step errs by half a step at most.
    assert (np.abs(dequantise(q, scale) - x) <= scale[:, None] * 0.501).all()


if __name__ == "__main__":
    check()
    print("int8 quantisation: within half a step")
