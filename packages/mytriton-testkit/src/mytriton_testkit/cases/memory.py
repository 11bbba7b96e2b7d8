"""Access patterns: gather and scatter, strides, views, empty arrays, what stays untouched."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from . import elementwise
from .build import case, data, dtype, sentinel, small


@triton.jit
def gather_kernel(x, index, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    where = tl.load(index + offs, mask=mask)
    tl.store(out + offs, tl.load(x + where, mask=mask), mask=mask)


@triton.jit
def scatter_kernel(x, index, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    where = tl.load(index + offs, mask=mask)
    tl.store(out + where, tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def strided_kernel(x, out, n, sx, so, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs * so, tl.load(x + offs * sx, mask=mask), mask=mask)


@triton.jit
def matrix_kernel(x, out, M, N, sx0, sx1, so0, so1, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, BLOCK)
    mask = offs < N
    tl.store(
        out + row * so0 + offs * so1, tl.load(x + row * sx0 + offs * sx1, mask=mask), mask=mask
    )


@triton.jit
def pointer_chain_kernel(x, out, a, b, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    source = a + x + b
    tl.store(offs + (out + 1), tl.load(source + offs + 2))
    tl.store(out, tl.load(source))


@triton.jit
def arange_start_kernel(x, out, START: tl.constexpr, STOP: tl.constexpr):
    offs = tl.arange(START, STOP)
    tl.store(out + offs, tl.load(x + offs) + offs)


@triton.jit
def broadcast_load_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(
        out + offs, tl.load(x + tl.program_id(0)) + tl.load(x + offs * 0, mask=mask), mask=mask
    )


@triton.jit
def store_constant_kernel(out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, 3, mask=offs < n)


@triton.jit
def every_third_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) * 3
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask), mask=mask)


@triton.jit
def wide_offset_kernel(x, out, n, base, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    far = offs + base
    tl.store(out + (far - base), tl.load(x + (far - base), mask=mask), mask=mask)


@triton.jit
def small_offset_kernel(x, index, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + tl.load(index + offs)))


@triton.jit
def interleave_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + 2 * offs, tl.load(x + offs, mask=mask), mask=mask)
    tl.store(out + 2 * offs + 1, tl.load(y + offs, mask=mask), mask=mask)


@triton.jit
def far_offset_kernel(x, out, STEP: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK) * STEP
    tl.store(out + offs, tl.load(x + offs))


def _copy(path, axes, make, expected, level="standard", n=100, note=""):
    """``copy_kernel`` from one view to another; ``make(rng)`` gives ``x`` and ``out``."""

    def arguments(rng):
        x, out = make(rng)
        return {"x": x, "out": out, "n": n, "BLOCK": 64}

    return case(
        path, axes, elementwise.copy_kernel, max(1, -(-n // 64)), arguments, expected, level=level,
        note=note,
    )  # fmt: skip


def cases() -> Iterator[Case]:
    for d in ("f32", "i32", "i8", "f16", "i64", "bool"):
        level = "core" if d in ("f32", "i32") else "standard"
        yield case(
            "memory.gather", (d,), gather_kernel, 2,
            lambda rng, d=d: {
                "x": data(rng, 40, d), "index": rng.integers(0, 40, 100).astype(np.int32),
                "out": sentinel(100, d), "n": 100, "BLOCK": 64,
            },
            lambda a: {"out": a["x"][a["index"]]}, level=level,
        )  # fmt: skip

        def scattered(a):
            a["out"][a["index"]] = a["x"]
            return {"out": a["out"]}

        yield case(
            "memory.scatter", (d,), scatter_kernel, 2,
            lambda rng, d=d: {
                "x": data(rng, 100, d), "index": rng.permutation(120)[:100].astype(np.int32),
                "out": sentinel(120, d), "n": 100, "BLOCK": 64,
            },
            scattered, level=level,
        )  # fmt: skip
    for d in ("i64", "i8", "u8", "i16"):
        yield case(
            "memory.index_type", (d,), small_offset_kernel, 1,
            lambda rng, d=d: {
                "x": data(rng, 100, "f32"), "index": rng.integers(0, 100, 64).astype(dtype(d)),
                "out": sentinel(64, "f32"), "BLOCK": 64,
            },
            lambda a: {"out": a["x"][a["index"]]},
        )  # fmt: skip
    yield from _strides()
    yield from _views()
    yield from _untouched()
    yield from _pointers()


def _strides() -> Iterator[Case]:
    def strided(a):
        n, sx, so = a["n"], a["sx"], a["so"]
        flat = a["out"].reshape(-1)
        flat[np.arange(n) * so] = a["x"].reshape(-1)[np.arange(n) * sx]
        return {"out": a["out"]}

    for sx, so in ((1, 1), (2, 1), (1, 3), (4, 4), (0, 2)):
        yield case(
            "memory.strided", (f"sx={sx}", f"so={so}"), strided_kernel, 2,
            lambda rng, sx=sx, so=so: {
                "x": data(rng, 400, "f32"), "out": sentinel(400, "f32"), "n": 90, "sx": sx,
                "so": so, "BLOCK": 64,
            },
            strided, level="core",
        )  # fmt: skip
    layouts = {
        "c": lambda m: m, "transposed": lambda m: np.ascontiguousarray(m.T).T,
        "every_other": lambda m: np.repeat(np.repeat(m, 2, axis=0), 2, axis=1)[::2, ::2],
        "reversed_rows": lambda m: m[::-1], "reversed_columns": lambda m: m[:, ::-1],
        "reversed_both": lambda m: m[::-1, ::-1],
    }  # fmt: skip
    for name, view in layouts.items():
        for which in ("x", "out"):

            def arguments(rng, view=view, which=which):
                x, out = data(rng, (7, 13), "f32"), sentinel((7, 13), "f32")
                x, out = (view(x), out) if which == "x" else (x, view(out))
                strides = [s // 4 for s in (*x.strides, *out.strides)]
                names = dict(zip(("sx0", "sx1", "so0", "so1"), strides, strict=True))
                return {"x": x, "out": out, "M": 7, "N": 13, **names, "BLOCK": 16}

            yield case(
                "memory.matrix", (name, which), matrix_kernel, 7, arguments,
                lambda a: {"out": a["x"].copy()},
            )  # fmt: skip


def _views() -> Iterator[Case]:
    for d, skip in (("f32", 1), ("f32", 3), ("f16", 1), ("i8", 3), ("f64", 1), ("i64", 5)):

        def shifted(rng, d=d, skip=skip):
            return data(rng, 120, d)[skip:], sentinel(125, d)[skip + 1 :]

        def expected(a):
            a["out"][:100] = a["x"][:100]
            return {"out": a["out"]}

        yield _copy(
            "memory.shifted_view", (d, f"skip={skip}"), shifted, expected,
            level="core" if d == "f32" else "standard",
            note="views that start in the middle of an array",
        )  # fmt: skip

    def misaligned(rng):
        raw = np.zeros(4 * 110 + 1, np.uint8)
        x = raw[1 : 4 * 110 + 1].view(np.float32)
        x[:] = data(rng, 110, "f32")
        return x, sentinel(110, "f32")

    yield _copy(
        "memory.odd_address", ("f32",), misaligned,
        lambda a: {"out": np.append(a["x"][:100], a["out"][100:])}, level="extended",
        note="elements at addresses that are no multiple of their size",
    )  # fmt: skip
    yield _copy(
        "memory.rank", ("f32",),
        lambda rng: (data(rng, (4, 5, 5), "f32"), sentinel((10, 10), "f32")),
        lambda a: {"out": a["x"].reshape(10, 10)}, level="core",
        note="an array of any rank is a pointer to its first element",
    )  # fmt: skip
    yield _copy(
        "memory.scalar_array", ("f32",),
        lambda rng: (np.array(2.5, np.float32), sentinel((), "f32")),
        lambda a: {"out": a["x"]}, level="core", n=1, note="arrays without axes",
    )  # fmt: skip
    for shape in ((0,), (3, 0)):
        yield _copy(
            "memory.zero_size", ("x".join(map(str, shape)),),
            lambda rng, s=shape: (sentinel(s, "f32"), sentinel(s, "f32")),
            lambda a: {"out": a["out"]}, level="core", n=0,
        )  # fmt: skip


def _untouched() -> Iterator[Case]:
    for n in (0, 1, 63, 100):
        yield case(
            "memory.untouched.tail", (f"n={n}",), store_constant_kernel, 2,
            lambda rng, n=n: {"out": sentinel(128, "i32"), "n": n, "BLOCK": 64},
            lambda a, n=n: {"out": np.where(np.arange(128) < n, 3, a["out"]).astype(np.int32)},
            level="core",
        )  # fmt: skip
    for d in ("f32", "i8", "f16", "f64"):
        yield case(
            "memory.untouched.gaps", (d,), every_third_kernel, 2,
            lambda rng, d=d: {
                "x": data(rng, 200, d), "out": sentinel(200, d), "n": 200, "BLOCK": 64
            },
            lambda a: {"out": np.where(np.arange(200) % 3 == 0, a["x"], a["out"])},
            level="core" if d == "f32" else "standard",
        )  # fmt: skip
    yield case(
        "memory.interleave", (), interleave_kernel, 2,
        lambda rng: {
            "x": data(rng, 100, "f32"), "y": data(rng, 100, "f32"), "out": sentinel(201, "f32"),
            "n": 100, "BLOCK": 64,
        },
        lambda a: {"out": np.append(np.stack([a["x"], a["y"]], 1).reshape(-1), a["out"][-1:])},
        level="core",
    )  # fmt: skip


def _pointers() -> Iterator[Case]:
    yield case(
        "memory.pointer_chain", (), pointer_chain_kernel, 1,
        lambda rng: {
            "x": data(rng, 80, "f32"), "out": sentinel(65, "f32"), "a": 5, "b": -2, "BLOCK": 64
        },
        lambda a: {"out": np.append(a["x"][3:4], a["x"][5:69])}, level="core",
    )  # fmt: skip
    for start, stop in ((3, 67), (100, 164), (7, 8)):

        def expected(a, s=start, t=stop):
            a["out"][s:t] = a["x"][s:t] + np.arange(s, t)
            return {"out": a["out"]}

        yield case(
            "memory.arange_start", (f"start={start}", f"stop={stop}"), arange_start_kernel, 1,
            lambda rng, s=start, t=stop: {
                "x": small(rng, 170, "f32"), "out": sentinel(170, "f32"), "START": s, "STOP": t
            },
            expected,
        )  # fmt: skip
    yield case(
        "memory.one_for_all", (), broadcast_load_kernel, 2,
        lambda rng: {"x": small(rng, 2, "f32"), "out": sentinel(100, "f32"), "n": 100, "BLOCK": 64},
        lambda a: {"out": a["x"][0] + np.repeat(a["x"], [64, 36])}, level="core",
    )  # fmt: skip
    yield case(
        "memory.far_offsets", (), far_offset_kernel, 1,
        lambda rng: {
            "x": data(rng, 70_000, "f32"), "out": sentinel(70_000, "f32"), "STEP": 1100, "BLOCK": 64
        },
        lambda a: {"out": np.where(np.arange(70_000) % 1100 == 0, a["x"], a["out"])},
        level="core", note="offsets that 16 bits do not hold",
    )  # fmt: skip
    for base in (2**33, -(2**40)):
        yield case(
            "memory.i64_offsets", (f"base={base}",), wide_offset_kernel, 2,
            lambda rng, base=base: {
                "x": data(rng, 100, "f32"), "out": sentinel(100, "f32"), "n": 100, "base": base,
                "BLOCK": 64,
            },
            lambda a: {"out": a["x"]},
        )  # fmt: skip
