"""What the ``cuda`` backend is: data only, importable without anything but core."""

from __future__ import annotations

from mytriton.plugin_api import BackendInfo, Limits, capability_table

#: Bytes of shared memory that every device with the tensor-core instructions grants one thread block
#: that asks for them.
MAX_SHARED = 99 * 1024
#: One line each, computed by hand: what the emitter has a renderer for.
_OPERATIONS = (
    "op.program_id", "op.num_programs", "op.arange", "op.expand_dims", "op.broadcast", "op.trans",
    "op.zeros", "op.full", "op.empty",
    "op.add", "op.sub", "op.mul", "op.div", "op.rem", "op.neg", "op.abs", "op.fma", "op.umulhi",
    "op.maximum", "op.minimum", "op.select", "op.cast", "op.bitcast",
    "op.cmp_lt", "op.cmp_le", "op.cmp_gt", "op.cmp_ge", "op.cmp_eq", "op.cmp_ne",
    "op.and", "op.or", "op.xor", "op.not", "op.shl", "op.shr",
    "op.exp", "op.exp2", "op.log", "op.log2", "op.sqrt", "op.rsqrt", "op.sin", "op.cos", "op.tanh",
    "op.erf", "op.floor", "op.ceil", "op.trunc", "op.rint",
    "op.addptr", "op.load", "op.store", "op.dot",
    "op.device_print", "op.device_assert",
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
    name="cuda",
    summary="CUDA C++, one or several elements of a block per thread",
    priority=90,
    device_kinds=("cuda",),
    capabilities=capability_table(
        yes=(*_OPERATIONS, *_DTYPES, *_SHAPES),
        planned={
            "limit.block>65536": "a thread would hold more than its registers",
        },
        no={
            f"limit.shared>{MAX_SHARED}": "what a program reduces or multiplies at once must fit in "
            "shared memory",
            "memory.unaligned": "a GPU cannot access elements at such addresses",
        },
    ),
    limits=Limits(block_elements=65536, grid=(2**31 - 1, 65535, 65535)),
    install_hint='pip install "mytriton-cuda[cuda12]" (or [cuda13], to match your driver)',
    requirement_hints={
        "cupy": "mytriton-cuda[cuda12] or mytriton-cuda[cuda13]",
    },
    language="CUDA C++",
    suffix=".cu",
    specialise=("align16",),
    variables={
        "MYTRITON_NVRTC": "path of the NVRTC library to use (default: found by itself)",
        "MYTRITON_CUDA_ARCH": "what is compiled for where there is no device (default: sm_80)",
        "MYTRITON_CUDA_MAPPING": "element or blocked: the mapping to threads to use (tests)",
        "MYTRITON_REQUIRE_CUDA": "1 makes a missing GPU a failure of tests instead of a skip",
    },
)
