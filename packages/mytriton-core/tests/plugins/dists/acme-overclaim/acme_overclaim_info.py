"""Data of the overclaim backend."""

from mytriton.plugin_api import BackendInfo, capability_table

INFO = BackendInfo(
    name="overclaim",
    summary="a toy",
    capabilities=capability_table(["op.load"], planned={"op.add": "sums are hard"}),
)
