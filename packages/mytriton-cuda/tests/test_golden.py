"""The texts the articles show."""

from __future__ import annotations

import cuda_kernels as k
import numpy as np
import pytest
from cuda_support import emitted, f32, text

ADD = """\
extern "C" __global__
void add_kernel(float* x, float* y, float* out, int n) {
    int v0 = blockIdx.x;
    int v1 = (v0 * 256);
    int v2 = threadIdx.x;
    int v3 = (v1 + v2);
    bool v5 = (v3 < n);
    float v6 = (v5 ? x[v3] : 0.0f);
    float v8 = (v5 ? y[v3] : 0.0f);
    float v9 = (v6 + v8);
    if (v5) {
        out[v3] = v9;
    }
}
"""

LOOP = """\
    float v27 = v12;
    for (int v13 = 0; v13 < K; v13 += 1) {
        int v15 = (v4 * K);
        int v16 = (v15 + v13);
        bool v18 = (v4 < M);
        float v19 = (v18 ? a[v16] : 0.0f);
        int v20 = (v13 * N);
        int v21 = (v20 + v9);
        bool v23 = (v9 < N);
        float v24 = (v23 ? b[v21] : 0.0f);
        float v25 = (v19 * v24);
        float v26 = (v27 + v25);
        v27 = v26;
    }
"""

MATRIX_ADD = """\
extern "C" __global__
void matrix_add_2d_kernel(float* x, float* y, float* out, int M, int N) {
    int tile_i = threadIdx.x / 32;
    int tile_j = threadIdx.x % 32;
    int v0 = blockIdx.x;
    int v1 = (v0 * 16);
    int v2 = tile_i;
    int v4 = (v1 + v2);
    int v5 = (v4 * N);
    int v6 = blockIdx.y;
    int v7 = (v6 * 32);
    int v8 = tile_j;
    int v10 = (v7 + v8);
    int v11 = (v5 + v10);
    bool v13 = (v4 < M);
    bool v14 = (v10 < N);
    bool v15 = (v13 && v14);
    float v16 = (v15 ? x[v11] : 0.0f);
    float v18 = (v15 ? y[v11] : 0.0f);
    float v19 = (v16 + v18);
    if (v15) {
        out[v11] = v19;
    }
}
"""

SUM = """\
extern "C" __global__
void runtime_sum_kernel(float* x, float* out, int K) {
    float v5 = 0.0f;
    for (int v0 = 0; v0 < K; v0 += 1) {
        float v3 = x[v0];
        float v4 = (v5 + v3);
        v5 = v4;
    }
    out[0] = v5;
}
"""

SOFTMAX = """\
extern "C" __global__
void softmax_kernel(float* x, float* out, int n) {
    __shared__ float scratch_f32[128];
    int thread = threadIdx.x;
    int v0 = blockIdx.x;
    int v1 = (v0 * n);
    int v3 = threadIdx.x;
    bool v5 = (v3 < n);
    float v6 = (v5 ? (x + v1)[v3] : __uint_as_float(0xff800000u));
    scratch_f32[thread] = v6;
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (thread < stride) {
            scratch_f32[thread] = fmaxf(scratch_f32[thread], scratch_f32[thread + stride]);
        }
        __syncthreads();
    }
    float v7 = scratch_f32[0];
    float v8 = (v6 - v7);
    float v9 = expf(v8);
    __syncthreads();
    scratch_f32[thread] = v9;
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (thread < stride) {
            scratch_f32[thread] = (scratch_f32[thread] + scratch_f32[thread + stride]);
        }
        __syncthreads();
    }
    float v10 = scratch_f32[0];
    float v11 = (v9 / v10);
    if (v5) {
        (out + v1)[v3] = v11;
    }
}
"""


def test_add_kernel() -> None:
    assert text(k.add_kernel, f32(9), f32(9), f32(9), 9, BLOCK=256) == ADD


def test_loop_of_part_10_at_level_0() -> None:
    got = emitted(k.matmul_runtime_k_kernel, f32(9), f32(9), f32(9), 3, 3, 3, BM=4, BN=8, level=0)
    assert LOOP in got.text
    assert got.threads == 32


def test_rank_2_tile() -> None:
    assert text(k.matrix_add_2d_kernel, f32(9), f32(9), f32(9), 3, 3, BM=16, BN=32) == MATRIX_ADD


def test_kernel_of_scalars_has_one_thread() -> None:
    got = emitted(k.runtime_sum_kernel, f32(9), f32(1), 9)
    assert (got.text, got.threads, got.shared_bytes) == (SUM, 1, 0)


def test_softmax_reads_like_cuda() -> None:
    got = emitted(k.softmax_kernel, f32(9), f32(9), 9, BLOCK=128)
    assert (got.text, got.threads, got.shared_bytes) == (SOFTMAX, 128, 512)


@pytest.mark.parametrize("level", [0, 1])
def test_text_is_the_same_each_time(level: int) -> None:
    texts = {
        text(k.sum_of_both_axes, f32(9), f32(9), f32(9), f32(9), M=8, N=16, level=level)
        for _ in range(3)
    }
    assert len(texts) == 1


def test_element_types_name_memory() -> None:
    x = np.ones(4, np.int64)
    assert "void add_kernel(long long* x, long long* y, long long* out, int n)" in text(
        k.add_kernel, x, x, x, 4, BLOCK=4
    )
