"""Timings of an autotuner on disk, in the folder ``autotune`` of the cache.

An entry is named by a digest of the kernel's source and what it calls, the configurations, the tuning
key, the other compile-time arguments, the backends that may run it with their versions, and the
machine. It holds the timings as JSON; one that cannot be read is a miss.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..plugins import sources
from ..plugins.manager import MANAGER
from .disk_cache import DiskCache
from .tuning_config import Config

_FORMAT = "1"
_DISK = DiskCache("autotune", ".json")


def entry_key(
    kernel: Any, tuning_key: Sequence[Any], others: Mapping[str, Any], configs: Sequence[Config]
) -> str:
    """The name of an entry. ``kernel``: a ``JITFunction``; ``others``: what else specialises."""
    return _DISK.key(
        _FORMAT, kernel.cache_key, repr(kernel.opt_level), _backends(kernel.backend), _machine(),
        repr(tuple(tuning_key)), repr(sorted(others.items())), *map(str, configs),
    )  # fmt: skip


def load(key: str, configs: Sequence[Config]) -> dict[Config, list[float]] | None:
    """The timings of an entry, or ``None``."""
    data = _DISK.get(key)
    if data is None:
        return None
    try:
        found = json.loads(data)["timings"]
        timings = [[math.inf if t is None else float(t) for t in each] for each in found]
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        return None
    if len(timings) != len(configs) or not all(timings):
        return None
    return dict(zip(configs, timings))


def save(key: str, kernel: str, timings: Mapping[Config, Sequence[float]]) -> None:
    """Write an entry."""
    plain = [[t if math.isfinite(t) else None for t in each] for each in timings.values()]
    entry = {"kernel": kernel, "configs": list(map(str, timings)), "timings": plain}
    _DISK.put(key, json.dumps(entry).encode())


def _backends(decorator: str | None) -> str:
    """The backends that are asked for, those that are there, and what changes their code."""
    from .interface import EXPLICIT

    names, _ = sources.requested(EXPLICIT.get(), decorator)
    found = []
    for record in MANAGER.records():
        info = record.info()
        variables = sorted(info.variables) if info is not None else []
        settings = [f"{name}={_environment(name)}" for name in variables]
        found.append(
            f"{record.label} [{record.dist}] {MANAGER.blocked(record)} {' '.join(settings)}"
        )
    fixed = [f"{n}={_environment(n)}" for n in ("MYTRITON_EMULATE", "MYTRITON_OPT_LEVEL")]
    return "\n".join([",".join(names), *found, *fixed])


def _environment(name: str) -> str | None:
    import os

    return os.environ.get(name)


def _machine() -> str:
    """The devices kernels may run on."""
    import platform

    from .driver import driver

    target = driver.active.get_current_target()
    properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
    host = (platform.machine(), platform.processor(), _processor())
    return repr((target, sorted(properties.items()), host))


def _processor() -> str:
    """The model of the CPU as the system names it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = (line.partition(":") for line in file)
            return next((v.strip() for n, _, v in lines if n.strip() == "model name"), "")
    except OSError:
        return ""
