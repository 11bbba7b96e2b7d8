"""A random program: SSA, what to launch it with, and how it is written to a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mytriton.ir.expr import Param
from mytriton.ir.parser import parse
from mytriton.ir.types import PointerType
from mytriton.ir.values import SSAFunction
from mytriton.plugins.types import ArgSpec, LaunchSpec
from mytriton.runtime.arguments import launch_value

from ..cases.build import data, dtype, is_float, small

Array = npt.NDArray[Any]
SCHEMA = "mytriton.fuzz/1"


@dataclass(frozen=True)
class ArraySpec:
    """An array argument: its length and the kind of contents."""

    length: int
    #: ``small`` whole numbers, ``plain`` values over the whole range, ``special`` with NaN and
    #: infinities among them, ``index`` (0 to ``length - 1``), ``eight`` (what 8-bit floats hold).
    contents: str = "plain"


@dataclass(frozen=True)
class Program:
    """A function with everything a launch needs. Arrays are made from ``seed``."""

    function: SSAFunction
    arrays: Mapping[str, ArraySpec]
    scalars: Mapping[str, Any]
    grid: tuple[int, int, int]
    seed: int
    #: A feature it uses on purpose although the backend does not declare it.
    undeclared: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """Fresh arguments by name; the same ones each time."""
        rng = np.random.default_rng(self.seed)
        return {param.name: self._argument(param, rng) for param in self.function.params}

    def _argument(self, param: Param, rng: np.random.Generator) -> Any:
        if not isinstance(param.ty, PointerType):
            return self.scalars[param.name]
        spec, name = self.arrays[param.name], param.ty.element.name
        if spec.contents == "eight":
            return (rng.integers(-40, 41, spec.length) / 4).astype(np.float32).astype(dtype(name))
        if spec.contents == "index":
            return rng.integers(0, max(1, spec.length), spec.length).astype(dtype(name))
        if spec.contents == "small" or not is_float(name):
            wide = spec.contents != "small"
            return (data if wide else small)(rng, spec.length, name)
        values = data(rng, spec.length, name)
        if spec.contents == "special" and spec.length:
            odd = np.array([np.nan, np.nan, np.inf, -np.inf, 0.0, -0.0]).astype(dtype(name))
            chosen = rng.random(spec.length) < 0.25
            values[chosen] = rng.choice(odd, int(chosen.sum()))
        return values

    def launch_spec(self) -> LaunchSpec:
        """What a backend is told about the launch."""
        specs = tuple(
            ArgSpec(p.name, p.ty, "cpu" if isinstance(p.ty, PointerType) else "")
            for p in self.function.params
        )
        return LaunchSpec(specs, {}, dict(self.options), self.grid)

    def launch_values(self, arguments: Mapping[str, Any]) -> list[Any]:
        """The arguments as an artifact's ``launch`` takes them."""
        return [launch_value(arguments[p.name]) for p in self.function.params]

    def to_json(self) -> dict[str, Any]:
        """A self-contained description."""
        return {
            "schema": SCHEMA,
            "ssa": str(self.function),
            "arrays": {k: [v.length, v.contents] for k, v in self.arrays.items()},
            "scalars": dict(self.scalars),
            "grid": list(self.grid),
            "seed": self.seed,
            "undeclared": self.undeclared,
            "options": dict(self.options),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Program:
        """The inverse of ``to_json``. Raises ``ValueError`` for another schema."""
        schema = record.get("schema") if isinstance(record, Mapping) else None
        if schema != SCHEMA:
            raise ValueError(f"not a {SCHEMA} file: schema {schema!r}")
        x, y, z = record["grid"]
        return cls(
            parse(record["ssa"]),
            {k: ArraySpec(n, contents) for k, (n, contents) in record["arrays"].items()},
            record["scalars"], (x, y, z), record["seed"], record.get("undeclared", ""),
            record.get("options", {}),
        )  # fmt: skip
