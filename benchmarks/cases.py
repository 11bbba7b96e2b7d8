"""What is measured: for each case its inputs, the right answer, and how each peer computes it.

Every peer is given what it is best with: warm code, its own threads, preallocated outputs where its
interface has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    name: str
    #: What the issue asks for: ratio against the best of ``against``.
    bar: float
    against: tuple[str, ...]
    inputs: Callable[[np.random.Generator], dict[str, np.ndarray]]
    answer: Callable[[dict[str, np.ndarray]], np.ndarray]
    rtol: float
    #: Bytes moved, or operations done, for the last column.
    work: float
    unit: str = "GB/s"


ALL = ("numpy", "numba", "jax", "torch")


def _normal(**shapes: tuple[int, ...]) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    return lambda rng: {k: rng.standard_normal(s, dtype=np.float32) for k, s in shapes.items()}


def _softmax(v: dict[str, np.ndarray]) -> np.ndarray:
    e = np.exp(v["x"].astype(np.float64) - v["x"].max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _silu(v: dict[str, np.ndarray]) -> np.ndarray:
    x = v["x"].astype(np.float64)
    return x / (1 + np.exp(-x))


def _product(size: int) -> dict[str, Any]:
    return {
        "inputs": _normal(a=(size, size), b=(size, size)),
        "answer": lambda v: v["a"].astype("d") @ v["b"],
        "rtol": 1e-2, "work": 2 * size**3, "unit": "GFLOP/s",
    }  # fmt: skip


def _attention(v: dict[str, np.ndarray]) -> np.ndarray:
    q, k, x = (v[name].astype(np.float64) for name in "qkv")
    weights = np.exp(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1]))
    return weights @ x / weights.sum(-1, keepdims=True)


def _layer_norm(v: dict[str, np.ndarray]) -> np.ndarray:
    x = v["x"].astype(np.float64)
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt(x.var(1, keepdims=True) + 1e-5) * v["w"] + v["b"]


CASES = {
    case.name: case
    for case in (
        Case("add 2^24", 1.2, ALL, _normal(x=(1 << 24,), y=(1 << 24,)), lambda v: v["x"] + v["y"], 0, 12 << 24),
        Case("add 2^16", 0.9, ALL, _normal(x=(1 << 16,), y=(1 << 16,)), lambda v: v["x"] + v["y"], 0, 12 << 16),
        Case("silu 2^22", 1.5, ALL, _normal(x=(1 << 22,)), _silu, 1e-5, 8 << 22),
        Case("softmax 4096x1024", 1.8, ("torch",), _normal(x=(4096, 1024)), _softmax, 1e-4, 8 << 22),
        Case("softmax 1024x4096", 1.2, ("torch",), _normal(x=(1024, 4096)), _softmax, 1e-4, 8 << 22),
        Case("row sum 4096x1024", 0.9, ALL, _normal(x=(4096, 1024)), lambda v: v["x"].sum(1, dtype="d"), 1e-3, 4 << 22),
        Case("sum 2^24", 0.7, ALL, lambda rng: {"x": rng.random(1 << 24, dtype=np.float32)}, lambda v: v["x"].sum(dtype="d"), 1e-4, 4 << 24),
        Case("matmul 512", 2.0, ("numba",), **_product(512)),
        Case("dot 512", 0.9, ("numpy",), **_product(512)),
        Case("dot 1024", 0.9, ("numpy",), **_product(1024)),
        Case("dot 2048", 0.85, ("numpy",), **_product(2048)),
        Case("attention 8x1024x64", 0.8, ("torch",), _normal(q=(8, 1024, 64), k=(8, 1024, 64), v=(8, 1024, 64)), _attention, 1e-3, 4 * 8 * 1024**2 * 64, "GFLOP/s"),
        Case("layernorm 4096x1024", 1.1, ("torch",), _normal(x=(4096, 1024), w=(1024,), b=(1024,)), _layer_norm, 1e-4, 8 << 22),
    )
}  # fmt: skip


def mytriton_runs(threads: int) -> dict[str, Callable[[dict[str, np.ndarray]], tuple[Run, Any]]]:
    import kernels as k

    import mytriton as triton
    from mytriton_mlir.cpu.pool import set_num_threads

    set_num_threads(threads)

    def add(v: Any) -> Any:
        x, y, n = v["x"], v["y"], v["x"].size
        out = np.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        return lambda: k.add_kernel[grid](x, y, out, n, BLOCK=1024), out

    def silu(v: Any) -> Any:
        x, n = v["x"], v["x"].size
        out = np.empty_like(x)
        grid = (triton.cdiv(n, 1024),)
        return lambda: k.silu_kernel[grid](x, out, n, BLOCK=1024), out

    def softmax(v: Any) -> Any:
        x = v["x"]
        out, (rows, cols) = np.empty_like(x), x.shape
        return lambda: k.softmax_kernel[(rows,)](x, out, cols, BLOCK=cols), out

    def row_sum(v: Any) -> Any:
        x = v["x"]
        rows, cols = x.shape
        out = np.empty(rows, np.float32)
        return lambda: k.row_sum_kernel[(rows,)](x, out, cols, BLOCK=cols), out

    def total(v: Any) -> Any:
        x, block = v["x"], 1 << 14
        parts = np.empty(x.size // block, np.float32)
        out = np.empty(1, np.float32)

        def run() -> None:
            k.sum_kernel[(parts.size,)](x, parts, x.size, BLOCK=block)
            k.sum_kernel[(1,)](parts, out, parts.size, BLOCK=parts.size)

        return run, out

    def matmul(v: Any) -> Any:
        a, b = v["a"], v["b"]
        (m, depth), n = a.shape, b.shape[1]
        c = np.empty((m, n), np.float32)
        grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
        return lambda: k.matmul_kernel[grid](a, b, c, m, n, depth, BM=64, BN=64), c

    def dot(v: Any) -> Any:
        a, b = v["a"], v["b"]
        (m, depth), n, kernel = a.shape, b.shape[1], k.example("matmul").matmul_kernel
        c = np.empty((m, n), np.float32)
        grid = (triton.cdiv(m, 128) * triton.cdiv(n, 128),)
        strides = [s // 4 for x in (a, b, c) for s in x.strides]
        return lambda: kernel[grid](
            a, b, c, m, n, depth, *strides, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8,
            ACTIVATION="",
        ), c  # fmt: skip

    def attention(v: Any) -> Any:
        q, keys, x, kernel = v["q"], v["k"], v["v"], k.example("attention").attention_kernel
        heads, length, head = q.shape
        out, scale = np.empty_like(q), float(np.log2(np.e) / np.sqrt(head))
        grid = (triton.cdiv(length, 64), heads)
        return lambda: kernel[grid](
            q, keys, x, out, length, scale, HEAD=head, BLOCK_M=64, BLOCK_N=64, CAUSAL=False
        ), out

    def layer_norm(v: Any) -> Any:
        x, kernel = v["x"], k.example("layer_norm").forward_kernel
        out, (rows, cols) = np.empty_like(x), x.shape
        mean, rstd = np.empty((2, rows), np.float32)
        return lambda: kernel[(rows,)](
            x, v["w"], v["b"], out, mean, rstd, cols, cols, 1e-5, BLOCK=cols
        ), out

    return {
        "add": add,
        "silu": silu,
        "softmax": softmax,
        "row": row_sum,
        "sum": total,
        "matmul": matmul,
        "dot": dot,
        "attention": attention,
        "layernorm": layer_norm,
    }


def numpy_runs(threads: int) -> dict[str, Any]:
    def add(v: Any) -> Any:
        out = np.empty_like(v["x"])
        return lambda: np.add(v["x"], v["y"], out=out), out

    def silu(v: Any) -> Any:
        x, out = v["x"], np.empty_like(v["x"])

        def run() -> None:
            np.negative(x, out=out)
            np.exp(out, out=out)
            np.add(out, 1, out=out)
            np.divide(x, out, out=out)

        return run, out

    def softmax(v: Any) -> Any:
        x, out = v["x"], np.empty_like(v["x"])

        def run() -> None:
            np.subtract(x, x.max(1, keepdims=True), out=out)
            np.exp(out, out=out)
            np.divide(out, out.sum(1, keepdims=True), out=out)

        return run, out

    def row_sum(v: Any) -> Any:
        out = np.empty(len(v["x"]), np.float32)
        return lambda: np.sum(v["x"], axis=1, out=out), out

    def total(v: Any) -> Any:
        out = np.empty((), np.float32)
        return lambda: np.sum(v["x"], out=out), out

    def matmul(v: Any) -> Any:
        out = np.empty((len(v["a"]), v["b"].shape[1]), np.float32)
        return lambda: np.matmul(v["a"], v["b"], out=out), out

    return {
        "add": add,
        "silu": silu,
        "softmax": softmax,
        "row": row_sum,
        "sum": total,
        "matmul": matmul,
        "dot": matmul,
    }


def numba_runs(threads: int) -> dict[str, Any]:
    import math

    import numba

    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    jit = numba.njit(parallel=threads > 1, fastmath=True)
    prange = numba.prange

    @jit
    def add_(x, y, out):
        for i in prange(x.size):
            out[i] = x[i] + y[i]

    @jit
    def silu_(x, out):
        for i in prange(x.size):
            out[i] = x[i] / (np.float32(1) + math.exp(-x[i]))

    @jit
    def softmax_(x, out):
        for i in prange(x.shape[0]):
            m = x[i, 0]
            for j in range(x.shape[1]):
                m = max(m, x[i, j])
            s = np.float32(0)
            for j in range(x.shape[1]):
                out[i, j] = math.exp(x[i, j] - m)
                s += out[i, j]
            for j in range(x.shape[1]):
                out[i, j] /= s

    @jit
    def row_sum_(x, out):
        for i in prange(x.shape[0]):
            s = np.float32(0)
            for j in range(x.shape[1]):
                s += x[i, j]
            out[i] = s

    @jit
    def total_(x, out):
        s = np.float32(0)
        for i in prange(x.size):
            s += x[i]
        out[0] = s

    @jit
    def matmul_(a, b, c):
        # The naive triple loop, in the order a Numba user would find fastest.
        for i in prange(a.shape[0]):
            for j in range(b.shape[1]):
                c[i, j] = 0
            for k in range(a.shape[1]):
                for j in range(b.shape[1]):
                    c[i, j] += a[i, k] * b[k, j]

    def like(function: Any, *names: str) -> Any:
        def make(v: Any) -> Any:
            out = np.empty_like(v["x"])
            return lambda: function(*(v[n] for n in names), out), out

        return make

    def row_sum(v: Any) -> Any:
        out = np.empty(len(v["x"]), np.float32)
        return lambda: row_sum_(v["x"], out), out

    def total(v: Any) -> Any:
        out = np.empty(1, np.float32)
        return lambda: total_(v["x"], out), out

    def matmul(v: Any) -> Any:
        out = np.empty((len(v["a"]), v["b"].shape[1]), np.float32)
        return lambda: matmul_(v["a"], v["b"], out), out

    return {
        "add": like(add_, "x", "y"), "silu": like(silu_, "x"), "softmax": like(softmax_, "x"),
        "row": row_sum, "sum": total, "matmul": matmul,
    }  # fmt: skip


def torch_runs(threads: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)

    def t(a: np.ndarray) -> Any:
        return torch.from_numpy(a)

    def add(v: Any) -> Any:
        x, y = t(v["x"]), t(v["y"])
        out = torch.empty_like(x)
        return lambda: torch.add(x, y, out=out), out

    def silu(v: Any) -> Any:
        x = t(v["x"])
        out = torch.empty_like(x)
        return lambda: torch.ops.aten.silu.out(x, out=out), out

    def softmax(v: Any) -> Any:
        x = t(v["x"])
        out = torch.empty_like(x)
        return lambda: torch.softmax(x, 1, out=out), out

    def row_sum(v: Any) -> Any:
        x = t(v["x"])
        out = torch.empty(len(x))
        return lambda: torch.sum(x, 1, out=out), out

    def total(v: Any) -> Any:
        x = t(v["x"])
        return lambda: torch.sum(x), lambda: torch.sum(x).numpy()

    def matmul(v: Any) -> Any:
        a, b = t(v["a"]), t(v["b"])
        out = torch.empty(len(a), b.shape[1])
        return lambda: torch.matmul(a, b, out=out), out

    def attention(v: Any) -> Any:
        q, k, x = (t(v[name])[None] for name in "qkv")
        function = torch.nn.functional.scaled_dot_product_attention
        return lambda: function(q, k, x), lambda: function(q, k, x).numpy()

    def layer_norm(v: Any) -> Any:
        x, w, b = (t(v[name]) for name in "xwb")
        function = torch.nn.functional.layer_norm
        return lambda: function(x, (len(w),), w, b), lambda: function(x, (len(w),), w, b).numpy()

    return {
        "add": add,
        "silu": silu,
        "softmax": softmax,
        "row": row_sum,
        "sum": total,
        "matmul": matmul,
        "dot": matmul,
        "attention": attention,
        "layernorm": layer_norm,
    }


def jax_runs(threads: int) -> dict[str, Any]:
    # The worker has bound itself to ``threads`` processors before this import.
    import jax
    import jax.numpy as jnp

    def make(function: Any, *names: str) -> Any:
        compiled = jax.jit(function)

        def case(v: Any) -> Any:
            args = [jax.device_put(v[n]) for n in names]
            return (
                lambda: compiled(*args).block_until_ready(),
                lambda: np.asarray(compiled(*args)),
            )

        return case

    return {
        "add": make(lambda x, y: x + y, "x", "y"),
        "silu": make(jax.nn.silu, "x"),
        "softmax": make(lambda x: jax.nn.softmax(x, axis=1), "x"),
        "row": make(lambda x: jnp.sum(x, axis=1), "x"),
        "sum": make(jnp.sum, "x"),
        "matmul": make(jnp.matmul, "a", "b"),
        "dot": make(jnp.matmul, "a", "b"),
    }


PEERS = {
    "mytriton": mytriton_runs, "numpy": numpy_runs, "numba": numba_runs, "jax": jax_runs,
    "torch": torch_runs,
}  # fmt: skip
