"""Product of batches of matrices: the batch is the second axis of the grid."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def batched_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    batch = tl.program_id(1).to(tl.int64)
    a_ptr += batch * M * K
    b_ptr += batch * K * N
    c_ptr += batch * M * N
    tiles = tl.cdiv(N, BLOCK_N)
    m = tl.program_id(0) // tiles * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(0) % tiles * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + m[:, None] * K + k[None, :], mask=(m < M)[:, None] & (k < K)[None, :], other=0.0
        )
        b = tl.load(
            b_ptr + k[:, None] * N + n[None, :], mask=(k < K)[:, None] & (n < N)[None, :], other=0.0
        )
        acc += tl.dot(a, b)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def matmul(a, b):
    batch, M, K = a.shape
    N = b.shape[2]
    c = np.empty((batch, M, N), np.float32)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 32), batch)
    batched_kernel[grid](a, b, c, M, N, K, BLOCK_M=16, BLOCK_N=32, BLOCK_K=16)
    return c


def check():
    rng = np.random.default_rng(8)
    a = rng.standard_normal((3, 40, 50)).astype(np.float32)
    b = rng.standard_normal((3, 50, 33)).astype(np.float32)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(matmul(a, b), expected, rtol=1e-5, atol=1e-5)


if __name__ == "__main__":
    check()
    print("batched matmul: matches NumPy")
