"""The conformance cases themselves: lint, coverage, and that the lint sees what it is for."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.metadata
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.ir.registry import all_ops
from mytriton_testkit import cases as suite
from mytriton_testkit.case import COMPOSITE, EXACT, LEVELS, REDUCTION, Case
from mytriton_testkit.cases import compare, lint
from mytriton_testkit.cases.build import DTYPES, STORED, dtype, rounded

pytest.importorskip("ml_dtypes", reason="bfloat16 arrays need ml_dtypes")
CASES = suite.all_cases()


@pytest.mark.parametrize("theme", suite.THEMES)
def test_every_case_is_clean(theme):
    prefix = f"mytriton_testkit.cases.{theme}"
    module = importlib.import_module(prefix)
    found = {case.id: lint.problems(case) for case in module.cases()}
    assert {name: text for name, text in found.items() if text} == {}


def test_ids_are_unique():
    assert lint.duplicate_ids(CASES) == []


def test_there_are_enough_cases():
    levels = Counter(case.level for case in CASES)
    assert len(CASES) >= 1700
    assert all(levels[level] for level in LEVELS)


def test_the_second_edition_leaves_the_first_alone():
    by_edition = Counter(case.edition for case in CASES)
    assert by_edition["2026.1"] == 866
    added = [case for case in CASES if case.edition == "2026.2"]
    assert len(added) >= 840
    assert {case.level for case in added} == {"standard", "extended"}
    pointwise = ("operator.", "function.", "cast.")
    assert all(c.id.startswith(pointwise) for c in added if c.level == "standard")


def test_every_operation_and_type_is_covered():
    covered = lint.covered(CASES)
    operations = {op.feature_id for op in all_ops() if "." not in op.name}
    assert operations - covered == set()
    assert {f"dtype.{name}" for name in DTYPES} - covered == set()
    assert {f"dtype.{name}" for name in STORED} - covered == set()
    assert {"rank.2", "rank.3", "grid.axis1", "grid.axis2", "control.for"} <= covered


def test_core_features_are_covered_by_core_cases():
    core = [case for case in CASES if case.level == "core"]
    assert lint.covered(core) == lint.CORE_FEATURES


def test_arguments_depend_on_the_seed_only():
    for case in CASES[::10]:
        one, two = (lint.make_arguments(case, 3) for _ in range(2))
        assert all(lint.same_bits(one[name], two[name]) for name in one)


def test_importing_the_package_does_not_import_the_compiler():
    code = "import sys, mytriton_testkit.cases; assert 'mytriton' not in sys.modules; print('ok')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr


def test_other_distributions_add_cases(monkeypatch):
    extra = dataclasses.replace(CASES[0], id="acme.case")
    clash = dataclasses.replace(CASES[0], id="acme.other", aliases=(CASES[1].id,))
    point = importlib.metadata.EntryPoint("acme", "acme:cases", suite.ENTRY_POINT_GROUP)
    monkeypatch.setattr(suite, "entry_points", lambda group: [point])
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", lambda self: lambda: [extra])
    assert suite.all_cases()[-1] is extra
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", lambda self: lambda: [clash])
    with pytest.raises(ValueError, match="two conformance cases are called"):
        suite.all_cases()


# ---------------------------------------------------------------------------- the lint sees


@triton.jit
def shifted_kernel(x, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs + 1, mask=offs < n), mask=offs < n)


@triton.jit
def racing_kernel(x, out):
    tl.store(out, tl.program_id(0))


@triton.jit
def junk_kernel(x, out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.empty((BLOCK,), tl.float32))


@triton.jit
def copy_kernel(x, out, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    tl.store(out + offs, tl.load(x + offs))


def make(kernel, expected=lambda a: {"out": a["x"]}, grid=(1,), d="f32", **extra):
    return Case(
        "test.case", kernel,
        lambda rng: {"x": np.arange(8).astype(dtype(d)), "out": np.zeros(8, dtype(d)), **extra},
        grid, expected, level="extended",
    )  # fmt: skip


def test_a_fit_case_has_no_problems():
    assert lint.problems(make(copy_kernel, BLOCK=8)) == []


def test_lint_finds_accesses_out_of_bounds():
    case = make(shifted_kernel, lambda a: {"out": np.append(a["x"][1:], 0)}, n=8, BLOCK=8)
    with pytest.raises(IndexError, match=r"x\[8\]"):
        lint.problems(case)


def test_lint_finds_conflicting_stores():
    case = make(racing_kernel, lambda a: {"out": np.append(2, a["out"][1:])}, (3,), "i32")
    found = "\n".join(lint.problems(case))
    assert "overwrites what was stored by" in found
    assert "reversed run differs" in found


def test_lint_finds_undefined_contents():
    case = make(junk_kernel, lambda a: {"out": a["out"]}, BLOCK=8)
    assert any("undefined" in text for text in lint.problems(case))


def test_lint_finds_wrong_expectations():
    case = make(copy_kernel, lambda a: {"out": a["x"] + np.float32(1e-6)}, BLOCK=8)
    assert any("interpreter and NumPy differ" in text for text in lint.problems(case))


def test_lint_finds_outputs_nobody_expects():
    assert "out is written but not expected" in lint.problems(
        make(copy_kernel, lambda a: {"x": a["x"]}, BLOCK=8)
    )


def test_lint_finds_bad_declarations():
    case = dataclasses.replace(
        make(copy_kernel, BLOCK=8), id="Bad Id", level="top", note="fails on cuda",
        tolerance=dataclasses.replace(EXACT, ulp=3),
    )  # fmt: skip
    found = "\n".join(lint.static_problems(case))
    for text in ("dotted path", "'cuda'", "unknown level", "no class of its own"):
        assert text in found


def test_lint_finds_core_cases_that_need_more():
    case = dataclasses.replace(make(copy_kernel, BLOCK=8, d="f64"), level="core")
    assert lint.problems(case) == ["core case needs dtype.f64"]


# ---------------------------------------------------------------------------- comparing


def check(got, wanted, tolerance=EXACT, terms=1, magnitude=None):
    case = dataclasses.replace(make(copy_kernel), tolerance=tolerance, terms=terms)
    return compare.deviation(case, "out", np.asarray(got), np.asarray(wanted), magnitude).ratio <= 1


def test_exact_comparison_tells_zeros_apart_but_not_nans():
    f = np.float32
    assert check(f([np.nan, 1]), f([-np.nan, 1]))
    assert not check(f([0.0]), f([-0.0]))
    assert check(f([0.0]), f([-0.0]), COMPOSITE)
    assert not check(np.int64([2**62]), np.int64([2**62 + 1]))
    assert not check(f([np.inf]), f([np.nan]), COMPOSITE)
    assert not check(f([np.inf]), f([3e38]), COMPOSITE)


@pytest.mark.parametrize("name", ["f16", "bf16", "f32", "f64"])
def test_ulp_counts_steps_of_the_type(name):
    one = rounded(1.0, name)
    step = compare.unit(np.float64(1.0), one.dtype)
    assert rounded(1.0 + step, name) != one
    assert check(rounded([1.0 + 16 * step], name), rounded([1.0], name), COMPOSITE)
    assert not check(rounded([1.0 + 17 * step], name), rounded([1.0], name), COMPOSITE)


def test_the_unit_at_zero_is_the_smallest_there_is():
    """frexp gives zero the exponent 0: a subnormal would count as far nearer than it is."""
    for name in ("f16", "bf16", "f32", "f64"):
        dtype = rounded(0.0, name).dtype
        least = compare.unit(np.float64(0.0), dtype)
        assert least == compare.unit(np.float64(np.finfo(np.float64).tiny), dtype)
        assert rounded(float(least), name) != 0
    assert not check(np.float32([1e-9]), np.float32([0.0]), COMPOSITE)


def test_reductions_are_judged_by_the_size_of_their_terms():
    got, wanted = np.float32([1e-3]), np.float32([0.0])
    assert check(got, wanted, REDUCTION, terms=100, magnitude=np.array([1e4]))
    assert not check(got, wanted, REDUCTION, terms=100, magnitude=np.array([1.0]))


def test_bf16_rounds_once():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.float64([1 + 2**-8, 1 + 2**-8 + 2**-40, 1 + 3 * 2**-8, 3.4e38, -1e-45, np.nan, -np.inf])
    wanted = np.float64([1.0, 1 + 2**-7, 1 + 2**-6, np.inf, -0.0, np.nan, -np.inf])
    np.testing.assert_array_equal(rounded(x, "bf16").astype(np.float64), wanted)
    plain = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    np.testing.assert_array_equal(
        rounded(plain.astype(np.float64), "bf16"), plain.astype(ml_dtypes.bfloat16)
    )


def test_copies_keep_shared_memory_and_layout():
    base = np.arange(24, dtype=np.float32)
    view = base.reshape(4, 6)[::-1, ::2]
    twin = lint.copied({"a": base, "b": base, "v": view})
    assert twin["a"] is twin["b"]
    twin["a"][:] += 1
    np.testing.assert_array_equal(twin["v"], view + 1)
    assert twin["v"].strides == view.strides
