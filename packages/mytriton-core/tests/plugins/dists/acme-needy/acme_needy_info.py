"""Data of the needy backend."""

from mytriton.plugin_api import BackendInfo

INFO = BackendInfo(
    name="needy",
    summary="a toy",
    requirement_hints={"acme_native_lib": "acme-needy[native]"},
    install_hint="pip install acme-needy",
)
