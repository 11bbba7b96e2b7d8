"""Data of the broken backend."""

from mytriton.plugin_api import BackendInfo

INFO = BackendInfo(
    name="broken",
    summary="a toy",
)
