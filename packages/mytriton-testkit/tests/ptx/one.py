"""A kernel of one instruction, and exact arithmetic to compare it with."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mytriton_testkit.ptx import Counters, launch, load_module

HEAD = """
.version 8.0
.target sm_80
.address_size 64
"""
BITS = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}


def kernel(body: str, *, params: int = 3, name: str = "k", declare: str = "") -> str:
    """A kernel whose pointer parameters are in %p0, %p1, ... and its thread in %t, %i."""
    listed = ", ".join(f".param .u64 {name}_{i}" for i in range(params))
    loads = "\n".join(f"ld.param.u64 %p{i}, [{name}_{i}];" for i in range(params))
    return f"""{HEAD}{declare}
.visible .entry {name}({listed})
{{
.reg .b64 %p<{max(params, 1)}>, %a<40>;
.reg .b32 %t, %i, %b, %n, %r<40>;
.reg .b16 %h<20>;
.reg .f32 %f<20>;
.reg .pred %q<20>;
mov.u32 %t, %tid.x;
mov.u32 %b, %ctaid.x;
mov.u32 %n, %ntid.x;
mad.lo.u32 %i, %b, %n, %t;
{loads}
{body}
}}
"""


def instruction(text: str, result: object, *inputs: object, dest: str = "%d") -> np.ndarray:
    """Run one instruction on arrays. In the text `%d` is the result, `%x0`, `%x1`... the inputs."""
    arrays = [np.asarray(each) for each in inputs]
    n = len(arrays[0])
    out = np.zeros(n, result)
    declared, loads = [f".reg .{BITS[out.itemsize].replace('b8', 'b16')} %d;"], []
    for index, array in enumerate(arrays):
        bits = BITS[array.itemsize]
        declared.append(f".reg .{bits.replace('b8', 'b16')} %x{index};")
        loads.append(f"mad.wide.u32 %a1, %i, {array.itemsize}, %p{index + 1};")
        loads.append(f"ld.global.{bits} %x{index}, [%a1];")
    # Inputs that are bool stand for predicates.
    store = f"mad.wide.u32 %a1, %i, {out.itemsize}, %p0;\nst.global.{BITS[out.itemsize]} [%a1], %d;"
    for index, array in enumerate(arrays):
        if array.dtype == bool:
            loads.append(f"setp.ne.u16 %q{index}, %x{index}, 0;")
    if out.dtype == bool:
        store = "selp.b16 %d, 1, 0, %q9;\n" + store
    body = "\n".join([*declared, "setp.ge.u32 %q19, %i, " + f"{n};", "@%q19 bra $END;"])
    body += "\n".join(["", *loads, text, store, "$END:", "ret;"])
    module = load_module(kernel(body, params=len(arrays) + 1))
    launch(module, -(-n // 128), 128, [out, *arrays])
    return out


def run(body: str, *args: object, grid: object = 1, block: object = 32, **options) -> Counters:
    """Launch a kernel of some text on host arrays."""
    declare = options.pop("declare", "")
    module = load_module(kernel(body, params=len(args), declare=declare))
    return launch(module, grid, block, args, **options)


FORMATS = {
    "f16": (11, -14, 15, np.float16),
    "bf16": (8, -126, 127, None),
    "f32": (24, -126, 127, np.float32),
    "f64": (53, -1022, 1023, np.float64),
    "tf32": (11, -126, 127, None),
}


def rounded(exact: Fraction, name: str, mode: str) -> float:
    """A fraction rounded to a format with integers only; the reference of every rounding."""
    precision, lowest, highest, _ = FORMATS[name]
    if exact == 0:
        return 0.0
    sign, size = (-1 if exact < 0 else 1), abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    while Fraction(2) ** exponent > size:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= size:
        exponent += 1
    quantum = Fraction(2) ** (max(exponent, lowest) - precision + 1)
    whole, rest = divmod(size, quantum)
    up = {
        "rn": rest * 2 > quantum or (rest * 2 == quantum and whole % 2 == 1),
        "rna": rest * 2 >= quantum,
        "rz": False,
        "rm": sign < 0 and rest > 0,
        "rp": sign > 0 and rest > 0,
    }[mode]
    value = (whole + up) * quantum
    limit = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** highest
    if value > limit:
        away = mode in ("rn", "rna") or mode == ("rp" if sign > 0 else "rm")
        return sign * (float("inf") if away else float(limit))
    return sign * float(value)
