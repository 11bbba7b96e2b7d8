"""Heuristics: compile-time arguments computed at each launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError


@triton.jit
def fill(out, n, BLOCK: tl.constexpr, VALUE: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, VALUE, mask=offsets < n)


def test_values_follow_the_arguments() -> None:
    kernel = triton.heuristics({
        "BLOCK": lambda args: triton.next_power_of_2(args["n"]),
        "VALUE": lambda args: 7 if args["n"] > 4 else 3,
    })(fill)  # fmt: skip
    for n, value in ((5, 7), (3, 3)):
        out = np.zeros(8, np.int32)
        kernel[(1,)](out, n)
        assert out.tolist() == [value] * n + [0] * (8 - n)


def test_one_sees_those_before_it() -> None:
    kernel = triton.heuristics({
        "BLOCK": lambda args: 8, "VALUE": lambda args: args["BLOCK"] * 2,
    })(fill)  # fmt: skip
    out = np.zeros(8, np.int32)
    kernel[(1,)](out, 8)
    assert out.tolist() == [16] * 8


def test_a_value_that_is_no_function_is_refused() -> None:
    with pytest.raises(
        ArgumentError, match="kernel 'fill': BLOCK needs a function .*lambda args: 8"
    ):
        triton.heuristics({"BLOCK": 8})(fill)


def test_arguments_are_seen_by_name_however_they_are_passed() -> None:
    seen: list[Any] = []

    def block(args: dict[str, Any]) -> int:
        seen.append((args["n"], args["VALUE"]))
        return 8

    out = np.zeros(8, np.int32)
    triton.heuristics({"BLOCK": block})(fill)[(1,)](out, n=2, VALUE=5)
    assert seen == [(2, 5)]


def test_inside_an_autotuner_they_see_its_configuration() -> None:
    inner = triton.heuristics({"VALUE": lambda args: args["BLOCK"] + 1})(fill)
    kernel = triton.autotune([triton.Config({"BLOCK": 8})], [])(inner)
    out = np.zeros(8, np.int32)
    kernel[(1,)](out, 8)
    assert out.tolist() == [9] * 8


def test_the_grid_sees_what_they_computed() -> None:
    seen: dict[str, Any] = {}

    def grid(meta: Any) -> tuple[int]:
        seen.update(meta)
        return (1,)

    triton.heuristics({"BLOCK": lambda args: 4, "VALUE": lambda args: 1})(fill)[grid](
        np.zeros(4, np.int32), 4
    )
    assert seen == {"BLOCK": 4, "VALUE": 1}


def test_jit_may_stand_above() -> None:
    def plain(out, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(out + offsets, 1, mask=offsets < n)

    kernel = triton.jit(triton.heuristics({"BLOCK": lambda args: 4})(plain))
    out = np.zeros(4, np.int32)
    kernel[(1,)](out, 3)
    assert out.tolist() == [1, 1, 1, 0]
    assert kernel.arg_names == ["out", "n", "BLOCK"]


def test_warmup_goes_through() -> None:
    kernel = triton.heuristics({"BLOCK": lambda args: 4, "VALUE": lambda args: 1})(fill)
    made = kernel.warmup(tl.int32, 4, grid=(1,))
    assert made.launched is False


def test_a_name_that_is_no_argument_names_those_that_are():
    kernel = triton.heuristics({"EVEN": lambda args: args["nn"] % 2 == 0})(
        triton.jit(lambda_free_kernel)
    )
    with pytest.raises(KeyError, match="'nn' is no argument of the kernel; known: x, n$"):
        kernel[(1,)](np.zeros(1), 4)


def lambda_free_kernel(x, n, EVEN: tl.constexpr):
    tl.store(x, n)


@pytest.mark.parametrize("wrapper", ["heuristics", "autotune"])
def test_a_plain_function_inside(wrapper):
    if wrapper == "heuristics":
        kernel = triton.heuristics({"EVEN": lambda args: True})(lambda_free_kernel)
    else:
        kernel = triton.autotune([triton.Config({"EVEN": True})], [])(lambda_free_kernel)
    with pytest.raises(
        triton.ArgumentError,
        match=f"{wrapper} of 'lambda_free_kernel' .* put @triton.jit under @triton.{wrapper}",
    ):
        kernel[(1,)](np.zeros(1), 4)


@pytest.mark.parametrize("values", [["EVEN"], None, 3])
def test_what_is_no_dict(values):
    with pytest.raises(triton.ArgumentError, match="'lambda_free_kernel' are a dict of functions"):
        triton.heuristics(values)(triton.jit(lambda_free_kernel))


def test_a_function_that_takes_something_else():
    kernel = triton.heuristics({"EVEN": lambda: True})(triton.jit(lambda_free_kernel))
    with pytest.raises(
        triton.ArgumentError, match="heuristic 'EVEN' cannot be called so: .*takes 0"
    ) as e:
        kernel[(1,)](np.zeros(1), 4)
    assert len(e.traceback) == 2
