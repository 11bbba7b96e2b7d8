"""Data of the broken backend."""

from mytriton.plugin_api import BackendInfo, capability_table

INFO = BackendInfo(
    name="broken",
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
)
