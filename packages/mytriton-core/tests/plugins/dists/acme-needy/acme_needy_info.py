"""Data of the needy backend."""

from mytriton.plugin_api import BackendInfo, capability_table

INFO = BackendInfo(
    name="needy",
    summary="a toy",
    capabilities=capability_table(
        [
            "dtype.bool",
            "dtype.f32",
            "dtype.i32",
            "op.add",
            "op.addptr",
            "op.arange",
            "op.cmp_lt",
            "op.load",
            "op.mul",
            "op.program_id",
            "op.store",
        ]
    ),
    requirement_hints={"acme_native_lib": "acme-needy[native]"},
    install_hint="pip install acme-needy",
)
