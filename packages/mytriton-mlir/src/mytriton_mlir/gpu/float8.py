"""8-bit floats: values are bytes, which turn into ``f32`` and back with integer arithmetic.

Few GPUs have instructions for them, and those saturate where the language gives infinity or NaN.
"""

from __future__ import annotations

import struct

from mytriton.plugin_api import F8E5, F32, F64, I32, Constant, ScalarType

from .arithmetic import Write, choose, compare
from .text import Body

#: Mantissa bits, bias of the exponent, largest finite code, what lies beyond it.
_FORMS = {"f8e4nv": (3, 7, 0x7E, 0x7F), "f8e5": (2, 15, 0x7B, 0x7C)}
_NAN = 0x7F


def _bits(value: float) -> int:
    return int.from_bytes(struct.pack("<f", value), "little")


def decode(body: Body, write: Write, byte: str, ty: ScalarType) -> str:
    """The ``f32`` of a byte, exactly."""
    mantissa, bias, largest, _ = _FORMS[ty.name]
    wide = write(f"arith.extui {byte} : i8 to i32", "bits")
    rest = write(f"arith.andi {wide}, {body.number(0x7F, I32)} : i32", "rest")
    # The exponent counts from another bias; a product puts that right, denormals included.
    moved = write(f"arith.shli {rest}, {body.number(23 - mantissa, I32)} : i32", "moved")
    scaled = write(f"arith.bitcast {moved} : i32 to f32", "scaled")
    factor = body.constant(Constant(2.0 ** (127 - bias), F32))
    value = write(f"arith.mulf {scaled}, {factor} : f32", "size")
    text = compare(">", rest, body.number(largest, I32), I32)
    special = write(text, "special")
    beyond = body.constant(Constant(float("inf"), F32)) if ty == F8E5 else ""
    nan = body.constant(Constant(float("nan"), F32))
    if ty == F8E5:
        infinite = write(compare("==", rest, body.number(0x7C, I32), I32), "infinite")
        nan = write(choose(infinite, beyond, nan, F32), "beyond")
    value = write(choose(special, nan, value, F32), "absolute")
    sign = write(f"arith.andi {wide}, {body.number(0x80, I32)} : i32", "sign")
    top = write(f"arith.shli {sign}, {body.number(24, I32)} : i32", "top")
    size = write(f"arith.bitcast {value} : f32 to i32", "size_bits")
    both = write(f"arith.ori {size}, {top} : i32", "signed")
    return f"arith.bitcast {both} : i32 to f32"


def encode(body: Body, write: Write, value: str, ty: ScalarType) -> str:
    """The byte of an ``f32``: rounded to nearest even, beyond the largest value infinity, or NaN
    where there is none."""
    mantissa, bias, largest, beyond = _FORMS[ty.name]
    cut = 23 - mantissa
    bits = write(f"arith.bitcast {value} : f32 to i32", "bits")
    size = write(f"arith.andi {bits}, {body.number(0x7FFFFFFF, I32)} : i32", "size")
    # Ordinary numbers: round the bits, a carry may reach the exponent.
    shifted = write(f"arith.shrui {size}, {body.number(cut, I32)} : i32", "shifted")
    odd = write(f"arith.andi {shifted}, {body.number(1, I32)} : i32", "odd")
    half = write(f"arith.addi {size}, {body.number((1 << (cut - 1)) - 1, I32)} : i32", "half")
    rounded = write(f"arith.addi {half}, {odd} : i32", "rounded")
    kept = write(f"arith.shrui {rounded}, {body.number(cut, I32)} : i32", "kept")
    normal = write(
        f"arith.subi {kept}, {body.number((127 - bias) << mantissa, I32)} : i32", "normal"
    )
    # Denormals: adding a number whose last place is theirs rounds them.
    magic = 2.0 ** (24 - bias - mantissa)
    positive = write(f"arith.bitcast {size} : i32 to f32", "absolute")
    added = write(f"arith.addf {positive}, {body.constant(Constant(magic, F32))} : f32", "added")
    place = write(f"arith.bitcast {added} : f32 to i32", "place")
    small = write(f"arith.subi {place}, {body.number(_bits(magic), I32)} : i32", "small")
    tiny = write(compare("<", size, body.number(_bits(2.0 ** (1 - bias)), I32), I32), "tiny")
    code = write(choose(tiny, small, normal, I32), "code")
    large = write(compare(">", code, body.number(largest, I32), I32), "large")
    code = write(choose(large, body.number(beyond, I32), code, I32), "within")
    nan = write(compare(">", size, body.number(0x7F800000, I32), I32), "nan")
    code = write(choose(nan, body.number(_NAN, I32), code, I32), "finite")
    shown = write(f"arith.shrui {bits}, {body.number(24, I32)} : i32", "shown")
    sign = write(f"arith.andi {shown}, {body.number(0x80, I32)} : i32", "sign")
    both = write(f"arith.ori {code}, {sign} : i32", "signed")
    return f"arith.trunci {both} : i32 to i8"


def to_odd(body: Body, write: Write, value: str) -> str:
    """``f64`` to ``f32``: what is no ``f32`` becomes the odd one of its neighbours, so that rounding
    to fewer bits afterwards gives what rounding once would."""
    nearest = write(f"arith.truncf {value} : f64 to f32", "nearest")
    wide = write(f"arith.extf {nearest} : f32 to f64", "wide")
    bits = write(f"arith.bitcast {nearest} : f32 to i32", "nearest_bits")
    one, zero = body.number(1, I32), body.number(0, I32)
    there = write(f"math.absf {wide} : f64", "there")
    here = write(f"math.absf {value} : f64", "here")
    away = write(compare(">", there, here, F64), "away")
    back = write(choose(away, one, zero, I32), "back")
    lower = write(f"arith.subi {bits}, {back} : i32", "lower")
    # Not for NaN, which no comparison finds.
    inexact = write(f"arith.cmpf one, {wide}, {value} : f64", "inexact")
    odd = write(choose(inexact, one, zero, I32), "odd")
    both = write(f"arith.ori {lower}, {odd} : i32", "odd_bits")
    return f"arith.bitcast {both} : i32 to f32"


#: Steps of a conversion that are written here.
STEPS = frozenset({"decode", "encode", "to odd"})


def step(body: Body, operation: str, name: str, src: ScalarType, dst: ScalarType, stem: str) -> str:
    """One of ``STEPS``; names of values on the way begin with ``stem``."""

    def write(text: str, what: str) -> str:
        return body.define(text, f"{stem}_{what}")

    if operation == "decode":
        return decode(body, write, name, src)
    return encode(body, write, name, dst) if operation == "encode" else to_odd(body, write, name)
