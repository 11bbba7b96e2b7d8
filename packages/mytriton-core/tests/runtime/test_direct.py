"""Launches that skip the lookup: what an artifact is told, and when nothing is offered to it."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import GridError
from mytriton.plugin_api import (
    ABSENT,
    Availability,
    BackendInfo,
    Capability,
    DirectLaunch,
    LaunchSpec,
    Source,
    hookimpl,
)
from mytriton.plugins import selection
from mytriton.runtime import direct

SCALE = 2.0


class Everything(dict[str, Capability]):
    def get(self, key: str, default: Any = None) -> Any:
        return Capability("yes")


class Artifact:
    """Launches nothing; ``direct`` counts the launches that come to it."""

    metadata: dict[str, Any] = {}

    def __init__(self) -> None:
        self.plans: list[DirectLaunch] = []
        self.launches: list[Any] = []
        self.direct_launches: list[Any] = []
        self.refuse = False

    def launch(self, grid: Any, args: Any) -> None:
        self.launches.append(grid)

    def direct(self, plan: DirectLaunch) -> Callable[..., Any] | None:
        self.plans.append(plan)
        if self.refuse:
            return None

        def run(grid: Any, *args: Any, **kwargs: Any) -> Any:
            if args[0].dtype is not plan.parameters[0].dtype:
                return plan.slow(grid, *args, **kwargs)
            self.direct_launches.append((grid, args, kwargs))
            return plan.result

        return run

    def clear(self) -> None:
        for seen in (self.plans, self.launches, self.direct_launches):
            seen.clear()


class Backend:
    def __init__(self) -> None:
        self.artifacts: list[Artifact] = []
        self.specialise: tuple[str, ...] = ()
        self.artifact: Callable[[], Any] = Artifact

    @hookimpl
    def mytriton_backend_info(self) -> BackendInfo:
        return BackendInfo("quick", "", capabilities=Everything(), specialise=self.specialise)

    @hookimpl
    def mytriton_probe(self) -> Availability:
        return Availability()

    @hookimpl
    def mytriton_lower(self, function: Any, launch: LaunchSpec) -> Source:
        return Source("text of kernel", "text", "kernel", {})

    @hookimpl
    def mytriton_compile(self, source: Source, launch: LaunchSpec) -> Any:
        self.artifacts.append(self.artifact())
        return self.artifacts[-1]


@pytest.fixture
def quick() -> Iterator[Backend]:
    made = Backend()
    selection.register_backend("quick", made)
    yield made
    selection.unregister_backend("quick")


def scale_kernel() -> Any:
    def kernel(x, out, n, factor=0.5, *, BLOCK: tl.constexpr = 8):
        offs = tl.arange(0, BLOCK)
        tl.store(out + offs, tl.load(x + offs, mask=offs < n) * factor * SCALE, mask=offs < n)

    return triton.jit(kernel)


X, OUT = np.zeros(8, np.float32), np.zeros(8, np.float32)


def repeat(launch: Callable[[], Any], times: int = direct.AFTER + 1) -> None:
    for _ in range(times):
        launch()


def offered(quick: Backend, *args: Any, **kwargs: Any) -> tuple[Any, Artifact, DirectLaunch]:
    view = scale_kernel().with_backend("quick")
    repeat(lambda: view[(1,)](*args, **kwargs))
    (artifact,) = quick.artifacts
    (plan,) = artifact.plans
    artifact.clear()
    return view, artifact, plan


def test_a_variant_that_is_launched_again_and_again_is_offered_once(quick: Backend) -> None:
    view, artifact, plan = offered(quick, X, OUT, 8)
    result = view[(3, 2)](X, OUT, n=8)
    assert result is plan.result
    assert result.backend == "quick"
    assert artifact.direct_launches == [((3, 2), (X, OUT), {"n": 8})]
    assert (artifact.launches, artifact.plans) == ([], [])


def test_a_launcher_says_and_pickles_what_it_is(quick: Backend) -> None:
    view = scale_kernel().with_backend("quick")
    cold = view[(3,)]
    repeat(lambda: view[(1,)](X, OUT, 8))
    warm = view[(3,)]
    assert isinstance(warm, functools.partial)
    assert repr(warm) == repr(cold)
    make, arguments = warm.__reduce__()
    again = make(*arguments)
    assert (again.kernel, again.grid, again.explicit) == (view.kernel, (3,), "quick")
    with pytest.raises(pickle.PicklingError, match="defined inside a function"):
        pickle.dumps(warm)


def test_launches_before_that_are_looked_up(quick: Backend) -> None:
    view = scale_kernel().with_backend("quick")
    repeat(lambda: view[(1,)](X, OUT, 8), direct.AFTER)
    (artifact,) = quick.artifacts
    assert artifact.plans == []
    assert len(artifact.launches) == direct.AFTER


def test_what_the_arguments_must_be(quick: Backend) -> None:
    frozen = X.copy()
    frozen.flags.writeable = False
    _, _, plan = offered(quick, frozen, OUT, 8, 1.5, BLOCK=16, num_warps=4)
    told = {p.name: p for p in plan.parameters}
    assert list(told)[:5] == ["x", "out", "n", "factor", "BLOCK"]
    assert [p.kind for p in plan.parameters[:5]] == ["array", "array", "i32", "f32", "constant"]
    assert told["x"].dtype is frozen.dtype
    assert (told["x"].flags, told["out"].flags) == (0x101, 0x501)
    assert told["x"].mask == told["out"].mask == 0x501
    assert (told["x"].default, told["factor"].default, told["BLOCK"].default) == (ABSENT, 0.5, 8)
    assert (told["x"].positional, told["BLOCK"].positional) == (True, False)
    assert (told["BLOCK"].value, told["num_warps"].value) == (16, 4)
    assert told["num_stages"].value is None
    assert told["num_stages"].default is None
    assert not told["num_stages"].positional


@pytest.mark.parametrize(
    ("value", "kind"), [(7, "i32"), (-(2**31), "i32"), (2**31, "i64"), (True, "bool"), (0.5, "f32")]
)
def test_kinds_of_numbers(quick: Backend, value: Any, kind: str) -> None:
    _, _, plan = offered(quick, X, OUT, 8, value)
    assert plan.parameters[3].kind == kind


def holds(plan: DirectLaunch) -> bool:
    return all(held.get(k, ABSENT) is v for held, k, v in plan.watched) and all(
        variable.get() is value for variable, value in plan.contexts
    )


def test_what_is_watched(quick: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, plan = offered(quick, X, OUT, 8)
    assert holds(plan)
    names = ("BACKEND", "EMULATE", "OPT_LEVEL", "SANITIZE", "LOG", "DUMP")
    for name in (f"MYTRITON_{name}" for name in names):
        monkeypatch.setenv(name, "0")
        assert not holds(plan), name
        monkeypatch.delenv(name)
    assert holds(plan)
    with triton.use_backend("interpreter"):
        assert not holds(plan)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert not holds(plan)
    monkeypatch.undo()
    selection.config.backend = "interpreter"
    assert not holds(plan)
    selection.config.backend = None
    assert holds(plan)
    selection.refresh_backends()
    assert not holds(plan)


def test_the_slow_way_is_that_of_the_same_backend(quick: Backend) -> None:
    _, artifact, plan = offered(quick, X, OUT, 8)
    assert plan.slow((2,), X, OUT, n=8) is plan.result
    assert artifact.launches == [(2, 1, 1)]
    with pytest.raises(triton.ArgumentError, match="missing 1 required positional argument"):
        plan.slow((2,), X, OUT)


def test_grids(quick: Backend) -> None:
    _, _, plan = offered(quick, X, OUT, 8, num_warps=2)
    values = [X, OUT, 8, 0.5, 8, 2, *[None] * (len(plan.parameters) - 6)]
    seen: list[Any] = []

    def grid(meta: Any) -> Any:
        seen.append((meta["BLOCK"], meta["n"], meta["num_warps"], dict(meta), "num_stages" in meta))
        return (meta["n"] // meta["BLOCK"], 2)

    assert plan.resolve(grid, *values) == (1, 2)
    assert seen == [(8, 8, 2, {"BLOCK": 8}, False)]
    assert plan.resolve([4, 5], *values) == (4, 5, 1)
    assert plan.resolve(np.int32(3), *values) == (3, 1, 1)
    with pytest.raises(GridError, match="must not be negative"):
        plan.resolve(-1, *values)
    with pytest.raises(KeyError, match="no argument of the kernel"):
        plan.resolve(lambda meta: meta["nothing"], *values)


def test_an_artifact_may_refuse(quick: Backend) -> None:
    def refusing() -> Artifact:
        made = Artifact()
        made.refuse = True
        return made

    quick.artifact = refusing
    view = scale_kernel().with_backend("quick")
    repeat(lambda: view[(1,)](X, OUT, 8), 10)
    (artifact,) = quick.artifacts
    assert len(artifact.plans) == 1
    assert len(artifact.launches) == 10


@pytest.mark.parametrize(("value", "one"), [(1, True), (7, False), (0, False)])
def test_variants_for_the_value_one_say_so(quick: Backend, value: int, one: bool) -> None:
    quick.specialise = ("equal1",)
    selection.register_backend("quick", quick, replace=True)
    _, _, plan = offered(quick, X, OUT, value)
    told = {p.name: p.one for p in plan.parameters}
    assert (told["n"], told["x"], told["factor"], told["BLOCK"]) == (one, None, None, None)


def test_who_does_not_ask_is_not_told(quick: Backend) -> None:
    _, _, plan = offered(quick, X, OUT, 1)
    assert all(p.one is None for p in plan.parameters)


def test_variants_that_depend_on_values_are_not_offered(quick: Backend) -> None:
    quick.specialise = ("align16",)
    selection.register_backend("quick", quick, replace=True)
    view = scale_kernel().with_backend("quick")
    repeat(lambda: view[(1,)](X, OUT, 8), 10)
    assert all(a.plans == [] for a in quick.artifacts)
    assert sum(len(a.launches) for a in quick.artifacts) == 10


class Own:
    """An array that is not NumPy's own."""

    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__


