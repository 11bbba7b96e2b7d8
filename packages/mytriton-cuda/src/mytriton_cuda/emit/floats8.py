"""Conversions of 8-bit floats in software: every GPU has them, and they round as the language says."""

from __future__ import annotations

# Name -> mantissa bits, exponent bias, the largest finite code, what lies beyond it, the code of NaN.
_FORMATS = {"f8e4nv": (3, 7, 0x7E, 0x7F, 0x7F), "f8e5": (2, 15, 0x7B, 0x7C, 0x7F)}


def _decoder(name: str) -> str:
    mantissa, bias, largest, beyond, _ = _FORMATS[name]
    infinity = "" if beyond == 0x7F else (
        f"    if (code == {beyond:#x}u) {{\n        value = __uint_as_float(0x7f800000u);\n    }}\n"
    )  # fmt: skip
    smallest = 2.0 ** (1 - bias - mantissa)
    return f"""float {name}_to_float(unsigned char bits) {{
    unsigned int code = bits & 0x7fu;
    // A normal number keeps its fraction and gets the other bias; the rest are multiples.
    float value = code >= {1 << mantissa}u
        ? __uint_as_float((code << {23 - mantissa}) + ({127 - bias}u << 23))
        : (float)code * {smallest!r}f;
{infinity}    if (code > {max(largest, beyond if beyond != 0x7F else 0):#x}u) {{
        value = __uint_as_float(0x7fc00000u);
    }}
    return bits & 0x80u ? -value : value;
}}"""


def _encoder(name: str) -> str:
    mantissa, bias, largest, beyond, nan = _FORMATS[name]
    shift = 23 - mantissa
    least = (128 - bias) << 23  # the smallest normal number
    magic = 2.0 ** (23 + 1 - bias - mantissa)
    return f"""unsigned char float_to_{name}(float value) {{
    unsigned int bits = __float_as_uint(value), rest = bits & 0x7fffffffu, code;
    if (rest > 0x7f800000u) {{
        code = {nan:#x}u;
    }} else if (rest < {least:#010x}u) {{
        // Below the normal numbers: the sum is rounded to their common step.
        code = __float_as_uint(__uint_as_float(rest) + {magic!r}f) - __float_as_uint({magic!r}f);
    }} else {{
        code = ((rest + {(1 << (shift - 1)) - 1:#x}u + ((rest >> {shift}) & 1u)) >> {shift}) - {
        (127 - bias) << mantissa
    }u;
        code = code > {largest:#x}u ? {beyond:#x}u : code;
    }}
    return (unsigned char)(code | ((bits >> 24) & 0x80u));
}}"""


_TO_ODD = """float round_to_odd(double value) {
    float shorter = __double2float_rz(value);
    bool inexact = (double)shorter != value && value == value;
    return inexact ? __uint_as_float(__float_as_uint(shorter) | 1u) : shorter;
}"""


def small_floats() -> dict[str, tuple[tuple[str, ...], str]]:
    """The functions, as ``prelude.FUNCTIONS`` lists them."""
    found: dict[str, tuple[tuple[str, ...], str]] = {"round_to_odd": ((), _TO_ODD)}
    for name in _FORMATS:
        there, back = f"float_to_{name}", f"{name}_to_float"
        found[back] = (), _decoder(name)
        found[there] = (), _encoder(name)
        found[f"round_to_{name}"] = (
            (there, back),
            f"float round_to_{name}(float value) {{\n    return {back}({there}(value));\n}}",
        )
        found[f"round_double_to_{name}"] = (
            (f"round_to_{name}", "round_to_odd"),
            f"float round_double_to_{name}(double value) {{\n"
            f"    // To odd first: rounding to nearest twice could go wrong.\n"
            f"    return round_to_{name}(round_to_odd(value));\n}}",
        )
    return found
