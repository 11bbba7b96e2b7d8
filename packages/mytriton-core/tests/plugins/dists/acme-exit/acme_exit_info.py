"""Data of the exit backend."""

from mytriton.plugin_api import BackendInfo

INFO = BackendInfo(
    name="exit",
    summary="a toy",
)
