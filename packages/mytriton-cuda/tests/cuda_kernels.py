"""Kernels of the articles, and kernels with a trap in them."""

from __future__ import annotations

import mytriton as triton
import mytriton.language as tl


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x_values = tl.load(x + offsets, mask=mask, other=0.0)
    y_values = tl.load(y + offsets, mask=mask, other=0.0)
    tl.store(out + offsets, x_values + y_values, mask=mask)


@triton.jit
def runtime_sum_kernel(x, out, K):
    accumulator = 0.0
    for k in range(K):
        accumulator += tl.load(x + k)
    tl.store(out, accumulator)


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


@triton.jit
def matmul_runtime_k_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    offs_m = pid_m * BM + tl.arange(0, BM)[:, None]
    offs_n = pid_n * BN + tl.arange(0, BN)[None, :]
    c_offsets = offs_m * N + offs_n
    c_mask = (offs_m < M) & (offs_n < N)
    acc = c_offsets * 0.0
    for k in range(K):
        a_offsets = offs_m * K + k
        b_offsets = k * N + offs_n
        a_values = tl.load(a + a_offsets, mask=offs_m < M, other=0.0)
        b_values = tl.load(b + b_offsets, mask=offs_n < N, other=0.0)
        acc = acc + a_values * b_values
    tl.store(c + c_offsets, acc, mask=c_mask)


@triton.jit
def softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + cols, mask=cols < n, other=float("-inf"))
    top = tl.max(values)
    weights = tl.exp(values - top)
    tl.store(out + row * n + cols, weights / tl.sum(weights), mask=cols < n)


@triton.jit
def exchange(x, n):
    a = 1
    b = 2
    for i in range(n):
        t = a
        a = b
        b = t
    tl.store(x, a)
    tl.store(x + 1, b)


@triton.jit
def rotation(x, n):
    a = 1
    b = 2
    c = 3
    for i in range(n):
        t = a
        a = b
        b = c
        c = t + i
    tl.store(x, a)
    tl.store(x + 1, b)
    tl.store(x + 2, c)


@triton.jit
def near_the_top(out, start, stop, STEP: tl.constexpr):
    trips = 0
    for i in range(start, stop, STEP):
        trips += 1
    tl.store(out, trips)


@triton.jit
def walking_pointer(x, out, n, BLOCK: tl.constexpr):
    p = x + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in range(n):
        acc += tl.load(p)
        p += BLOCK
    tl.store(out + tl.arange(0, BLOCK), acc)


@triton.jit
def exchanged_pointers(x, y, out, n):
    p = x
    q = y
    for i in range(n):
        t = p
        p = q + 1
        q = t + 1
    tl.store(out, tl.load(p))
    tl.store(out + 1, tl.load(q))


@triton.jit
def reductions_in_a_loop(x, out, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    total = 0.0
    for i in range(n):
        row = tl.load(x + i * BLOCK + cols)
        total += tl.max(row) + tl.sum(row)
    tl.store(out, total)


@triton.jit
def sum_of_both_axes(x, rows, columns, everything, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    tile = tl.load(x + m[:, None] * N + n[None, :])
    tl.store(rows + m, tl.sum(tile, axis=1))
    tl.store(columns + n, tl.sum(tile, axis=0))
    tl.store(everything, tl.sum(tile))


@triton.jit
def normalise_rows(x, out, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    place = m[:, None] * N + n[None, :]
    tile = tl.load(x + place)
    tl.store(out + place, tile - tl.max(tile, axis=1)[:, None])


@triton.jit
def outer(out, N: tl.constexpr):
    r = tl.arange(0, N)
    tl.store(out + r[:, None] * N + r[None, :], r[:, None] * 100 + r[None, :])


@triton.jit
def two_widths(wide, narrow, A: tl.constexpr, B: tl.constexpr):
    tl.store(wide + tl.arange(0, A), tl.arange(0, A))
    tl.store(narrow + tl.arange(0, B), tl.arange(0, B))


@triton.jit
def partial_sum(x, out, WIDE: tl.constexpr, NARROW: tl.constexpr):
    some = tl.load(x + tl.arange(0, NARROW))
    tl.store(out + tl.arange(0, WIDE), tl.arange(0, WIDE) * 0.0 + tl.sum(some))


@triton.jit
def reverse_in_place(x, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    tl.store(x + (BLOCK - 1 - r), tl.load(x + r))


@triton.jit
def shift_in_loop(x, n, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    for i in range(n):
        tl.store(x + r + 1, tl.load(x + r))


@triton.jit
def count_up(x, n, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    for i in range(n):
        tl.store(x + r, tl.load(x + r) + 1)


@triton.jit
def scalar_in_blocks(x, out, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    before = tl.load(x)
    tl.store(x, before + 1.0)
    tl.store(out + r, r * 0.0 + before)


@triton.jit
def squares(x, out, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK)
    v = tl.load(x + r)
    tl.store(out + r, v * v + v - 7)
