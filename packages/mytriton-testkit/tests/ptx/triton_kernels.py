"""Kernels of our own, compiled ahead of time by Triton: `python triton_kernels.py FOLDER`.

Run by a Python that has triton 3.9; needs no GPU. Writes NAME.ptx for sm_80 and index.json with
what a launch needs (entry, threads, shared bytes).
"""

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def vadd(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * cols + c, e / tl.sum(e, axis=0), mask=c < cols)


@triton.jit
def layernorm(x, w, b, out, mean, rstd, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * cols
    out += row * cols
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, cols, BLOCK):
        c = at + tl.arange(0, BLOCK)
        total += tl.load(x + c, mask=c < cols, other=0.0).to(tl.float32)
    mu = tl.sum(total, axis=0) / cols
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for at in range(0, cols, BLOCK):
        c = at + tl.arange(0, BLOCK)
        d = tl.load(x + c, mask=c < cols, other=0.0).to(tl.float32) - mu
        d = tl.where(c < cols, d, 0.0)
        square += d * d
    r = 1 / tl.sqrt(tl.sum(square, axis=0) / cols + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, r)
    for at in range(0, cols, BLOCK):
        c = at + tl.arange(0, BLOCK)
        m = c < cols
        v = (tl.load(x + c, mask=m, other=0.0).to(tl.float32) - mu) * r
        v = v * tl.load(w + c, mask=m).to(tl.float32) + tl.load(b + c, mask=m).to(tl.float32)
        tl.store(out + c, v.to(tl.float16), mask=m)


@triton.jit
def matmul(a, b, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    pa = a + rows[:, None] * k + ks[None, :]
    pb = b + ks[:, None] * n + cols[None, :]
    acc = tl.zeros([BM, BN], dtype=tl.float32)
    for at in range(0, k, BK):
        ta = tl.load(pa, mask=(rows[:, None] < m) & (at + ks[None, :] < k), other=0.0)
        tb = tl.load(pb, mask=(at + ks[:, None] < k) & (cols[None, :] < n), other=0.0)
        acc = tl.dot(ta, tb, acc)
        pa += BK
        pb += BK * n
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * n + cols[None, :], acc.to(c.dtype.element_ty), mask=mask)


@triton.jit
def mixed(x, hist, scan, counts, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(hist + (v & 15), 1, mask=i < n)
    tl.store(scan + i, tl.cumsum(v, axis=0), mask=i < n)
    tl.atomic_max(counts, tl.max(v, axis=0))
    tl.atomic_cas(counts + 1, 0, tl.program_id(0) + 1)


@triton.jit
def elementwise(x, out, half, brain, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m, other=1.0)
    r = tl.exp(v) + tl.log(tl.abs(v) + 1) + tl.sin(v) * tl.cos(v) + tl.sqrt(tl.abs(v))
    r += tl.rsqrt(tl.abs(v) + 1) + tl.floor(v) + tl.where(v > 0, v / 3, v * 2) + tl.sigmoid(v)
    tl.store(out + i, r, mask=m)
    tl.store(half + i, r.to(tl.float16), mask=m)
    tl.store(brain + i, (r.to(tl.bfloat16) * 2).to(tl.bfloat16), mask=m)


F32, F16, BF16, I32 = "*fp32", "*fp16", "*bf16", "*i32"
DOT = ("BM", "BN", "BK")
CASES = {
    "vadd": (vadd, dict(x=F32, y=F32, out=F32, n="i32"), dict(BLOCK=1024), {}),
    "vadd_f16": (vadd, dict(x=F16, y=F16, out=F16, n="i32"), dict(BLOCK=1024), {}),
    "vadd_bf16": (vadd, dict(x=BF16, y=BF16, out=BF16, n="i32"), dict(BLOCK=1024), {}),
    "softmax": (softmax, dict(x=F32, out=F32, cols="i32"), dict(BLOCK=1024), {}),
    "softmax_4096": (
        softmax, dict(x=F32, out=F32, cols="i32"), dict(BLOCK=4096), dict(num_warps=8)
    ),
    "layernorm": (
        layernorm,
        dict(x=F16, w=F16, b=F16, out=F16, mean=F32, rstd=F32, cols="i32", eps="fp32"),
        dict(BLOCK=1024), {},
    ),
    "matmul": (
        matmul, dict(a=F16, b=F16, c=F16, m="i32", n="i32", k="i32"),
        dict(zip(DOT, (64, 64, 32))), dict(num_stages=3),
    ),
    "matmul_bf16": (
        matmul, dict(a=BF16, b=BF16, c=F32, m="i32", n="i32", k="i32"),
        dict(zip(DOT, (32, 64, 32))), dict(num_stages=4),
    ),
    "matmul_tf32": (
        matmul, dict(a=F32, b=F32, c=F32, m="i32", n="i32", k="i32"),
        dict(zip(DOT, (32, 32, 32))), dict(num_stages=2),
    ),
    "mixed": (mixed, dict(x=I32, hist=I32, scan=I32, counts=I32, n="i32"), dict(BLOCK=256), {}),
    "elementwise": (
        elementwise, dict(x=F32, out=F32, half=F16, brain=BF16, n="i32"), dict(BLOCK=512), {}
    ),
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    index = {}
    for name, (kernel, signature, constants, options) in CASES.items():
        attrs = {
            (at,): [["tt.divisibility", 16]]
            for at, kind in enumerate(signature.values())
            if kind[0] == "*" or kind == "i32"
        }
        signature = signature | dict.fromkeys(constants, "constexpr")
        source = ASTSource(kernel, signature, constexprs=constants, attrs=attrs)
        result = triton.compile(source, target=GPUTarget("cuda", 80, 32), options=options)
        (folder / f"{name}.ptx").write_text(result.asm["ptx"])
        index[name] = dict(
            entry=result.metadata.name,
            threads=32 * result.metadata.num_warps,
            shared=result.metadata.shared,
        )
    (folder / "index.json").write_text(json.dumps(index, indent=1))


if __name__ == "__main__":
    main()
