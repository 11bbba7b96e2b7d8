"""``do_bench``: how often a function runs, and which figure comes out."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mytriton.plugins.errors import DeviceError
from mytriton.runtime.driver import driver
from mytriton.testing import do_bench, do_bench_cudagraph
from mytriton.testing.bench import summary


def test_milliseconds_of_a_call() -> None:
    found = do_bench(lambda: time.sleep(0.003), warmup=3, rep=9)
    assert 3.0 <= found < 300


def test_a_slow_function_runs_twice() -> None:
    calls: list[int] = []

    def slow() -> None:
        calls.append(1)
        time.sleep(0.02)

    assert do_bench(slow, warmup=2, rep=3) >= 20
    assert len(calls) == 2


def test_a_quick_one_fills_its_time() -> None:
    times = do_bench(lambda: None, warmup=1, rep=5, return_mode="all")
    assert len(times) > 20


def test_gradients_are_dropped_before_each_timed_call() -> None:
    class Tensor:
        grad: Any = None

    tensor = Tensor()
    seen: list[Any] = []

    def backward() -> None:
        seen.append(tensor.grad)
        tensor.grad = 1

    do_bench(backward, warmup=0, rep=1, grad_to_none=[tensor])
    assert set(seen[-3:]) == {None}


@pytest.mark.parametrize(
    ("mode", "expected"), [("min", 1.0), ("max", 10.0), ("mean", 4.0), ("median", 2.5)]
)
def test_modes(mode: str, expected: float) -> None:
    assert summary([10.0, 1.0, 2.0, 3.0], None, mode) == expected


def test_quantiles_are_linear_between_neighbours() -> None:
    times = [4.0, 1.0, 3.0, 2.0]
    assert summary(times, [0.5, 0.0, 1.0, 0.2], "mean") == pytest.approx([2.5, 1.0, 4.0, 1.6])
    assert summary(times, [0.5], "mean") == 2.5
    assert summary([7.0], [0.2, 0.8], "mean") == [7.0, 7.0]


def test_what_is_no_mode_or_quantile() -> None:
    with pytest.raises(
        ValueError, match="return_mode is one of min, max, mean, median, all, got 'avg'"
    ):
        do_bench(lambda: None, return_mode="avg")
    with pytest.raises(ValueError, match="a quantile is between 0 and 1"):
        summary([1.0], [1.5], "mean")


def test_an_error_of_the_function_is_its_own() -> None:
    def broken() -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        do_bench(broken)


def test_graphs_need_a_device() -> None:
    with pytest.raises(DeviceError, match="needs PyTorch with a device that has graphs.*'cpu'"):
        do_bench_cudagraph(lambda: None)


def test_a_device_without_events_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches come back at once: what counts is when the device has done them."""
    pending: list[float] = []

    class Slow(type(driver.default)):  # type: ignore[misc]
        def get_current_target(self) -> Any:
            from mytriton.runtime.driver import GPUTarget

            return GPUTarget("acme", 1, 32)

        def synchronize(self) -> None:
            time.sleep(sum(pending))
            pending.clear()

    monkeypatch.setattr(driver, "active", Slow())
    assert do_bench(lambda: pending.append(0.002), warmup=0, rep=6) >= 2.0
