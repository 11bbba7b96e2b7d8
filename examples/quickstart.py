"""Vector add, softmax and a tiled matmul on NumPy arrays, and every compiler stage of one kernel.

python examples/quickstart.py
"""

import numpy as np

import mytriton as triton
import mytriton.language as tl
from mytriton.ssa import SSAPrinter


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x_values = tl.load(x + offsets, mask=mask, other=0.0)
    y_values = tl.load(y + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, x_values + y_values, mask=mask)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    offsets = tl.program_id(0) * cols + columns
    mask = columns < cols
    row = tl.load(x + offsets, mask=mask, other=float("-inf"))
    # Subtracting the maximum keeps exp in range.
    numerator = tl.exp(row - tl.max(row))
    tl.store(out + offsets, numerator / tl.sum(numerator), mask=mask)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    cols = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(K):
        a_column = tl.load(a + rows * K + k, mask=rows < M, other=0.0)
        b_row = tl.load(b + k * N + cols, mask=cols < N, other=0.0)
        acc += a_column * b_row
    tl.store(c + rows * N + cols, acc, mask=(rows < M) & (cols < N))


def check(name, result, got, want):
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    print(f"{name:<28} ran on {result.backend}: matches NumPy")


def main():
    rng = np.random.default_rng(0)

    n = 1_000
    x, y = rng.standard_normal((2, n)).astype(np.float32)
    out = np.empty_like(x)
    added = add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=256)
    check("vector add, 1,000", added, out, x + y)

    rows, cols = 64, 200
    logits = rng.standard_normal((rows, cols)).astype(np.float32)
    probabilities = np.empty_like(logits)
    result = softmax_kernel[(rows,)](
        logits, probabilities, cols, BLOCK=triton.next_power_of_2(cols)
    )
    exps = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    check("softmax, 64 x 200", result, probabilities, exps / exps.sum(axis=1, keepdims=True))

    M, N, K = 50, 60, 70
    a = rng.standard_normal((M, K)).astype(np.float32)
    b = rng.standard_normal((K, N)).astype(np.float32)
    c = np.empty((M, N), np.float32)
    grid = (triton.cdiv(M, 16), triton.cdiv(N, 32))
    result = matmul_kernel[grid](a, b, c, M, N, K, BM=16, BN=32)
    check("matmul, 50 x 70 x 60", result, c, a.astype(np.float64) @ b)

    expression_ops, ssa_ops, src = added
    print("\n== add_kernel: expression tree\n")
    print(expression_ops)
    print("\n== add_kernel: optimised SSA\n")
    print(SSAPrinter().print_ops(ssa_ops))
    print(f"\n== add_kernel: what backend {added.backend!r} was given\n")
    print(src)


if __name__ == "__main__":
    main()
