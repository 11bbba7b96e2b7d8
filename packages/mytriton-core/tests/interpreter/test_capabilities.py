"""The interpreter's capability table, which is read from the op registry."""

from __future__ import annotations

import pytest

from mytriton.interpreter.backend import INFO
from mytriton.ir.registry import OpDef, all_ops, register, unregister


def test_what_the_table_lists_it_answers() -> None:
    listed = list(INFO.capabilities)
    assert len(listed) == len(set(listed)) == len(INFO.capabilities)
    assert all(INFO.capabilities[feature].state == "yes" for feature in listed)


def test_every_operation_of_core_is_in_it() -> None:
    assert {op.feature_id for op in all_ops()} <= set(INFO.capabilities)


@pytest.mark.parametrize("feature", ["op.nothing", "add", "", "op.", "rank.9", "dtype.f128"])
def test_what_it_does_not_list_it_does_not_answer(feature: str) -> None:
    assert feature not in list(INFO.capabilities)
    assert INFO.capabilities.get(feature) is None


@pytest.mark.parametrize("feature", ["", "acme.feature"])
def test_operations_come_and_go(feature: str) -> None:
    """One without a NumPy meaning cannot be run; one with it can, under whatever id it has."""
    wanted = feature or "op.acme.twice"
    for numpy, known in ((None, False), (lambda x: x + x, True)):
        register(
            OpDef("acme.twice", 1, lambda types, attrs: types[0], numpy, "x + x", feature=feature)
        )
        try:
            assert (wanted in list(INFO.capabilities)) is known
            assert (INFO.capabilities.get(wanted) is not None) is known
        finally:
            unregister("acme.twice")
    assert INFO.capabilities.get(wanted) is None
