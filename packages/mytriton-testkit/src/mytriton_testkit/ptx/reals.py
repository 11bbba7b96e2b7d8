"""Semantics of the floating-point instructions, keyed by base opcode.

`REAL[base](instruction)` gives the function from operand arrays to the result array. The working
format is float16, float32 or float64; bf16 and packed halves are unpacked to float32, computed
exactly enough (rounded to odd where it matters) and packed again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import floats
from .syntax import Instruction
from .types import Array

Function = Callable[..., Array]

MODES = ("rn", "rz", "rm", "rp")


# ---------------------------------------------------------------------- rules of every operation


def maximum(a: Array, b: Array) -> Array:
    """IEEE maximumNumber: a NaN loses, +0 is more than -0."""
    return _pick(np.fmax(a, b), a, b, np.bitwise_and)


def minimum(a: Array, b: Array) -> Array:
    return _pick(np.fmin(a, b), a, b, np.bitwise_or)


def _pick(result: Array, a: Array, b: Array, zeros: Function) -> Array:
    zero = (a == 0) & (b == 0)
    if not zero.any():
        return result
    bits = np.dtype(f"u{result.dtype.itemsize}")
    a, b = np.broadcast_arrays(a, b)
    signed = zeros(np.ascontiguousarray(a).view(bits), np.ascontiguousarray(b).view(bits))
    return np.where(zero, signed.view(result.dtype), result)


def _min_max(function: Function, ins: Instruction) -> Function:
    def apply(a: Array, b: Array, *more: Array) -> Array:
        if ins.has("abs", "xorsign") and ins.has("xorsign"):
            sign = np.where(np.signbit(a) != np.signbit(b), a.dtype.type(-1), a.dtype.type(1))
            return np.copysign(function(np.abs(a), np.abs(b)), sign)
        result = function(a, b)
        for other in more:
            b = other
            result = function(result, b)
        if ins.has("NaN"):
            bad = np.isnan(a) | np.isnan(b)
            result = np.where(bad, result.dtype.type(np.nan), result)
        return result

    return apply


def _fma(ins: Instruction) -> Function:
    mode = ins.one_of(*MODES, default="rn")
    name = ins.type.name
    if name == "f64":
        if mode == "rn":
            return floats.fma64
        return lambda a, b, c: floats.directed64(lambda x, y, z: x * y + z, mode, a, b, c)
    if name == "f32":
        if mode == "rn":
            return floats.fma32
        return lambda a, b, c: floats.fma32_directed(a, b, c, mode)
    return floats.fma_small


def _rounded(plain: Function, directed32: Function) -> Callable[[Instruction], Function]:
    """An operation NumPy rounds to nearest, with the function for other modes of float32."""

    def build(ins: Instruction) -> Function:
        mode = ins.one_of(*MODES, default="rn")
        if mode == "rn":
            return plain
        if ins.type.name == "f64":
            if plain is np.sqrt:
                return lambda a: floats.sqrt64_directed(a, mode)
            if plain is _reciprocal:
                return lambda a: floats.directed64(np.divide, mode, np.ones_like(a), a)
            return lambda *values: floats.directed64(plain, mode, *values)
        return lambda *values: directed32(*values, mode)

    return build


def _reciprocal(a: Array) -> Array:
    return a.dtype.type(1) / a


def _subtract32(a: Array, b: Array, mode: str) -> Array:
    return floats.add32_directed(a, -b, mode)


def _reciprocal32(a: Array, mode: str) -> Array:
    return floats.div32_directed(np.ones_like(a), a, mode)


def _approximate(function: Function) -> Callable[[Instruction], Function]:
    """The hardware's approximations: evaluated in float64 and rounded once."""

    def build(ins: Instruction) -> Function:
        def apply(a: Array) -> Array:
            return function(a.astype(np.float64)).astype(a.dtype)

        return apply

    return build


def _upper_half(function: Function) -> Function:
    """rcp.approx.ftz.f64 and rsqrt.approx.f64 work on the upper 32 bits only."""

    def apply(a: Array) -> Array:
        small = np.abs(a) < 2.0**-1022
        result = np.asarray(function(np.where(small, np.copysign(0.0, a), a)))
        return (result.view(np.uint64) & np.uint64(0xFFFFFFFF00000000)).view(np.float64)

    return apply


def _rcp(ins: Instruction) -> Function:
    if ins.has("approx") and ins.type.name == "f64":
        return _upper_half(_reciprocal)
    return _rounded(_reciprocal, _reciprocal32)(ins)


