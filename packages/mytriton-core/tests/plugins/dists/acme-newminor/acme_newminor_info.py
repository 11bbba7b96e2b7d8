"""Data of the newminor backend."""

from mytriton.plugin_api import BackendInfo

INFO = BackendInfo(
    name="newminor",
    summary="a toy",
    hook_api=(1, 7),
)
