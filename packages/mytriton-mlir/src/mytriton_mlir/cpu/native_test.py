"""Whether the launcher does what it should, on this Python and this NumPy: tried before it is used.

The kernel it launches copies its arguments, as they were packed, into an array.
"""

from __future__ import annotations

import struct
from contextvars import ContextVar
from typing import Any

import numpy as np

from mytriton.plugin_api import DirectLaunch, DirectParameter

from . import native_ir as ir
from . import talk
from .native import Native
from .pool import Pool, pool

_FLAGS = {"flags": 0x501, "mask": 0x501}
_BIG = (1 << 40) + 5


def works(native: Native) -> bool:
    """Whether a number of launches go where they must, with the right values."""
    trial = _Trial(native)
    return trial.runs() and trial.refuses()


class _Trial:
    def __init__(self, native: Native) -> None:
        self.home, self.x = np.zeros(8, np.int64), np.zeros((2, 3), np.float32)
        self.watched: dict[str, Any] = {"there": self}
        self.context: ContextVar[Any] = ContextVar("trial", default=None)
        self.result, self.slow_calls = object(), []  # type: ignore[var-annotated]
        kinds: list[dict[str, Any]] = [
            {"name": "home", "kind": "array", "dtype": self.home.dtype, **_FLAGS},
            {"name": "count", "kind": "i32"},
            {"name": "x", "kind": "array", "dtype": self.x.dtype, **_FLAGS},
            {"name": "real", "kind": "f32", "default": 0.25},
            {"name": "truth", "kind": "bool", "default": True},
            {"name": "big", "kind": "i64", "default": _BIG},
            {"name": "BLOCK", "kind": "constant", "value": 300},
            {"name": "one", "kind": "i32", "one": True, "default": 1},
            {"name": "other", "kind": "i32", "one": False, "default": 4},
            {"name": "warps", "kind": "constant", "value": None, "default": None,
             "positional": False},
        ]  # fmt: skip
        plan = DirectLaunch(
            tuple(DirectParameter(**kind) for kind in kinds),
            ((self.watched, "there", self), (self.watched, "absent", _absent())),
            ((self.context, None),),
            self.slow, self.resolve, self.result,
        )  # fmt: skip
        workers = pool()
        assert isinstance(workers, Pool)
        head = {
            ir.FUNCTION: native.probe, ir.COST: 0, ir.STATE: workers.state_cell,
            ir.RUN: workers.run_address, ir.MOST: 100,
        }  # fmt: skip
        words = talk.ARGUMENTS // 8
        slots = {k: words + k for k in range(6)} | {7: words + 6, 8: words + 7}
        self.launch = native.function(
            plan, slots, words + 8 + 3, head, [(0, 2)], workers.go_on, None
        )

    def slow(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.slow_calls.append((grid, args, kwargs))
        return self

    def resolve(self, grid: Any, /, *values: Any) -> tuple[int, int, int]:
        if values != (self.home, 6, self.x, 0.25, True, _BIG, 300, 1, 4, None):
            raise ValueError
        return grid() if callable(grid) else (grid, 1, 1)

    def ran(self, grid: Any, *args: Any, real: float = 0.25, truth: int = 1, **kwargs: Any) -> bool:
        """Whether the call launched with the right values."""
        self.home[:] = -1
        result = self.launch(grid, *args, **kwargs)
        bits = struct.unpack("<q", struct.pack("<d", real))[0]
        addresses = [a.__array_interface__["data"][0] for a in (self.home, self.x)]
        wanted = [addresses[0], 6, addresses[1], bits, truth, _BIG, -1, -1]
        return result is self.result and self.home.tolist() == wanted and not self.slow_calls

    def runs(self) -> bool:
        home, x = self.home, self.x
        block = int("300")
        return (
            self.ran((1,), home, 6, x, BLOCK=300)
            and self.ran((1, 1, 1), home, 6, x, 0.5, False, _BIG, block, real=0.5, truth=0)
            and self.ran((2, 3), BLOCK=block, x=x, count=6, home=home, warps=None)
            and self.ran((1,), home, 6, x, BLOCK=300, one=1, other=-7)
            and self.ran(lambda: (1, 1, 1), home, 6, x, BLOCK=300)
            and self.ran(1, home, 6, x, BLOCK=300)
        )

    def went_slow(self, grid: Any, *args: Any, **kwargs: Any) -> bool:
        self.slow_calls.clear()
        self.home[:] = -1
        result = self.launch(grid, *args, **kwargs)
        ((seen, seen_args, seen_kwargs),) = self.slow_calls
        self.slow_calls.clear()
        same = len(seen_args) == len(args) and all(a is b for a, b in zip(seen_args, args))
        named = list(seen_kwargs) == list(kwargs)
        values = all(seen_kwargs[k] is kwargs[k] for k in kwargs)
        return bool(
            result is self
            and seen is grid
            and same
            and named
            and values
            and (self.home == -1).all()
        )

    def refuses(self) -> bool:
        home, x = self.home, self.x
        frozen = x.copy()
        frozen.flags.writeable = False
        odd = np.zeros(25, np.uint8)[1:].view(np.float32)
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
            (((1,), home, 6, wrong), {"BLOCK": 300})
            for wrong in (
                x.T,
                x.astype("f8"),
                x[:, ::2],
                frozen,
                odd,
                home[:3].view("f4"),
                [1.0],
                3,
            )
        ]
        calls += [(((1,), home, wrong, x), {"BLOCK": 300}) for wrong in (6.0, True, 1 << 31, _BIG)]
        calls += [
            (((1,), home, 6, x), {"BLOCK": wrong}) for wrong in (301, 300.0, "300", None, 1 << 70)
        ]
        calls += [
            (((1,), home, 6, x), {"BLOCK": 300, **other})
            for other in (
                {"real": 1}, {"truth": 1}, {"big": 7}, {"big": 1 << 70}, {"warps": 4},
                {"other": 1}, {"one": 2}, {"one": True}, {"what": 1}, {"count": 6},
            )
        ]  # fmt: skip
        calls += [
            (((1,),), {}), (((1,), home, 6, x), {}), (((1,), home, 6), {"BLOCK": 300}),
            (((1,), home, 6, x, 0.5, True, _BIG, 300, 1, 4, None), {}),
            (((101,), home, 6, x), {"BLOCK": 300}),
        ]  # fmt: skip
        return all(self.went_slow(*args, **kwargs) for args, kwargs in calls) and self.watches()

    def watches(self) -> bool:
        def usual() -> bool:
            return self.went_slow((1,), self.home, 6, self.x, BLOCK=300)

        seen = []
        for key, value in (("there", None), ("absent", 1)):
            held = dict(self.watched)
            self.watched[key] = value
            seen.append(usual())
            self.watched.clear()
            self.watched.update(held)
        token = self.context.set("other")
        seen.append(usual())
        self.context.reset(token)
        self.slow_calls.clear()
        return all(seen) and self.ran((1,), self.home, 6, self.x, BLOCK=300)


def _absent() -> Any:
    from mytriton.plugin_api import ABSENT

    return ABSENT
