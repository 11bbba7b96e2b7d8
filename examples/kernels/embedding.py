"""Embedding: gather rows of a table by index, and scatter rows back (indices must differ)."""

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def gather_kernel(table_ptr, index_ptr, out_ptr, width, BLOCK: tl.constexpr):
    position = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + position)
    value = tl.load(table_ptr + row * width + columns, mask=columns < width)
    tl.store(out_ptr + position * width + columns, value, mask=columns < width)


@triton.jit
def scatter_kernel(rows_ptr, index_ptr, table_ptr, width, BLOCK: tl.constexpr):
    position = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(index_ptr + position)
    value = tl.load(rows_ptr + position * width + columns, mask=columns < width)
    tl.store(table_ptr + row * width + columns, value, mask=columns < width)


def gather(table, index):
    out = np.empty((len(index), table.shape[1]), table.dtype)
    grid = (len(index), triton.cdiv(table.shape[1], 64))
    gather_kernel[grid](table, index, out, table.shape[1], BLOCK=64)
    return out


def scatter(rows, index, table):
    grid = (len(index), triton.cdiv(table.shape[1], 64))
    scatter_kernel[grid](rows, index, table, table.shape[1], BLOCK=64)


def check():
    rng = np.random.default_rng(6)
    table = rng.standard_normal((50, 100)).astype(np.float16)
    index = rng.permutation(50)[:20].astype(np.int64)
    rows = gather(table, index)
    assert np.array_equal(rows, table[index])
    back = np.zeros_like(table)
    scatter(rows, index, back)
    expected = np.zeros_like(table)
    expected[index] = table[index]
    assert np.array_equal(back, expected)


if __name__ == "__main__":
    check()
    print("embedding, gather and scatter: match NumPy")
