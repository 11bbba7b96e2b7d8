"""Launch grids of one to three dimensions, and kernels without any block."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .build import case, data, sentinel


@triton.jit
def ids_kernel(out, X, Y, Z):
    x = tl.program_id(0)
    y = tl.program_id(1)
    z = tl.program_id(2)
    place = (z * Y + y) * X + x
    tl.store(out + place, x + 10 * y + 100 * z)


@triton.jit
def line_kernel(out):
    pid = tl.program_id(0)
    tl.store(out + pid, pid * pid - 3)


@triton.jit
def only_axis1_kernel(out):
    pid = tl.program_id(1)
    tl.store(out + pid, pid + 1)


@triton.jit
def only_axis2_kernel(out):
    pid = tl.program_id(2)
    tl.store(out + pid, pid + 1)


@triton.jit
def slab_kernel(x, out, Y, Z, n, BLOCK: tl.constexpr):
    row = tl.program_id(1) * Z + tl.program_id(2)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    place = row * n + offs
    tl.store(out + place, tl.load(x + place, mask=mask) + row, mask=mask)


@triton.jit
def transpose_grid_kernel(x, out, M, N):
    i = tl.program_id(0)
    j = tl.program_id(1)
    tl.store(out + j * M + i, tl.load(x + i * N + j))


@triton.jit
def scalar_work_kernel(x, y, out):
    pid = tl.program_id(0)
    a = tl.load(x + pid)
    b = tl.load(y + pid)
    tl.store(out + pid, tl.where(a < b, tl.exp(a * 0.0) + b, -a))


@triton.jit
def same_value_kernel(out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, offs * 2 + 1)


def _ids(grid):
    x, y, z = (*grid, 1, 1)[:3]
    return np.array(
        [i + 10 * j + 100 * k for k in range(z) for j in range(y) for i in range(x)], np.int32
    )


GRIDS = (
    (1,), (5,), (1, 1), (3, 2), (1, 4), (4, 1), (2, 2, 2), (3, 2, 4), (1, 1, 7), (5, 1, 2),
    (1, 3, 1), (2, 3, 5), (1, 1, 1),
)  # fmt: skip


def cases() -> Iterator[Case]:
    for grid in GRIDS:
        x, y, z = (*grid, 1, 1)[:3]
        yield case(
            "grid.ids", ("x".join(map(str, grid)),), ids_kernel, grid,
            lambda rng, x=x, y=y, z=z: {"out": sentinel(x * y * z + 1, "i32"), "X": x, "Y": y, "Z": z},
            lambda a, g=grid: {"out": np.append(_ids(g), a["out"][-1:])},
        )  # fmt: skip
    for n in (1, 2, 100, 400):
        yield case(
            "grid.line", (f"n={n}",), line_kernel, n,
            lambda rng, n=n: {"out": sentinel(n + 2, "i32")},
            lambda a, n=n: {"out": np.append(np.arange(n) ** 2 - 3, a["out"][-2:]).astype("i4")},
            level="core",
        )  # fmt: skip
    yield case(
        "grid.only_axis1", (), only_axis1_kernel, (1, 4), lambda rng: {"out": sentinel(4, "i32")},
        lambda a: {"out": np.arange(1, 5, dtype=np.int32)},
    )  # fmt: skip
    yield case(
        "grid.only_axis2", (), only_axis2_kernel, (1, 1, 4),
        lambda rng: {"out": sentinel(4, "i32")}, lambda a: {"out": np.arange(1, 5, dtype=np.int32)},
    )  # fmt: skip
    for y, z, n in ((2, 2, 40), (3, 1, 32), (1, 5, 33), (2, 3, 100)):
        yield case(
            "grid.slabs", (f"y={y}", f"z={z}", f"n={n}"), slab_kernel, (-(-n // 32), y, z),
            lambda rng, y=y, z=z, n=n: {
                "x": data(rng, (y * z, n), "f32"), "out": sentinel((y * z, n), "f32"), "Y": y,
                "Z": z, "n": n, "BLOCK": 32,
            },
            lambda a: {"out": a["x"] + np.arange(len(a["x"]), dtype=np.float32)[:, None]},
        )  # fmt: skip
    yield case(
        "grid.transpose", (), transpose_grid_kernel, (5, 7),
        lambda rng: {
            "x": data(rng, (5, 7), "f32"), "out": sentinel((7, 5), "f32"), "M": 5, "N": 7
        },
        lambda a: {"out": a["x"].T.copy()},
    )  # fmt: skip
    yield case(
        "grid.scalar_work", (), scalar_work_kernel, 20,
        lambda rng: {
            "x": data(rng, 20, "f32"), "y": data(rng, 20, "f32"), "out": sentinel(20, "f32")
        },
        lambda a: {"out": np.where(a["x"] < a["y"], 1 + a["y"], -a["x"])}, level="core",
        note="a kernel without any block",
    )  # fmt: skip
    yield case(
        "grid.same_value", (), same_value_kernel, 3,
        lambda rng: {"out": sentinel(64, "i32"), "BLOCK": 64},
        lambda a: {"out": np.arange(64, dtype=np.int32) * 2 + 1}, level="core",
        note="programs that store the same value to the same place do not conflict",
    )  # fmt: skip
