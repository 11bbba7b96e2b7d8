"""RMS normalisation of rows, with rows longer than a block."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, out_ptr, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * n
    columns = tl.arange(0, BLOCK)
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        x = tl.load(x_ptr + row + start + columns, mask=start + columns < n, other=0.0)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / n + eps.to(tl.float32))
    for start in range(0, n, BLOCK):
        inside = start + columns < n
        x = tl.load(x_ptr + row + start + columns, mask=inside)
        w = tl.load(w_ptr + start + columns, mask=inside)
        tl.store(out_ptr + row + start + columns, x * scale * w, mask=inside)


def rms_norm(x, w, eps=1e-6):
    out = np.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, w, out, x.shape[1], eps, BLOCK=128)
    return out


def check():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((20, 333)).astype(np.float32)
    w = rng.standard_normal(333).astype(np.float32)
    wide = x.astype(np.float64)
    expected = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * w
    np.testing.assert_allclose(rms_norm(x, w), expected, rtol=1e-4, atol=1e-6)


if __name__ == "__main__":
    check()
    print("RMS norm: matches NumPy")
