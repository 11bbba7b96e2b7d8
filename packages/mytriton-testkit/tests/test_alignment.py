"""Arrays at odd addresses keep their address on the way to a launch, and the need for it is seen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from mytriton.plugins.devices import HostProvider, register_device, unregister_device
from mytriton_testkit.cases import all_cases
from mytriton_testkit.suite.device import DeviceArrays
from mytriton_testkit.suite.oracle import arguments_of, compiled_of, core_needs_of
from mytriton_testkit.suite.partners import partners_of

CASES = {case.id: case for case in all_cases() if case.id.startswith("memory.")}
ODD = CASES["memory.odd_address[f32]"]


class Elsewhere(HostProvider):
    """A device whose arrays are NumPy's."""

    kind = "elsewhere"


@pytest.fixture
def arrays() -> Iterator[DeviceArrays]:
    register_device(Elsewhere())  # type: ignore[arg-type]
    yield DeviceArrays("elsewhere")
    unregister_device("elsewhere")


def test_the_case_needs_unaligned_access_and_others_do_not() -> None:
    needs = {}
    for case in (ODD, CASES["memory.shifted_view[f32,skip=1]"]):
        arguments = arguments_of(case, 0)
        needs[case.id] = core_needs_of(case, compiled_of(case, arguments), arguments)
    odd, shifted = needs.values()
    assert odd - shifted == {"memory.unaligned"}


def test_it_shares_warm_code_with_no_aligned_case() -> None:
    assert partners_of(list(CASES.values()))[ODD.id] == ODD.id


def test_odd_addresses_reach_the_device_and_come_back(arrays: DeviceArrays) -> None:
    arguments: dict[str, Any] = arguments_of(ODD, 0)
    placed = arrays.place(arguments, False)
    assert placed["x"].__array_interface__["data"][0] % 4 == 1
    assert placed["out"].__array_interface__["data"][0] % 4 == 0
    np.testing.assert_array_equal(placed["x"], arguments["x"])
    placed["x"][3] = 99.0
    fetched = arrays.fetch()
    assert fetched["x"][3] == 99.0
    assert fetched["x"].dtype == np.float32
    assert fetched["x"].shape == arguments["x"].shape
    assert arrays.damage() == []
