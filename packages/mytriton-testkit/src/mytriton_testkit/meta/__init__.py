"""Backends that test the suite: one that is right, and several that are wrong in known ways.

None of them is installed as a backend. ``mytriton-conformance liar --plugin
mytriton_testkit.meta.liar`` runs the suite against one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mytriton.plugin_api import BackendInfo, Capability, all_ops


class Table(Mapping[str, Capability]):
    """A capability table that gives every feature the same answer."""

    def __init__(self, capability: Capability) -> None:
        self._answer = capability

    def __getitem__(self, feature: str) -> Capability:
        return self._answer

    def __contains__(self, feature: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return (op.feature_id for op in all_ops())

    def __len__(self) -> int:
        return sum(1 for _ in self)


EVERYTHING = Table(Capability("yes"))
NOTHING = Table(Capability("planned", "this backend does nothing"))


def info(name: str, summary: str, table: Mapping[str, Capability] = EVERYTHING) -> BackendInfo:
    """The data of a backend of this package."""
    return BackendInfo(name, f"{summary} (for testing the suite)", priority=2, capabilities=table)


#: Name -> module, for tests.
BACKENDS = {
    name: f"mytriton_testkit.meta.{name}"
    for name in ("loopback", "null", "liar", "fallbacker", "crasher", "hanger")
}
