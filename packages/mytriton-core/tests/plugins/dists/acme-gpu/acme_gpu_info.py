"""Data of the gpu backend."""

from mytriton.plugin_api import BackendInfo, capability_table

INFO = BackendInfo(
    name="gpu",
    summary="a toy",
    device_kinds=("gpu",),
    priority=80,
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
)
