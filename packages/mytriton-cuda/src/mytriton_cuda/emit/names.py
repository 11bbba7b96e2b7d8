"""Names of the generated code: parameters keep theirs unless C++ or we need the name."""

from __future__ import annotations

import re
from collections.abc import Iterable


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _words("""
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
false float for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr
operator or or_eq private protected public register reinterpret_cast requires return short signed
sizeof static static_assert static_cast struct switch template this thread_local throw true try
typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
""")
# Macros of some compilers, and what the generated code refers to.
_USED = _words("""
threadIdx blockIdx blockDim gridDim warpSize linux unix i386 NULL assert
exp expf fmax fmaxf fmin fminf gridDim printf
exp2 exp2f log logf log2 log2f sqrt sqrtf rsqrt rsqrtf sin sinf cos cosf tanh tanhf erf erff
floor floorf ceil ceilf trunc truncf rint rintf fabs fabsf fmod fmodf fma fmaf
half_to_float float_to_half round_to_half round_double_to_half bfloat16_to_float
float_to_bfloat16 round_to_bfloat16 round_double_to_bfloat16
f8e4nv_to_float float_to_f8e4nv round_to_f8e4nv round_double_to_f8e4nv
f8e5_to_float float_to_f8e5 round_to_f8e5 round_double_to_f8e5 round_to_odd
mma_f16 mma_bf16 mma_tf32 mma_s8 mma_u8 to_tf32 pair_at
tile_i tile_j tile_k thread stride
Pack Bits read_pack write_pack fast_exp fast_divide
""")
#: Words a parameter cannot be called.
RESERVED = _KEYWORDS | _USED

# A kernel lives in the global scope, where CUDA has declared much more.
_GLOBALS = _words("""
abort abs acos acosh asin asinh atan atan2 atanh cbrt ceil clock clock64 copysign cos cosh cospi
cyl_bessel_i0 cyl_bessel_i1 div erf erfc erfcinv erfcx erfinv exit exp10 exp2 expm1 fabs fdim
fdivide floor fma fmod free frexp hypot ilogb isfinite isinf isnan isnormal j0 j1 jn labs ldexp
ldiv lgamma llabs lldiv llmax llmin llrint llround log log10 log1p log2 logb lrint lround malloc
max memcmp memcpy memmove memset min modf nan nearbyint nextafter norm norm3d norm4d normcdf
normcdfinv pow printf ptrdiff_t rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round
rsqrt scalbln scalbn signbit sin sincos sincospi sinh sinpi size_t sqrt std tan tanh tanpi tgamma
time clock_t time_t trap trunc uabs ullmax ullmin umax umin umul24 mul24 y0 y1 yn main dim3 half
nv_bfloat16 nv_half va_list va_start va_end va_arg alloca memchr strlen strcmp strcpy puts putchar
abs128 brkpt prof_trigger all any ballot popc clz ffs saturate signgam uint ushort ulong uchar
""")
_GLOBAL_PATTERN = re.compile(
    r"(?:tex|surf|atomic|cuda|cu|make_|nv|threadfence|syncthreads)\w*"
    r"|u?(?:char|short|int|long|longlong|float|double)[1-4](?:_\w+)?"
)
_RESERVED_GLOBALS = frozenset(
    {*RESERVED, *_GLOBALS, *(f"{name}f" for name in _GLOBALS), *(f"{name}l" for name in _GLOBALS)}
)


def plain(name: str) -> str:
    """``name`` in ASCII, and without the underscores C++ keeps for itself."""
    text = "".join(c if c.isascii() else f"u{ord(c):x}" for c in name)
    text = re.sub(r"\W", "_", text)
    text = re.sub(r"__+", "_", text)
    return f"arg{text}" if text.startswith("_") or not text or text[0].isdigit() else text


def kernel_name(name: str) -> str:
    """What the kernel is called in C++."""
    text = plain(name)
    if text in _RESERVED_GLOBALS or _GLOBAL_PATTERN.fullmatch(text):
        return f"{text}_kernel"
    return text


class Names:
    """Gives out names, each once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(RESERVED)
        self._taken.update(taken)

    def fresh(self, wanted: str) -> str:
        """``wanted``, or with the first suffix that makes it a new name."""
        name = wanted
        if name in self._taken:
            base = wanted if wanted.endswith("_") else f"{wanted}_"
            name = base
            count = 1
            while name in self._taken:
                count += 1
                name = f"{base}{count}"
        self._taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Keep ``name`` for a purpose of our own."""
        self._taken.add(name)
