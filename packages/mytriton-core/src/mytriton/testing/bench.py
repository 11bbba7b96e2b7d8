"""Timing a function that launches kernels, on the active device's clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..plugins.errors import DeviceError
from ..runtime.driver import HostEvent, driver

#: What ``return_mode`` may be.
MODES = ("min", "max", "mean", "median", "all")
#: Milliseconds below which the clock tells nothing.
_TINY = 1e-4


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """Milliseconds one call of ``fn`` takes.

    ``fn`` runs for about ``warmup`` and then ``rep`` milliseconds; one that takes longer than both
    together is timed once, after a first call. ``quantiles`` gives a list of these quantiles (a
    number for one), else ``return_mode`` says what: ``"mean"``, ``"median"``, ``"min"``, ``"max"``,
    or ``"all"`` times. The ``.grad`` of tensors in ``grad_to_none`` is dropped before each call.

    On a device its own events take the time, and its cache is cleared before each call; on the host
    it is wall time, with caches as the call before left them. Raises ``ValueError`` for another
    ``return_mode``.
    """
    _check(return_mode)
    clock = _Clock()
    grads = list(grad_to_none or ())
    fn()
    clock.synchronize()
    estimate, runs = _estimate(fn, clock, warmup + rep)
    if runs == 1 and estimate > warmup + rep:
        return summary([estimate], quantiles, return_mode)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    pairs = []
    for _ in range(max(1, int(rep / estimate))):
        for tensor in grads:
            tensor.grad = None
        clock.clear_cache()
        start, end = clock.event(), clock.event()
        start.record()
        fn()
        end.record()
        pairs.append((start, end))
    clock.synchronize()
    times = [start.elapsed_time(end) for start, end in pairs]
    return summary(times, quantiles, return_mode)


def _estimate(fn: Callable[[], Any], clock: _Clock, budget: float) -> tuple[float, int]:
    """Milliseconds of a call, from up to five within the budget, and from how many."""
    start, end, runs = clock.event(), clock.event(), 0
    begun = time.perf_counter()
    start.record()
    while runs < 5 and (time.perf_counter() - begun) * 1e3 <= budget:
        clock.clear_cache()
        fn()
        runs += 1
    end.record()
    clock.synchronize()
    return max(start.elapsed_time(end) / runs, _TINY), runs


class _WaitingEvent(HostEvent):
    """A point in time when a device without events of its own had done what was launched."""

    def record(self, stream: Any = None) -> None:
        driver.active.synchronize()
        super().record()


class _Clock:
    """Events of the active device."""

    def __init__(self) -> None:
        self._interface = driver.active.get_device_interface()
        self._cache = driver.active.get_empty_cache_for_benchmark()
        on_host = driver.active.get_current_target().backend == "cpu"
        #: A device that PyTorch does not know: its provider waits for it.
        self._waits = not on_host and getattr(self._interface, "Event", HostEvent) is HostEvent

    def event(self) -> Any:
        return _WaitingEvent() if self._waits else self._interface.Event(enable_timing=True)

    def synchronize(self) -> None:
        driver.active.synchronize()

    def clear_cache(self) -> None:
        driver.active.clear_cache(self._cache)


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """``do_bench`` for launches that are recorded in a graph and replayed, which leaves out what the
    host does. Raises ``DeviceError`` where PyTorch has no device with such graphs."""
    _check(return_mode)
    torch_device = driver.active.get_device_interface()
    if not hasattr(torch_device, "CUDAGraph"):
        target = driver.active.get_current_target()
        raise DeviceError(
            f"do_bench_cudagraph needs PyTorch with a device that has graphs; the active device is "
            f"{target.backend!r}. Use do_bench"
        )
    with torch_device.stream(torch_device.Stream()):
        fn()
        start, end = torch_device.Event(enable_timing=True), torch_device.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            fn()
        end.record()
        torch_device.synchronize()
        repeat = max(1, int(rep / max(start.elapsed_time(end) / 5, _TINY)))
        grads = list(grad_to_none or ())
        graph = torch_device.CUDAGraph()
        with torch_device.graph(graph):
            for _ in range(repeat):
                for tensor in grads:
                    tensor.grad = None
                fn()
        torch_device.synchronize()
        times = []
        for _ in range(10):
            start.record()
            graph.replay()
            end.record()
            torch_device.synchronize()
            times.append(start.elapsed_time(end) / repeat)
    return summary(times, quantiles, return_mode)


def _check(return_mode: str) -> None:
    if return_mode not in MODES:
        raise ValueError(f"return_mode is one of {', '.join(MODES)}, got {return_mode!r}")


def summary(times: list[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    """The figure that was asked for. Raises ``ValueError`` for a quantile outside 0 to 1."""
    if quantiles is not None:
        found = [_quantile(sorted(times), q) for q in quantiles]
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    if return_mode == "mean":
        return math.fsum(times) / len(times)
    return _quantile(sorted(times), {"min": 0.0, "median": 0.5, "max": 1.0}[return_mode])


def _quantile(ordered: list[float], q: float) -> float:
    """Linear between the two nearest."""
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is between 0 and 1, got {q!r}")
    point = q * (len(ordered) - 1)
    low = math.floor(point)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (point - low)
