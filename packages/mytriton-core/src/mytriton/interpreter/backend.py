"""The interpreter as a backend of the plugin system: what it can do, lowering, compiling."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ..ir import ops as _ops  # noqa: F401  (registers the operations)
from ..ir.features import UNALIGNED
from ..ir.registry import OpDef, all_ops, lookup
from ..ir.types import SCALAR_NAMES
from ..ir.values import SSAFunction
from ..plugins.strict import SANITIZE, variable
from ..plugins.types import BackendInfo, Capability, LaunchSpec, Source

#: Operations without a NumPy meaning that the machine executes itself.
STRUCTURED = frozenset({"for", "if", "while", "reduce"})
#: Features that are not of operations.
_FIXED = dict.fromkeys([
    *(f"dtype.{n}" for n in SCALAR_NAMES), *(f"rank.{n}" for n in range(9)),
    *(f"grid.axis{n}" for n in range(3)), UNALIGNED, "sanitize.full", "sanitize.bounds",
])  # fmt: skip


class RegistryCapabilities(Mapping[str, Capability]):
    """Capabilities read from the op registry when asked: an operation that a plugin registers
    later is supported from then on, because its declaration says what it means."""

    def _operations(self) -> Iterator[str]:
        return (op.feature_id for op in all_ops() if _runs(op))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*_FIXED, *self._operations()]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, feature: str) -> Capability:
        op = lookup(feature.removeprefix("op."))
        if (
            feature in _FIXED
            or (op is not None and op.feature_id == feature and _runs(op))
            or feature in self._operations()
        ):
            return _YES
        raise KeyError(feature)


def _runs(op: OpDef) -> bool:
    return op.numpy is not None or op.name in STRUCTURED


_YES = Capability("yes")

INFO = BackendInfo(
    name="interpreter",
    summary="runs kernels on NumPy: the reference every other backend is tested against",
    priority=1,
    device_kinds=("cpu",),
    capabilities=RegistryCapabilities(),
    language="SSA",
    suffix=".ssa",
)


def lower(function: SSAFunction, launch: LaunchSpec | None = None) -> Source:
    """The module form of ``function``; the function itself travels along."""
    return Source(str(function), "SSA", function.name, MappingProxyType({"function": function}))


class InterpretedKernel:
    """A function prepared to run on host arrays."""

    #: Every access is: nobody needs to look at a launch before it runs.
    checks_bounds = True

    def __init__(self, function: SSAFunction, sanitize: str | None) -> None:
        from .plan import make_plan

        self._plan = make_plan(function)
        self._sanitize = sanitize
        self.metadata: Mapping[str, Any] = MappingProxyType({"name": function.name})

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> None:
        """Run every program of the grid."""
        from .machine import run

        run(self._plan, args, grid, sanitize=self._sanitize or variable() or False)


def compile(source: Source, launch: LaunchSpec | None = None) -> InterpretedKernel:
    """Prepare lowered SSA to run. Text that came without its function is parsed."""
    function = source.resources.get("function")
    if function is None:
        from ..ir.parser import parse

        function = parse(source.text)
    mode = None if launch is None else launch.options.get(SANITIZE)
    return InterpretedKernel(function, mode)
