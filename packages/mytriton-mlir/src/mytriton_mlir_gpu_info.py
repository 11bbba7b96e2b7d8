"""What the ``mlir`` backend is: data only, importable without anything but core."""

from __future__ import annotations

from mytriton.plugin_api import BackendInfo, Limits, capability_table

_OPERATIONS = (
    "op.program_id", "op.arange", "op.expand_dims", "op.zeros", "op.full", "op.empty",
    "op.add", "op.sub", "op.mul", "op.div", "op.neg", "op.exp", "op.maximum", "op.minimum",
    "op.cmp_lt", "op.and", "op.select", "op.cast",
    "op.addptr", "op.load", "op.store",
    "reduce.sum", "reduce.max", "reduce.min",
    "control.for",
)  # fmt: skip
_DTYPES = (
    "dtype.bool", "dtype.i8", "dtype.i16", "dtype.i32", "dtype.i64",
    "dtype.u8", "dtype.u16", "dtype.u32", "dtype.u64",
    "dtype.f16", "dtype.bf16", "dtype.f32", "dtype.f64",
)  # fmt: skip
_SHAPES = (*(f"rank.{n}" for n in range(2, 9)), "grid.axis1", "grid.axis2")

_F8 = "8-bit floats come with the fourth tier of the language"

INFO = BackendInfo(
    name="mlir",
    summary="MLIR's GPU dialect to PTX for NVIDIA GPUs, one thread per element of a block",
    priority=80,
    device_kinds=("cuda",),
    capabilities=capability_table(
        yes=(*_OPERATIONS, *_DTYPES, *_SHAPES),
        planned={"dtype.f8e4nv": _F8, "dtype.f8e5": _F8},
        no={
            "limit.block>1024": "every element of a block has a thread of its own",
            "memory.unaligned": "a GPU cannot access elements at such addresses",
        },
    ),
    limits=Limits(block_elements=1024, grid=(2**31 - 1, 65535, 65535)),
    install_hint='pip install "mytriton-mlir[bindings]"',
    requirement_hints={"mlir": "mytriton-mlir[bindings]"},
    language="MLIR",
    variables={
        "MYTRITON_MLIR_CHIP": "GPU that backend mlir compiles for ('sm_90'); default: the one here",
        "MYTRITON_MLIR_IMAGES": "folder that keeps compiled GPU kernels, and gives them without bindings",
    },
)
