"""``triton.Config``: one way to run a kernel, for an autotuner to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import ArgumentError


class Config:
    """Compile-time arguments (``kwargs``) and launch options to try together.

    ``pre_hook(args)`` runs before every launch with this configuration; ``args`` maps parameter names
    to values, those of the configuration included.
    """

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        if not isinstance(kwargs, Mapping):
            raise ArgumentError(
                f"a triton.Config sets names to values, as triton.Config({{'BLOCK': 64}}), got {kwargs!r}"
            )
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def options(self) -> dict[str, Any]:
        """The launch options."""
        found = {
            "num_warps": self.num_warps, "num_ctas": self.num_ctas, "num_stages": self.num_stages,
            "maxnreg": self.maxnreg, "ir_override": self.ir_override,
        }  # fmt: skip
        return {name: value for name, value in found.items() if value is not None}

    def all_kwargs(self) -> dict[str, Any]:
        """Everything a launch with this configuration passes."""
        return {**self.kwargs, **self.options()}

    def _identity(self) -> tuple[Any, ...]:
        return (*self.all_kwargs().items(), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

    def __repr__(self) -> str:
        return f"<Config {self}>"
