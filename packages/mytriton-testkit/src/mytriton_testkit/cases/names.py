"""Names that other languages, or our own compiler, use for something else."""

# mypy: ignore-errors
# (Kernels are read by our compiler: rewriting an expression changes the program under test.)
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import mytriton as triton
import mytriton.language as tl

from ..case import Case
from .build import case, sentinel, small


@triton.jit
def temporaries(v0, v1, v2, n, BLOCK: tl.constexpr):
    x = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(v2 + x, tl.load(v0 + x, mask=x < n) + tl.load(v1 + x, mask=x < n), mask=x < n)


@triton.jit
def c_words(int, float, double, long, char):
    i = tl.program_id(0)
    tl.store(char + i, tl.load(int + i) * float + tl.load(double + i) * long)


@triton.jit
def more_c_words(void, restrict, register, struct, switch, unsigned, static):
    i = tl.program_id(0)
    tl.store(void + i, tl.load(restrict + i) + register + struct + switch + unsigned + static)


@triton.jit
def threads(threadIdx, blockIdx, blockDim, gridDim, warpSize, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(warpSize + i, tl.load(threadIdx + i) + blockIdx + blockDim + gridDim)


@triton.jit
def python_words(lambda_, _, self, None_, i):
    k = tl.program_id(0)
    tl.store(lambda_ + k, tl.load(_ + k) + self + None_ + i)


@triton.jit
def functions(exp, max, min, sum, expf, fmaxf, memcpy, main):
    k = tl.program_id(0)
    a = tl.load(exp + k)
    tl.store(main + k, tl.exp(a * 0.0) + tl.maximum(a, max) + tl.minimum(a, min))
    tl.store(main + k + 4, a + sum + expf + fmaxf + memcpy)


@triton.jit
def ssa_words(none, true, range, kernel, args, for_):
    k = tl.program_id(0)
    tl.store(none + k, tl.load(true + k) + range + kernel + args + for_)


@triton.jit
def unicode_words(größe, Δ, ξ_1):
    k = tl.program_id(0)
    tl.store(größe + k, tl.load(Δ + k) + ξ_1)


@triton.jit
def double(x, out):
    k = tl.program_id(0)
    tl.store(out + k, tl.load(x + k) * 2)


@triton.jit
def main(x, out):
    k = tl.program_id(0)
    tl.store(out + k, tl.load(x + k) * 3)


@triton.jit
def shadowed(x, out, n):
    tl_exp = tl.exp(0.0 * tl.load(x))
    out0 = tl_exp
    for out1 in range(n):
        x0 = out0 + out1
        out0 = x0 * 2.0
    for x1 in range(n):
        out0 = out0 + x1
    tl.store(out, out0)


@triton.jit
def long_names(
    a_name_that_is_rather_longer_than_the_sixty_three_characters_some_linkers_keep_of_it_1,
    a_name_that_is_rather_longer_than_the_sixty_three_characters_some_linkers_keep_of_it_2,
):
    k = tl.program_id(0)
    tl.store(
        a_name_that_is_rather_longer_than_the_sixty_three_characters_some_linkers_keep_of_it_2 + k,
        tl.load(
            a_name_that_is_rather_longer_than_the_sixty_three_characters_some_linkers_keep_of_it_1
            + k
        ),
    )


def _sum(label, kernel, arrays, out, numbers, block=None):
    """A kernel that stores the sum of one array and all its scalars."""

    def arguments(rng):
        given = {name: small(rng, 4, "f32") for name in arrays}
        given = {**given, out: sentinel(4, "f32"), **numbers}
        return {**given, **({} if block is None else {"BLOCK": block})}

    total = np.float32(sum(numbers.values()))
    return case(
        f"names.{label}", (), kernel, 4 if block is None else 4 // block, arguments,
        lambda a: {out: sum(a[name] for name in arrays) + total},
        level="core",
    )  # fmt: skip


def _shadowed(a):
    value = 1.0
    for i in range(3):
        value = (value + i) * 2
    return {"out": np.array([value + 3], np.float32)}


def cases() -> Iterator[Case]:
    yield case(
        "names.temporaries", (), temporaries, 2,
        lambda rng: {
            "v0": small(rng, 50, "f32"), "v1": small(rng, 50, "f32"), "v2": sentinel(50, "f32"),
            "n": 50, "BLOCK": 32,
        },
        lambda a: {"v2": a["v0"] + a["v1"]}, level="core",
    )  # fmt: skip
    yield case(
        "names.c_types", (), c_words, 4,
        lambda rng: {
            "int": small(rng, 4, "f32"), "float": 2, "double": small(rng, 4, "f32"), "long": 3,
            "char": sentinel(4, "f32"),
        },
        lambda a: {"char": a["int"] * 2 + a["double"] * 3}, level="core",
    )  # fmt: skip
    words = {"register": 1, "struct": 2, "switch": 3, "unsigned": 4, "static": 5}
    yield _sum("c_keywords", more_c_words, ["restrict"], "void", words)
    yield _sum(
        "threads", threads, ["threadIdx"], "warpSize",
        {"blockIdx": 1, "blockDim": 10, "gridDim": 100}, block=2,
    )  # fmt: skip
    yield _sum("python", python_words, ["_"], "lambda_", {"self": 1, "None_": 2, "i": 3})
    yield _sum("ssa", ssa_words, ["true"], "none", {"range": 1, "kernel": 2, "args": 3, "for_": 4})
    yield _sum("unicode", unicode_words, ["Δ"], "größe", {"ξ_1": 5})
    yield case(
        "names.functions", (), functions, 4,
        lambda rng: {
            "exp": small(rng, 4, "f32"), "max": 3, "min": -3, "sum": 1, "expf": 2, "fmaxf": 3,
            "memcpy": 4, "main": sentinel(8, "f32"),
        },
        lambda a: {
            "main": np.append(
                1 + np.maximum(a["exp"], 3) + np.minimum(a["exp"], -3), a["exp"] + 10
            )
        },
        level="core",
    )  # fmt: skip
    for kernel, factor in ((double, 2), (main, 3)):
        yield case(
            "names.kernel", (f"factor={factor}",), kernel, 4,
            lambda rng: {"x": small(rng, 4, "f32"), "out": sentinel(4, "f32")},
            lambda a, f=factor: {"out": a["x"] * np.float32(f)}, level="core",
        )  # fmt: skip
    yield case(
        "names.shadowed", (), shadowed, 1,
        lambda rng: {"x": small(rng, 1, "f32"), "out": sentinel(1, "f32"), "n": 3}, _shadowed,
        level="core",
    )  # fmt: skip
    stem = "a_name_that_is_rather_longer_than_the_sixty_three_characters_some_linkers_keep_of_it"
    yield case(
        "names.long", (), long_names, 4,
        lambda rng: {f"{stem}_1": small(rng, 4, "f32"), f"{stem}_2": sentinel(4, "f32")},
        lambda a: {f"{stem}_2": a[f"{stem}_1"]}, level="core",
    )  # fmt: skip
