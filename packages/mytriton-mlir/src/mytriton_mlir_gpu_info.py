"""What the ``mlir`` backend is: data only, importable without anything but core."""

from __future__ import annotations

from mytriton.plugin_api import BackendInfo, Limits, capability_table

_OPERATIONS = (
    "op.program_id", "op.num_programs", "op.arange", "op.expand_dims", "op.broadcast", "op.trans",
    "op.zeros", "op.full", "op.empty",
    "op.add", "op.sub", "op.mul", "op.div", "op.rem", "op.neg", "op.abs", "op.fma", "op.umulhi",
    "op.and", "op.or", "op.xor", "op.not", "op.shl", "op.shr",
    "op.maximum", "op.minimum", "op.select", "op.cast", "op.bitcast",
    "op.cmp_lt", "op.cmp_le", "op.cmp_gt", "op.cmp_ge", "op.cmp_eq", "op.cmp_ne",
    "op.exp", "op.exp2", "op.log", "op.log2", "op.sqrt", "op.rsqrt", "op.sin", "op.cos", "op.tanh",
    "op.erf", "op.floor", "op.ceil", "op.trunc", "op.rint",
    "op.addptr", "op.load", "op.store", "op.dot", "op.device_assert",
    "reduce.sum", "reduce.max", "reduce.min", "reduce.xor_sum", "reduce.argmax", "reduce.argmin",
    "reduce.custom",
    "control.for", "control.if", "control.while",
)  # fmt: skip
_DTYPES = (
    "dtype.bool", "dtype.i8", "dtype.i16", "dtype.i32", "dtype.i64",
    "dtype.u8", "dtype.u16", "dtype.u32", "dtype.u64",
    "dtype.f16", "dtype.bf16", "dtype.f32", "dtype.f64", "dtype.f8e4nv", "dtype.f8e5",
)  # fmt: skip
_SHAPES = (*(f"rank.{n}" for n in range(2, 9)), "grid.axis1", "grid.axis2")

INFO = BackendInfo(
    name="mlir",
    summary="MLIR's GPU dialect to PTX for NVIDIA GPUs, one thread per element of a block",
    priority=80,
    device_kinds=("cuda",),
    capabilities=capability_table(
        yes=(*_OPERATIONS, *_DTYPES, *_SHAPES),
        planned={"op.device_print": "not lowered to gpu.printf yet"},
        no={
            "limit.block>1024": "every element of a block has a thread of its own",
            "limit.shared>49152": "what a program reduces at once must fit in shared memory",
            "memory.unaligned": "a GPU cannot access elements at such addresses",
        },
    ),
    limits=Limits(block_elements=1024, grid=(2**31 - 1, 65535, 65535)),
    install_hint='pip install "mytriton-mlir[bindings]"',
    requirement_hints={"mlir": "mytriton-mlir[bindings]"},
    language="MLIR",
    suffix=".mlir",
    variables={
        "MYTRITON_MLIR_CHIP": "GPU that backend mlir compiles for ('sm_90'); default: the one here",
        "MYTRITON_MLIR_IMAGES": "folder that keeps compiled GPU kernels, and gives them without bindings",
    },
)
