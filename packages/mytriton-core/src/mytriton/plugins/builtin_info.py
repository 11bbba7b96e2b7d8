"""What the interpreter says about itself, without importing it (nor NumPy) until it is asked what
it can do. The rest is compared with ``interpreter.backend.INFO`` by a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .types import BackendInfo, Capability


class _WhenAsked(Mapping[str, Capability]):
    """The interpreter's capability table."""

    def _table(self) -> Mapping[str, Capability]:
        from ..interpreter.backend import INFO

        return INFO.capabilities

    def __getitem__(self, feature: str) -> Capability:
        return self._table()[feature]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())


INFO = BackendInfo(
    name="interpreter",
    summary="runs kernels on NumPy: the reference every other backend is tested against",
    priority=1,
    device_kinds=("cpu",),
    capabilities=_WhenAsked(),
    language="SSA",
    suffix=".ssa",
)