def test_other_arrays_are_not_offered(quick: Backend) -> None:
    view = scale_kernel().with_backend("quick")
    repeat(lambda: view[(1,)](Own(X), OUT, 8), 10)
    (artifact,) = quick.artifacts
    assert artifact.plans == []


def test_two_variants_take_turns(quick: Backend) -> None:
    view = scale_kernel().with_backend("quick")
    wide = X.astype(np.float64)
    for x in (X, wide, X):
        repeat(lambda x=x: view[(1,)](x, OUT, 8), direct.AFTER + 3)
    first, second = quick.artifacts
    assert len(first.plans) == len(second.plans) == 1
    # Once more the first needs a single launch to be found again.
    assert len(second.direct_launches) == 2
    assert len(first.direct_launches) == 2 + direct.AFTER + 2


def test_clear_cache_forgets_it(quick: Backend) -> None:
    view, _, _ = offered(quick, X, OUT, 8)
    view.kernel.clear_cache()
    view[(1,)](X, OUT, 8)
    assert len(quick.artifacts) == 2


def test_without_a_backend_named_it_is_the_automatic_choice(quick: Backend) -> None:
    kernel = scale_kernel()
    with triton.use_backend("quick"):
        repeat(lambda: kernel[(1,)](X, OUT, 8))
        assert set(kernel.direct) == {None}
        kernel[(5,)](X, OUT, 8)
    (artifact,) = quick.artifacts
    assert artifact.direct_launches == [((5,), (X, OUT, 8), {})]
