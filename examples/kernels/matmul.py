"""Matrix product with grouped order of tiles and a fused activation, for fp16 and fp32.

Programs walk the output in groups of rows of tiles, so that what neighbours read stays in the cache.
Edges are masked with zeros; sums are kept in fp32.
"""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
    ACTIVATION: tl.constexpr,
):  # fmt: skip
    rows, columns = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    pid = tl.program_id(0)
    width = GROUP_M * columns
    first = pid // width * GROUP_M
    height = min(rows - first, GROUP_M)
    pid_m = first + pid % width % height
    pid_n = pid % width // height

    m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + m[:, None] * stride_am + k[None, :] * stride_ak
    b_ptrs = b_ptr + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = K - start
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    c_ptrs = c_ptr + m[:, None] * stride_cm + n[None, :] * stride_cn
    tl.store(c_ptrs, acc, mask=(m[:, None] < M) & (n[None, :] < N))


def matmul(a, b, activation="", block=(32, 32, 32)):
    M, K = a.shape
    N = b.shape[1]
    c = np.empty((M, N), a.dtype)
    size = a.itemsize
    strides = [s // size for array in (a, b, c) for s in array.strides]
    bm, bn, bk = block
    matmul_kernel[(triton.cdiv(M, bm) * triton.cdiv(N, bn),)](
        a, b, c, M, N, K, *strides, BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, GROUP_M=4,
        ACTIVATION=activation,
    )  # fmt: skip
    return c


def check():
    rng = np.random.default_rng(7)
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 2e-3)):
        a = rng.standard_normal((100, 130)).astype(dtype)
        b = rng.standard_normal((130, 70)).astype(dtype)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_allclose(matmul(a, b), exact, rtol=tolerance, atol=20 * tolerance)
        relu = np.where(exact >= 0, exact, 0.01 * exact)
        found = matmul(a, b, "leaky_relu")
        np.testing.assert_allclose(found, relu, rtol=tolerance, atol=20 * tolerance)


if __name__ == "__main__":
    check()
    print("matmul, fp32 and fp16, with and without activation: matches NumPy")
