"""Core's words for what a backend cannot do."""

from __future__ import annotations

from typing import Any

from mytriton.plugin_api import BackendInfo, capability_table
from mytriton.plugins.claims import default_claim, not_possible


def test_what_a_backend_finds_out_reads_as_what_its_table_says(tools: Any) -> None:
    function = tools.function()
    yes = function.features() - {"op.store"}
    table = capability_table(yes, no={"op.store": "no room"})
    told = default_claim(function, tools.launch(), BackendInfo("a", "fake", capabilities=table))
    assert not_possible("op.store", "no room") == told
    assert told.reason == "missing op.store (not possible: no room)"
