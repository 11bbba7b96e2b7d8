"""What the wrong backends share: a lowering that only prints, and an artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mytriton.plugin_api import (
    Availability,
    Device,
    LaunchSpec,
    Source,
    SSAFunction,
    hookimpl,
    print_module,
)  # fmt: skip

Launch = Callable[[tuple[int, int, int], Sequence[Any]], None]


@dataclass
class Kernel:
    """An artifact that calls a function."""

    run: Launch
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        self.run(grid, args)


@hookimpl
def mytriton_probe() -> Availability:
    return Availability(devices=(Device("cpu"),))


@hookimpl
def mytriton_lower(function: SSAFunction, launch: LaunchSpec) -> Source:
    return Source(print_module(function), "SSA", function.name, {"function": function})
