"""The texts of the articles."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl

pytestmark = pytest.mark.codegen

X = np.ones(1000, np.float32)

ADD = """\
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @add_kernel(%x: memref<?xf32>, %y: memref<?xf32>, %out: memref<?xf32>, %n: i32) kernel {
      %bid_x = gpu.block_id x
      %tid_x = gpu.thread_id x
      %block_id_x = arith.index_cast %bid_x : index to i32
      %thread_id_x = arith.index_cast %tid_x : index to i32
      %c_i32_256 = arith.constant 256 : i32
      %v1 = arith.muli %block_id_x, %c_i32_256 : i32
      %v3 = arith.addi %v1, %thread_id_x : i32
      %idx4 = arith.index_cast %v3 : i32 to index
      %v5 = arith.cmpi slt, %v3, %n : i32
      %c_f32_0_0 = arith.constant 0.000000e+00 : f32
      %v6 = scf.if %v5 -> (f32) {
        %loaded6 = memref.load %x[%idx4] : memref<?xf32>
        scf.yield %loaded6 : f32
      } else {
        scf.yield %c_f32_0_0 : f32
      }
      %idx7 = arith.index_cast %v3 : i32 to index
      %v8 = scf.if %v5 -> (f32) {
        %loaded8 = memref.load %y[%idx7] : memref<?xf32>
        scf.yield %loaded8 : f32
      } else {
        scf.yield %c_f32_0_0 : f32
      }
      %v9 = arith.addf %v6, %v8 : f32
      %idx10 = arith.index_cast %v3 : i32 to index
      scf.if %v5 {
        memref.store %v9, %out[%idx10] : memref<?xf32>
      }
      gpu.return
    }
  }
}
"""


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)

    mask = offs < n

    a = tl.load(x + offs, mask=mask, other=0.0)
    b = tl.load(y + offs, mask=mask, other=0.0)

    tl.store(out + offs, a + b, mask=mask)


def test_add_kernel(text_of):
    assert text_of(add_kernel, X, X, X, 1000, BLOCK=256) == ADD


def test_add_kernel_through_a_launch():
    with pytest.warns(triton.errors.CompiledOnlyWarning):
        result = add_kernel.with_backend("mlir")[(4,)](X, X, X.copy(), 1000, BLOCK=256)
    assert result.src == ADD
    assert result.backend == "mlir"
    assert result.launched is False


@triton.jit
def runtime_sum_kernel(x, out, K):
    accumulator = 0.0

    for k in range(K):
        accumulator += tl.load(x + k)

    tl.store(out, accumulator)


def test_runtime_loop(text_of):
    assert """
      %v5 = scf.for %v0 = %c_i32_0 to %K step %c_i32_1 iter_args(%v1 = %c_f32_0_0) -> (f32) : i32 {
        %idx2 = arith.index_cast %v0 : i32 to index
        %v3 = memref.load %x[%idx2] : memref<?xf32>
        %v4 = arith.addf %v1, %v3 : f32
        scf.yield %v4 : f32
      }
""" in text_of(runtime_sum_kernel, X, X, 10)


@triton.jit
def matrix_add_2d_kernel(x, y, out, M, N, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)

    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]

    offsets = offs_m * N + offs_n
    mask = (offs_m < M) & (offs_n < N)

    lhs = tl.load(x + offsets, mask=mask, other=0.0)
    rhs = tl.load(y + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, lhs + rhs, mask=mask)


def test_rank_two(text_of):
    text = text_of(matrix_add_2d_kernel, X, X, X, 30, 33, BM=16, BN=32)
    assert (
        """\
      %bid_x = gpu.block_id x
      %bid_y = gpu.block_id y
      %tid_x = gpu.thread_id x
      %block_id_x = arith.index_cast %bid_x : index to i32
      %block_id_y = arith.index_cast %bid_y : index to i32
      %thread_id_x = arith.index_cast %tid_x : index to i32
"""
        in text
    )
    assert "%tile_i = arith.divui %thread_id_x, %c_i32_32 : i32" in text
    assert "%tile_j = arith.remui %thread_id_x, %c_i32_32 : i32" in text
    assert "arith.andi %v13, %v14 : i1" in text
    assert "gpu.barrier" not in text
