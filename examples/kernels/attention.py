"""Attention without the matrix of scores in memory, causal or not.

A program holds a block of queries and walks over blocks of keys, keeping for each query the largest
score so far, the sum of exponentials, and the weighted sum of values; all three are rescaled when a
larger score turns up. Scores are in base 2: ``log2(e)`` is folded into the scale.
"""

import math

import numpy as np

import mytriton as triton
import mytriton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    base = tl.program_id(1).to(tl.int64) * length * HEAD
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    n = tl.arange(0, BLOCK_N)
    queries = base + m[:, None] * HEAD + d[None, :]
    q = tl.load(q_ptr + queries, mask=m[:, None] < length, other=0.0) * scale

    largest = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    end = length
    if CAUSAL:
        end = min(length, (tl.program_id(0) + 1) * BLOCK_M)
    for start in range(0, end, BLOCK_N):
        keys = start + n
        offsets = base + keys[:, None] * HEAD + d[None, :]
        k = tl.load(k_ptr + offsets, mask=keys[:, None] < length, other=0.0)
        scores = tl.dot(q, tl.trans(k))
        visible = keys[None, :] < length
        if CAUSAL:
            visible = visible and m[:, None] >= keys[None, :]
        scores = tl.where(visible, scores, float("-inf"))
        above = tl.maximum(largest, tl.max(scores, axis=1))
        weights = tl.exp2(scores - above[:, None])
        shrink = tl.exp2(largest - above)
        total = total * shrink + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + offsets, mask=keys[:, None] < length, other=0.0)
        acc = tl.dot(weights.to(v.dtype), v, acc * shrink[:, None])
        largest = above
    tl.store(out_ptr + queries, acc / total[:, None], mask=m[:, None] < length)


def attention(q, k, v, causal=False, block=(64, 64)):
    """``q``, ``k``, ``v``: ``(heads, length, head size)``, the head size a power of two."""
    heads, length, head = q.shape
    out = np.empty_like(q)
    scale = math.log2(math.e) / math.sqrt(head)
    grid = (triton.cdiv(length, block[0]), heads)
    attention_kernel[grid](
        q, k, v, out, length, scale, HEAD=head, BLOCK_M=block[0], BLOCK_N=block[1], CAUSAL=causal
    )
    return out


def check():
    q, k, v = np.random.default_rng(9).standard_normal((3, 2, 150, 32)).astype(np.float32)
    scores = q.astype(np.float64) @ k.astype(np.float64).transpose(0, 2, 1) / math.sqrt(32)
    for causal in (False, True):
        seen = np.tril(np.ones((150, 150), bool)) if causal else np.ones((150, 150), bool)
        weights = np.exp(np.where(seen, scores, -np.inf))
        expected = weights / weights.sum(-1, keepdims=True) @ v
        found = attention(q, k, v, causal, block=(32, 32))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    check()
    print("attention, causal and not: matches NumPy")
