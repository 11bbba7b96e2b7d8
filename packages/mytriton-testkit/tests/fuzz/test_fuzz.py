"""The fuzzer: clean on the interpreter, and able to find, shrink, write and replay what is wrong."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from mytriton.interpreter import backend as reference_backend
from mytriton.interpreter import run
from mytriton.ir import registry
from mytriton.ir.parser import parse
from mytriton.ir.values import walk
from mytriton.plugin_api import hookimpl
from mytriton.plugins import selection
from mytriton.plugins.types import Availability, BackendInfo, Capability, Device
from mytriton.verify import verify
from mytriton_testkit.fuzz import replay, run_fuzz
from mytriton_testkit.fuzz.generate import OPTIONAL, make_program
from mytriton_testkit.fuzz.program import Program
from mytriton_testkit.fuzz.reference import Memory, disagreement, evaluate
from mytriton_testkit.fuzz.shrink import shrink


def everything(feature):
    return True


@pytest.fixture
def broken(monkeypatch):
    """Changes the NumPy meaning of an operation."""

    def change(name, meaning):
        op = registry.get(name)
        before = op.numpy
        object.__setattr__(op, "numpy", meaning)
        restore.append((op, before))

    restore = []
    yield change
    for op, before in restore:
        object.__setattr__(op, "numpy", before)


class Loopback:
    """A backend that runs the interpreter: what it declares is up to the test."""

    def __init__(self, name, lacks=(), wrong=None):
        self.info = BackendInfo(
            name, "a test backend", capabilities={
                f: Capability("yes") for f in reference_backend.INFO.capabilities if f not in lacks
            },
        )  # fmt: skip
        self.wrong = wrong

    @hookimpl
    def mytriton_backend_info(self):
        return self.info

    @hookimpl
    def mytriton_probe(self):
        return Availability(devices=(Device("cpu", "test"),))

    @hookimpl
    def mytriton_lower(self, function, launch):
        return reference_backend.lower(function, launch)

    @hookimpl
    def mytriton_compile(self, source, launch):
        artifact = reference_backend.compile(source, launch)
        if self.wrong is not None:
            plain = artifact.launch
            artifact.launch = lambda grid, args: self.wrong(plain, grid, args)
        return artifact


@pytest.fixture
def install():
    names = []

    def register(name, **kwargs):
        selection.register_backend(name, Loopback(name, **kwargs))
        names.append(name)

    yield register
    for name in names:
        selection.unregister_backend(name)


# ---------------------------------------------------------------------------- generator


def test_programs_are_verified_and_print_and_parse():
    for seed in range(60):
        program = make_program(seed, everything)
        verify(program.function)
        assert parse(str(program.function)) == program.function


def test_programs_are_clean_under_the_strict_checks():
    for seed in range(60):
        program = make_program(seed, everything)
        values = program.launch_values(program.arguments())
        run(program.function, values, program.grid, sanitize=True)


def test_a_seed_is_a_program():
    one, two = (make_program(11, everything) for _ in range(2))
    assert one.to_json() == two.to_json()
    assert Program.from_json(json.loads(json.dumps(one.to_json()))).to_json() == one.to_json()


def test_programs_cover_what_the_language_has():
    found = set()
    for seed in range(150):
        found |= make_program(seed, everything).function.features()
    assert set(OPTIONAL) <= found


def test_programs_keep_to_what_is_declared():
    lacks = {"dtype.f64", "dtype.u16", "rank.2", "reduce.max", "control.for", "op.exp"}
    for seed in range(60):
        program = make_program(seed, lambda f: f not in lacks)
        if program is not None:
            assert not program.function.features() & lacks


# ---------------------------------------------------------------------------- reference


def test_reference_and_interpreter_agree_within_bounds_that_mean_something():
    sizes = []
    for seed in range(1000, 1040):
        program = make_program(seed, everything)
        got = program.arguments()
        run(program.function, program.launch_values(got), program.grid)
        expected = evaluate(program.function, program.arguments(), program.grid)
        for name, memory in expected.items():
            assert disagreement(memory, got[name]) == ""
            sizes.append(memory.e)
    errors = np.concatenate(sizes)
    assert (errors == 0).mean() > 0.8
    assert np.isinf(errors).mean() < 0.05


def test_disagreement_names_the_element():
    memory = Memory("f32", np.array([1.0, 2.0]), np.array([0.0, 0.5]))
    assert disagreement(memory, np.float32([1.0, 2.4])) == ""
    assert disagreement(memory, np.float32([1.0, 2.6])).startswith("[1] is")
    zeros = Memory("f32", np.zeros(1), np.zeros(1))
    assert disagreement(zeros, np.float32([-0.0]))


# ---------------------------------------------------------------------------- running


def test_the_interpreter_is_clean():
    report = run_fuzz("interpreter", 200, 0)
    assert report.failures == []
    assert report.programs == report.launched == 200
    assert json.dumps(report.to_json())


def test_another_backend_is_clean(install):
    install("test-loopback")
    assert run_fuzz("test-loopback", 20, 5).ok


def test_time_budget():
    report = run_fuzz("interpreter", 10_000, 0, time_budget=0.2)
    assert report.out_of_time
    assert report.programs < 10_000


def test_wrong_meanings_are_found(broken):
    broken("sub", lambda ev, a, b: a ^ b if a.dtype == np.bool_ else b - a)
    report = run_fuzz("interpreter", 60, 1, shrink=False)
    assert {failure.kind for failure in report.failures} == {"reference"}


def test_wrong_backends_are_found_shrunk_written_and_replayed(install, tmp_path):
    def wrong(launch, grid, args):
        launch(grid, args)
        for arg in args:
            if hasattr(arg, "owner") and arg.owner.size > 3 and arg.owner.dtype == np.float32:
                arg.owner.reshape(-1)[3] += 1

    install("test-wrong", wrong=wrong)
    report = run_fuzz("test-wrong", 12, 3, folder=tmp_path)
    assert report.failures
    assert {failure.kind for failure in report.failures} == {"mismatch"}
    for failure in report.failures:
        assert sum(1 for _ in walk(failure.program.function.body)) < 12
        again = replay(failure.path)
        assert again is not None
        assert again.kind == "mismatch"
        assert replay(failure.path, "interpreter") is None
        record = json.loads(failure.path.read_text())
        assert record["versions"]["numpy"] == np.__version__


def test_unstable_backends_are_found(install):
    calls = random.Random(0)

    def wrong(launch, grid, args):
        launch(grid, args)
        for arg in args:
            if hasattr(arg, "owner") and arg.owner.dtype == np.float64 and calls.random() < 0.5:
                arg.owner[...] = np.nan

    install("test-unstable", wrong=wrong)
    kinds = {f.kind for f in run_fuzz("test-unstable", 40, 1, shrink=False).failures}
    assert kinds <= {"unstable", "mismatch"}
    assert "unstable" in kinds


def test_crashing_backends_are_errors(install):
    def wrong(launch, grid, args):
        raise ZeroDivisionError("oops")

    install("test-crash", wrong=wrong)
    report = run_fuzz("test-crash", 2, 1, shrink=False)
    assert [f.kind for f in report.failures] == ["error", "error"]
    assert "oops" in report.failures[0].message


def test_undeclared_features_are_declined(install):
    install("test-small", lacks={"reduce.sum", "dtype.f64", "grid.axis2"})
    report = run_fuzz("test-small", 60, 2)
    assert report.failures == []
    assert report.declined >= 4
    assert not {"reduce.sum", "dtype.f64"} - set(report.features)


def test_accepting_the_undeclared_is_found(install, monkeypatch):
    install("test-greedy", lacks={"reduce.sum"})
    monkeypatch.setattr(selection, "choose", lambda *args, **kwargs: None)
    kinds = {f.kind for f in run_fuzz("test-greedy", 30, 2, shrink=False).failures}
    assert kinds == {"not-declined"}


def test_another_file_is_no_repro(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"backend": "interpreter", "schema": "something"}')
    with pytest.raises(ValueError, match="not a mytriton"):
        replay(path)


# ---------------------------------------------------------------------------- shrinking


def test_shrinking_only_tries_programs_that_are_defined():
    seen = []

    def fails(program):
        seen.append(program)
        return len(seen) % 3 == 0

    shrink(make_program(4, everything), fails, budget=60)
    assert seen
    for program in seen:
        verify(program.function)
        values = program.launch_values(program.arguments())
        run(program.function, values, program.grid, sanitize=True)


def test_shrinking_finds_the_operation():
    def fails(program):
        return any(item.opcode == "neg" for item in walk(program.function.body))

    program = next(p for p in (make_program(s, everything) for s in range(50)) if fails(p))
    small = shrink(program, fails)
    assert fails(small)
    assert sum(1 for _ in walk(small.function.body)) <= 12
    assert small.grid == (1, 1, 1)
