"""What the ``c`` backend is, as data. Importing this imports neither the backend nor a compiler.

``mytriton-conformance.toml`` beside this file is the profile the conformance suite runs under.
"""

from mytriton.plugin_api import BackendInfo, Limits, capability_table

_OPERATIONS = (
    "add", "sub", "mul", "div", "neg", "and", "cmp_lt", "exp", "maximum", "minimum", "select",
    "cast", "program_id", "arange", "expand_dims", "zeros", "empty", "full", "addptr", "load",
    "store",
)  # fmt: skip
_DTYPES = (
    "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
)  # fmt: skip
_NO_F8 = "C has no 8-bit floats; cast to f16 before the kernel"

INFO = BackendInfo(
    name="c",
    summary="portable C11, compiled by the C compiler of this computer",
    url="https://github.com/mytriton/mytriton/tree/main/examples/mytriton-c",
    hook_api=(1, 0),
    priority=50,
    device_kinds=("cpu",),
    capabilities=capability_table(
        yes=[
            *(f"op.{name}" for name in _OPERATIONS),
            *(f"reduce.{name}" for name in ("sum", "max", "min")),
            *(f"dtype.{name}" for name in _DTYPES),
            *(f"rank.{n}" for n in range(2, 9)),
            *("grid.axis1", "grid.axis2", "control.for", "memory.unaligned"),
        ],
        no={"dtype.f8e4nv": _NO_F8, "dtype.f8e5": _NO_F8},
        planned={"rank.9": "tested for ranks up to 8"},
    ),
    limits=Limits(grid=(2**31 - 1, 2**31 - 1, 2**31 - 1)),
    install_hint="pip install mytriton-c, and a C compiler (Debian, Ubuntu: apt install gcc)",
    language="C",
    suffix=".c",
)
