"""Matrix products and transposition."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import EXACT, REDUCTION, Case
from .axes import shown
from .build import data, dtype, exact, is_float, of_edition, rounded, small
from .casts import TYPES


@triton.jit
def dot_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(a, b))


@triton.jit
def precision_kernel(
    x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr
):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + m[:, None] * K + k[None, :])
    b = tl.load(y + k[:, None] * N + n[None, :])
    if PRECISION == "allow_tf32":
        c = tl.dot(a, b, allow_tf32=True)
    elif PRECISION == "forbid_tf32":
        c = tl.dot(a, b, allow_tf32=False)
    elif PRECISION == "half":
        c = tl.dot(a, b, out_dtype=tl.float16)
    else:
        c = tl.dot(a, b, input_precision=PRECISION)
    tl.store(out + m[:, None] * N + n[None, :], c)


@triton.jit
def accumulate_kernel(x, y, z, out, N: tl.constexpr, T: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    acc = tl.load(z + tile)
    acc = tl.dot(tl.load(x + tile), tl.load(y + tile), acc)
    acc = tl.dot(tl.load(y + tile), tl.load(x + tile), acc=acc, out_dtype=T)
    tl.store(out + tile, acc)


@triton.jit
def matmul_kernel(
    x, y, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    a_ptrs = x + rows[:, None] * k + inner[None, :]
    b_ptrs = y + inner[:, None] * n + columns[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, k, BK):
        a = tl.load(a_ptrs, mask=(rows[:, None] < m) & (inner[None, :] < k - step), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < k - step) & (columns[None, :] < n), other=0.0)
        acc += tl.dot(a, b)
        a_ptrs += BK
        b_ptrs += BK * n
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], acc, mask=mask)


@triton.jit
def empty_loop_kernel(x, y, z, out, trips, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    acc = tl.load(z + tile)
    for t in range(trips):
        acc = tl.dot(tl.load(x + t * N * N + tile), tl.load(y + tile), acc)
    tl.store(out + tile, acc)


@triton.jit
def batched_kernel(
    x, y, out, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):  # fmt: skip
    b = tl.arange(0, B)[:, None, None]
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    left = tl.load(x + b * (M * K) + m[None, :, None] * K + k[None, None, :])
    right = tl.load(y + b * (K * N) + k[None, :, None] * N + n[None, None, :])
    tl.store(out + b * (M * N) + m[None, :, None] * N + n[None, None, :], tl.dot(left, right))


@triton.jit
def transposed_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(x + k[:, None] * M + m[None, :])
    b = tl.load(y + n[:, None] * K + k[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(a.T, tl.trans(b)))


@triton.jit
def transposed_loop_kernel(x, y, out, trips, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for t in range(trips):
        a = tl.load(x + (t * K + k)[:, None] * M + m[None, :])
        b = tl.load(y + (t * K + k)[:, None] * N + n[None, :])
        acc = tl.dot(tl.trans(a), b, acc)
    tl.store(out + m[:, None] * N + n[None, :], acc)


@triton.jit
def epilogue_kernel(x, y, bias, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    c = tl.dot(tl.load(x + tile), tl.load(y + tile))
    c = c + tl.load(bias + i)[None, :]
    c = tl.where(c > 0, c, c * 0.5)
    c = tl.dot(c.to(tl.float16), tl.load(y + tile))
    tl.store(out + tile, (c - tl.max(c, axis=1)[:, None]).to(tl.float16))


@triton.jit
def turned_kernel(x, y, out, again, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    c = tl.dot(tl.load(x + tile), tl.load(y + tile))
    tl.store(out + tile, tl.trans(c))
    tl.store(again + tile, tl.dot(tl.trans(c).to(tl.float32), c) + tl.sum(c, axis=0)[:, None])


@triton.jit
def branch_kernel(x, y, out, c, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    a = tl.load(x + tile)
    b = tl.load(y + tile)
    if c > 0:
        result = tl.dot(a, b)
    else:
        result = tl.dot(b, a) + a
    tl.store(out + tile, result)


@triton.jit
def trans_kernel(x, out, again, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    a = tl.load(x + m[:, None] * N + n[None, :])
    there = n[:, None] * M + m[None, :]
    tl.store(out + there, tl.trans(a))
    tl.store(again + there, a.T + tl.permute(a, (1, 0)) + tl.permute(a, 1, 0) + a.trans())


@triton.jit
def permute_kernel(
    x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, ORDER: tl.constexpr
):  # fmt: skip
    i = tl.arange(0, A)
    j = tl.arange(0, B)
    k = tl.arange(0, C)
    cube = tl.load(x + i[:, None, None] * (B * C) + j[None, :, None] * C + k[None, None, :])
    moved = tl.permute(cube, ORDER)
    P: tl.constexpr = moved.shape[0]
    Q: tl.constexpr = moved.shape[1]
    R: tl.constexpr = moved.shape[2]
    p = tl.arange(0, P)
    q = tl.arange(0, Q)
    r = tl.arange(0, R)
    tl.store(out + p[:, None, None] * (Q * R) + q[None, :, None] * R + r[None, None, :], moved)


@triton.jit
def trans_mask_kernel(x, out, rows, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    mask = (i[:, None] < rows) & (i[None, :] < N)
    a = tl.load(x + tile, mask=mask, other=0.0)
    tl.store(out + tile, tl.trans(a) + 1.0, mask=tl.trans(mask))


@triton.jit
def symmetric_kernel(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tile = i[:, None] * N + i[None, :]
    a = tl.load(x + tile)
    for _ in range(3):
        a = a + tl.trans(a)
    tl.store(out + tile, a)


#: Operands and result. Whole numbers: every order of summation is exact.
TYPED = (
    ("f32", "f32"), ("f16", "f32"), ("bf16", "f32"), ("i8", "i32"), ("f64", "f64"), ("u8", "i32"),
)  # fmt: skip


def few(rng, shape, d):
    """Whole numbers of which products of 32 sum up exactly in every type."""
    return rng.integers(0 if d[0] == "u" else -3, 4, shape).astype(dtype(d))


def product(a, out, left="x", right="y"):
    """Exactly, rounded once."""
    x, y = (np.asarray(a[k]).astype(np.float64) for k in (left, right))
    return rounded(np.matmul(x, y), out) if is_float(out) else np.matmul(x, y).astype(dtype(out))


@of_edition("2026.2")
def cases() -> Iterator[Case]:
    yield from _typed()
    yield from _loops()
    yield from _others()
    yield from _transposed()


def _dot(path, d, out, shape, make=few, kernel=dot_kernel, extra=None, axes=(), **fields):
    m, n, k = shape
    return shown(
        path, (d, *axes, f"shape={m}x{n}x{k}"), kernel, 1,
        lambda rng: {"x": make(rng, (m, k), d), "y": make(rng, (k, n), d)},
        {"M": m, "N": n, "K": k, **(extra or {})}, {"out": ((m, n), out)},
        lambda a: {"out": product(a, out)}, **fields,
    )  # fmt: skip


def _summed(k):
    """Tolerance of sums of ``k`` products of ordinary numbers."""
    return {
        "tolerance": REDUCTION, "terms": k,
        "magnitude": lambda a: {
            "out": np.matmul(*(np.abs(np.asarray(a[n]).astype(np.float64)) for n in "xy"))
        },
    }  # fmt: skip


def _typed() -> Iterator[Case]:
    for d, out in TYPED:
        yield _dot("dot.type", d, out, (16, 16, 16), note="sums are exact")
    yield _dot(
        "dot.half", "f16", "f16", (16, 16, 16), kernel=precision_kernel,
        extra={"PRECISION": "half"}, note="the result may be asked for in f16",
    )  # fmt: skip
    for shape in ((1, 1, 1), (2, 1, 8), (16, 1, 4), (1, 16, 2), (8, 2, 1)):
        yield _dot("dot.narrow", "f32", "f32", shape, data, **_summed(shape[2]))
    for shape in ((16, 16, 16), (32, 16, 32), (16, 32, 64)):
        yield _dot("dot.floats", "f32", "f32", shape, data, **_summed(shape[2]))
    for d in ("f16", "bf16", "f64"):
        yield _dot(
            "dot.floats", d, "f64" if d == "f64" else "f32", (16, 16, 32), data, **_summed(32)
        )  # fmt: skip
    yield _dot(
        "dot.accumulates", "f16", "f32", (16, 16, 64),
        lambda rng, shape, d: np.full(shape, 64, dtype(d)),
        note="64 * 64 * 64 is beyond what f16 holds",
    )  # fmt: skip
    for label in ("ieee", "tf32", "tf32x3", "allow_tf32", "forbid_tf32"):
        yield _dot(
            "dot.precision", "f32", "f32", (16, 16, 16), kernel=precision_kernel, axes=(label,),
            extra={"PRECISION": label}, note="whole numbers are exact in every precision",
        )  # fmt: skip
    yield _dot(
        "dot.precision.ieee", "f32", "f32", (16, 16, 16), data, kernel=precision_kernel,
        extra={"PRECISION": "ieee"}, **_summed(16),
    )  # fmt: skip
    for d, acc in (("f16", "f32"), ("f32", "f32"), ("i8", "i32")):

        def both(a, acc=acc):
            x, y, z = (np.asarray(a[k]).astype(np.float64) for k in "xyz")
            return {"out": (x @ y + y @ x + z).astype(dtype(acc))}

        yield shown(
            "dot.acc", (f"{d}_{acc}",), accumulate_kernel, 1,
            lambda rng, d=d, acc=acc: {
                "x": few(rng, (16, 16), d), "y": few(rng, (16, 16), d),
                "z": small(rng, (16, 16), acc),
            },
            {"N": 16, "T": TYPES[acc]}, {"out": ((16, 16), acc)}, both,
        )  # fmt: skip


def _loops() -> Iterator[Case]:
    for d in ("f16", "f32"):
        for m, n, k in ((16, 16, 16), (20, 30, 40), (33, 17, 16), (1, 1, 1), (16, 16, 0)):

            def tiles(a):
                return {"out": product(a, "f32")}

            yield shown(
                "dot.matmul", (d, f"shape={m}x{n}x{k}"), matmul_kernel, (-(-m // 16), -(-n // 16)),
                lambda rng, d=d, m=m, n=n, k=k: {"x": few(rng, (m, k), d), "y": few(rng, (k, n), d)},
                {"m": m, "n": n, "k": k, "BM": 16, "BN": 16, "BK": 16},
                {"out": ((m, n), "f32")}, tiles, note="masked edges are zeros",
            )  # fmt: skip
    for trips in (0, 1, 3):

        def carried(a, trips=trips):
            found = exact(a["z"])
            for t in range(trips):
                found = found + exact(a["x"])[t] @ exact(a["y"])
            return {"out": found.astype(np.float32)}

        yield shown(
            "dot.empty_loop", (f"trips={trips}",), empty_loop_kernel, 1,
            lambda rng: {
                "x": few(rng, (3, 16, 16), "f16"), "y": few(rng, (16, 16), "f16"),
                "z": small(rng, (16, 16), "f32"),
            },
            {"trips": trips, "N": 16}, {"out": ((16, 16), "f32")}, carried,
            note="the accumulator goes through a loop that may make no trip",
        )  # fmt: skip


def _others() -> Iterator[Case]:
    for d, out, b in (("f16", "f32", 2), ("f32", "f32", 4), ("i8", "i32", 2), ("f32", "f32", 1)):
        yield shown(
            "dot.batched", (d, f"batches={b}"), batched_kernel, 1,
            lambda rng, d=d, b=b: {"x": few(rng, (b, 16, 16), d), "y": few(rng, (b, 16, 16), d)},
            {"B": b, "M": 16, "N": 16, "K": 16}, {"out": ((b, 16, 16), out)},
            lambda a, out=out: {"out": product(a, out)},
        )  # fmt: skip
    for d in ("f16", "f32"):
        yield shown(
            "dot.transposed", (d,), transposed_kernel, 1,
            lambda rng, d=d: {"x": few(rng, (32, 16), d), "y": few(rng, (16, 32), d)},
            {"M": 16, "N": 16, "K": 32}, {"out": ((16, 16), "f32")},
            lambda a: {"out": (exact(a["x"]).T @ exact(a["y"]).T).astype(np.float32)},
        )  # fmt: skip

    for d, m in (("f16", 16), ("f32", 16), ("f32", 32)):
        yield shown(
            "dot.transposed_loop", (d, f"shape={m}x16x16"), transposed_loop_kernel, 1,
            lambda rng, d=d, m=m: {"x": few(rng, (48, m), d), "y": few(rng, (48, 16), d)},
            {"trips": 3, "M": m, "N": 16, "K": 16}, {"out": ((m, 16), "f32")},
            lambda a: {"out": (exact(a["x"]).T @ exact(a["y"])).astype(np.float32)},
            note="each trip adds the product of a block that is turned",
        )  # fmt: skip

    def epilogue(a):
        x, y, bias = (exact(a[k]) for k in ("x", "y", "bias"))
        c = x @ y + bias
        c = np.where(c > 0, c, c * 0.5).astype(np.float16).astype(np.float64) @ y
        return {"out": (c - c.max(axis=1, keepdims=True)).astype(np.float16)}

    yield shown(
        "dot.epilogue", ("f16",), epilogue_kernel, 1,
        lambda rng: {
            "x": few(rng, (16, 16), "f16"), "y": few(rng, (16, 16), "f16"),
            "bias": small(rng, 16, "f32"),
        },
        {"N": 16}, {"out": ((16, 16), "f16")}, epilogue, tolerance=EXACT,
        note="a product of a product, with a reduction after it",
    )  # fmt: skip
    for n in (4, 16):

        def turned(a):
            c = exact(a["x"]) @ exact(a["y"])
            both = c.T @ c + c.sum(axis=0)[:, None]
            return {"out": c.T.astype(np.float32), "again": both.astype(np.float32)}

        yield shown(
            "dot.then_trans", (f"n={n}",), turned_kernel, 1,
            lambda rng, n=n: {"x": few(rng, (n, n), "f32"), "y": few(rng, (n, n), "f32")},
            {"N": n}, {"out": ((n, n), "f32"), "again": ((n, n), "f32")}, turned,
            note="a product is a block like any other",
        )  # fmt: skip
    for c in (0, 1):

        def branch(a, c=c):
            x, y = exact(a["x"]), exact(a["y"])
            return {"out": (x @ y if c else y @ x + x).astype(np.float32)}

        yield shown(
            "dot.branch", (f"c={c}",), branch_kernel, 1,
            lambda rng: {"x": few(rng, (16, 16), "f32"), "y": few(rng, (16, 16), "f32")},
            {"c": c, "N": 16}, {"out": ((16, 16), "f32")}, branch,
        )  # fmt: skip


def _transposed() -> Iterator[Case]:
    for d, m, n in (("f32", 16, 32), ("f32", 1, 8), ("f32", 4, 4), ("i8", 8, 16), ("bool", 4, 8),
                    ("f16", 16, 8), ("i64", 4, 16), ("bf16", 8, 8), ("f64", 2, 64)):  # fmt: skip

        def turned(a, d=d):
            t = a["x"].T
            return {"out": t, "again": t * 0 if d == "bool" else (t * dtype(d).type(4))}

        yield shown(
            "trans.two", (d, f"shape={m}x{n}"), trans_kernel, 1,
            lambda rng, d=d, s=(m, n): {"x": _quarter(rng, s, d)}, {"M": m, "N": n},
            {"out": ((n, m), d), "again": ((n, m), d)}, turned,
        )  # fmt: skip
    for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        shape = (2, 4, 8)
        yield shown(
            "trans.permute", ("order=" + "".join(map(str, order)),), permute_kernel, 1,
            lambda rng, shape=shape: {"x": small(rng, shape, "i32")},
            {**dict(zip("ABC", shape, strict=True)), "ORDER": order},
            {"out": (tuple(shape[k] for k in order), "i32")},
            lambda a, o=order: {"out": a["x"].transpose(o)},
        )  # fmt: skip
    for rows in (0, 5, 16):

        def masked(a, rows=rows):
            a["out"][:, :rows] = a["x"][:rows].T + 1
            return {"out": a["out"]}

        yield shown(
            "trans.mask", (f"rows={rows}",), trans_mask_kernel, 1,
            lambda rng, rows=rows: {"x": small(rng, (16, 16), "f32")}, {"rows": rows, "N": 16},
            {"out": ((16, 16), "f32")}, masked,
        )  # fmt: skip

    def symmetric(a):
        x = exact(a["x"])
        for _ in range(3):
            x = x + x.T
        return {"out": x.astype(np.float32)}

    yield shown(
        "trans.in_loop", ("f32",), symmetric_kernel, 1,
        lambda rng: {"x": small(rng, (8, 8), "f32")}, {"N": 8}, {"out": ((8, 8), "f32")}, symmetric,
    )  # fmt: skip


def _quarter(rng, shape, d):
    """Numbers of which four times stays exact."""
    return data(rng, shape, d) if d == "bool" else small(rng, shape, d) // dtype(d).type(4)
