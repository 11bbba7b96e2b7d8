"""Layer normalisation of rows, forward and backward.

The backward kernel gives the gradient of the input row by row, and partial sums of the gradients of
weight and bias for groups of rows; a second kernel adds these up. (With atomics one would do.)
"""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def normalised(x, mean, rstd, inside):
    return tl.where(inside, (x - mean) * rstd, 0.0)


@triton.jit
def forward_kernel(
    x_ptr, w_ptr, b_ptr, out_ptr, mean_ptr, rstd_ptr, stride, n, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    x = tl.load(x_ptr + columns, mask=inside, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(inside, x - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    w = tl.load(w_ptr + columns, mask=inside)
    b = tl.load(b_ptr + columns, mask=inside)
    tl.store(out_ptr + columns, centred * rstd * w + b, mask=inside)


@triton.jit
def backward_kernel(
    dout_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, rows, stride, n,
    BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    group = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    w = tl.load(w_ptr + columns, mask=inside, other=0.0)
    dw = tl.zeros((BLOCK,), tl.float32)
    db = tl.zeros((BLOCK,), tl.float32)
    for row in range(group * ROWS, min(group * ROWS + ROWS, rows)):
        x = tl.load(x_ptr + row * stride + columns, mask=inside, other=0.0)
        dout = tl.load(dout_ptr + row * stride + columns, mask=inside, other=0.0)
        rstd = tl.load(rstd_ptr + row)
        hat = normalised(x, tl.load(mean_ptr + row), rstd, inside)
        g = dout * w
        correction = (tl.sum(g, axis=0) + hat * tl.sum(g * hat, axis=0)) / n
        tl.store(dx_ptr + row * stride + columns, (g - correction) * rstd, mask=inside)
        dw += dout * hat
        db += dout
    tl.store(dw_ptr + group * n + columns, dw, mask=inside)
    tl.store(db_ptr + group * n + columns, db, mask=inside)


@triton.jit
def sum_rows_kernel(parts_ptr, out_ptr, rows, n, BLOCK: tl.constexpr):
    columns = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        total += tl.load(parts_ptr + row * n + columns, mask=columns < n, other=0.0)
    tl.store(out_ptr + columns, total, mask=columns < n)


def forward(x, w, b, eps=1e-5):
    rows, n = x.shape
    out, mean, rstd = np.empty_like(x), np.empty(rows, x.dtype), np.empty(rows, x.dtype)
    block = triton.next_power_of_2(n)
    forward_kernel[(rows,)](x, w, b, out, mean, rstd, n, n, eps, BLOCK=block)
    return out, mean, rstd


def backward(dout, x, w, mean, rstd, group=16):
    rows, n = x.shape
    groups, block = triton.cdiv(rows, group), triton.next_power_of_2(n)
    dx = np.empty_like(x)
    parts = np.empty((2, groups, n), x.dtype)
    backward_kernel[(groups,)](
        dout, x, w, mean, rstd, dx, parts[0], parts[1], rows, n, n, BLOCK=block, ROWS=group
    )
    dw, db = np.empty_like(w), np.empty_like(w)
    for part, total in zip(parts, (dw, db), strict=True):
        sum_rows_kernel[(triton.cdiv(n, 128),)](part, total, groups, n, BLOCK=128)
    return dx, dw, db


def check():
    rng = np.random.default_rng(1)
    x, dout = rng.standard_normal((2, 50, 200)).astype(np.float32)
    w, b = rng.standard_normal((2, 200)).astype(np.float32)
    out, mean, rstd = forward(x, w, b)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    scale = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    hat = centred * scale
    np.testing.assert_allclose(out, hat * w + b, rtol=1e-4, atol=1e-5)
    dx, dw, db = backward(dout, x, w, mean, rstd)
    g = dout * w.astype(np.float64)
    expected = (g - g.mean(1, keepdims=True) - hat * (g * hat).mean(1, keepdims=True)) * scale
    np.testing.assert_allclose(dx, expected, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(dw, (dout * hat).sum(0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(db, dout.sum(0, dtype=np.float64), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check()
    print("layer norm, forward and backward: matches NumPy")