def _reverse_root(a: Array) -> Array:
    return (1.0 / np.sqrt(a.astype(np.float64))).astype(a.dtype)


def _rsqrt(ins: Instruction) -> Function:
    if ins.has("ftz") and ins.type.name == "f64":
        return _upper_half(_reverse_root)
    return _reverse_root


def _sign_bits(clear: bool) -> Function:
    """abs and neg touch the sign bit only, NaN included."""
    return np.abs if clear else np.negative


TESTP: dict[str, Function] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}

REAL: dict[str, Callable[[Instruction], Function]] = {
    "add": _rounded(np.add, floats.add32_directed),
    "sub": _rounded(np.subtract, _subtract32),
    "mul": _rounded(np.multiply, floats.mul32_directed),
    "div": _rounded(np.divide, floats.div32_directed),
    "sqrt": _rounded(np.sqrt, floats.sqrt32_directed),
    "rcp": _rcp,
    "rsqrt": _rsqrt,
    "fma": _fma,
    "mad": _fma,
    "abs": lambda ins: _sign_bits(True),
    "neg": lambda ins: _sign_bits(False),
    "min": lambda ins: _min_max(minimum, ins),
    "max": lambda ins: _min_max(maximum, ins),
    "ex2": _approximate(np.exp2),
    "lg2": _approximate(np.log2),
    "sin": _approximate(np.sin),
    "cos": _approximate(np.cos),
    "tanh": _approximate(np.tanh),
    "copysign": lambda ins: lambda a, b: np.copysign(b, a),
    "testp": lambda ins: TESTP[ins.one_of(*TESTP)],
}


# ---------------------------------------------------------------------- formats around them


def build(ins: Instruction) -> Function:
    """The whole function of an instruction: flushing, saturation, bf16, packed halves."""
    core, type_ = REAL[ins.base](ins), ins.type
    if type_.kind == "x":
        return _packed(ins, core, type_.name.removesuffix("x2"))
    if type_.kind == "h":
        return _narrow(ins, core, "bf16")
    if type_.name == "f16" and ins.base in ("fma", "mad"):
        return _narrow(ins, core, "f16")
    flush = type_.name == "f32" and ins.has("ftz")

    def apply(*values: Array) -> Array:
        if flush:
            values = tuple(map(floats.flush32, values))
        result = core(*values)
        if flush and result.dtype == np.float32:
            result = floats.flush32(result)
        if ins.has("relu"):
            result = np.where(result > 0, result, result.dtype.type(0))
        return floats.saturate(result) if ins.has("sat") else result

    plain = not (flush or ins.has("sat", "relu"))
    return core if plain else apply


def unpack(bits: Array, name: str) -> Array:
    """Values of 16-bit floats given as bits."""
    if name == "bf16":
        return floats.bf16_to_f32(bits)
    return np.ascontiguousarray(bits).view(np.float16)


def pack(values: Array, name: str) -> Array:
    """Bits of 16-bit floats."""
    if name == "bf16":
        return floats.bf16_bits(values)
    return np.asarray(values.astype(np.float16)).view(np.uint16)


def _narrow(ins: Instruction, core: Function, name: str) -> Function:
    def apply(*values: Array) -> Array:
        floated = [unpack(each, name) if name == "bf16" else each for each in values]
        result = np.asarray(core(*floated))
        if result.dtype == bool:
            return result
        if ins.base in ("abs", "neg", "min", "max") or name == "f16":
            exact = result
        else:
            exact = result.astype(np.float64)
        if ins.has("relu"):
            exact = np.where(exact > 0, exact, np.where(np.isnan(exact), exact, 0))
        if ins.has("sat"):
            exact = floats.saturate(exact)
        bits = pack(exact, name)
        return bits if name == "bf16" else bits.view(np.float16)

    return apply


def _packed(ins: Instruction, core: Function, name: str) -> Function:
    """f16x2 and bf16x2: the operation on both halves."""
    half = _narrow(ins, core, name)

    def apply(*values: Array) -> Array:
        parts = []
        for shift in (0, 16):
            bits = [(each >> np.uint32(shift)).astype(np.uint16) for each in values]
            arguments = bits if name == "bf16" else [unpack(each, name) for each in bits]
            parts.append(half(*arguments).view(np.uint16).astype(np.uint32))
        return parts[0] | (parts[1] << np.uint32(16))

    return apply
