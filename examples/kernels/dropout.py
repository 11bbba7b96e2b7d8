"""Dropout with the keep-mask as an argument: the same mask serves the backward pass."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def dropout_kernel(x_ptr, keep_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside)
    keep = tl.load(keep_ptr + offsets, mask=inside, other=False)
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=inside)


def dropout(x, keep, p):
    out = np.empty_like(x)
    grid = lambda meta: (triton.cdiv(x.size, meta["BLOCK"]),)
    dropout_kernel[grid](x, keep, out, x.size, p, BLOCK=512)
    return out


def check():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(3_000).astype(np.float32)
    keep = rng.random(3_000) > 0.3
    np.testing.assert_allclose(dropout(x, keep, 0.3), np.where(keep, x / 0.7, 0), rtol=1e-6)


if __name__ == "__main__":
    check()
    print("dropout: matches NumPy")
