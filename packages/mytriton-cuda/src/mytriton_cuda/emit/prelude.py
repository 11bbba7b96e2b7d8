"""Device functions that kernels with small floats need, put before the kernel. No header is
included: NVRTC brings none."""

from __future__ import annotations

from .floats8 import small_floats

_INLINE = "static __device__ __forceinline__"


def _mma(name: str, shape: str, kind: str, total: str = "f32") -> str:
    """One instruction of the tensor cores; ``upper`` and ``lower`` are the rows of the result that a
    thread holds two elements of."""
    number, letter = ("float", "f") if total == "f32" else ("int", "r")
    return f"""void {name}(
    {number}* upper, {number}* lower, const unsigned int (&a)[4], const unsigned int (&b)[2]) {{
    asm volatile("mma.sync.aligned.{shape}.row.col.{total}.{kind}.{kind}.{total} "
        "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
        : "+{letter}"(upper[0]), "+{letter}"(upper[1]), "+{letter}"(lower[0]), "+{letter}"(lower[1])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}}"""


#: Name -> (names it calls, text). Listed in the order they are written.
FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "half_to_float": (
        (),
        """float half_to_float(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}""",
    ),
    "float_to_half": (
        (),
        """unsigned short float_to_half(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}""",
    ),
    "round_to_half": (
        ("half_to_float", "float_to_half"),
        """float round_to_half(float value) {
    return half_to_float(float_to_half(value));
}""",
    ),
    "round_double_to_half": (
        ("half_to_float",),
        """float round_double_to_half(double value) {
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));
    return half_to_float(bits);
}""",
    ),
    "bfloat16_to_float": (
        (),
        """float bfloat16_to_float(unsigned short bits) {
    return __uint_as_float((unsigned int)bits << 16);
}""",
    ),
    "float_to_bfloat16": (
        (),
        """unsigned short float_to_bfloat16(float value) {
    unsigned int bits = __float_as_uint(value);
    if (value != value) {
        return (unsigned short)((bits >> 16) | 0x40u);  // a NaN stays one
    }
    return (unsigned short)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);  // nearest, ties to even
}""",
    ),
    "round_to_bfloat16": (
        ("bfloat16_to_float", "float_to_bfloat16"),
        """float round_to_bfloat16(float value) {
    return bfloat16_to_float(float_to_bfloat16(value));
}""",
    ),
    "fast_exp": (
        (),
        """float fast_exp(float value) {
    float power;
    asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(value * 1.4426950408889634f));
    return power;
}""",
    ),
    "fast_divide": (
        (),
        """float fast_divide(float a, float b) {
    float quotient;
    asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
    return quotient;
}""",
    ),
    "round_double_to_bfloat16": (
        ("round_to_bfloat16",),
        """float round_double_to_bfloat16(double value) {
    float shorter = __double2float_rz(value);
    if ((double)shorter != value && value == value) {
        // Round to odd first: rounding to nearest twice could go wrong.
        shorter = __uint_as_float(__float_as_uint(shorter) | 1u);
    }
    return round_to_bfloat16(shorter);
}""",
    ),
    **small_floats(),
    "pair_at": (
        (),
        """unsigned int pair_at(const void* place) {
    return *(const unsigned int*)place;
}""",
    ),
    "to_tf32": (
        (),
        """unsigned int to_tf32(float value) {
    unsigned int bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}""",
    ),
    "mma_f16": ((), _mma("mma_f16", "m16n8k16", "f16")),
    "mma_bf16": ((), _mma("mma_bf16", "m16n8k16", "bf16")),
    "mma_s8": ((), _mma("mma_s8", "m16n8k32", "s8", "s32")),
    "mma_u8": ((), _mma("mma_u8", "m16n8k32", "u8", "s32")),
    "mma_tf32": ((), _mma("mma_tf32", "m16n8k8", "tf32")),
}

#: Definitions that are no functions, and functions that are templates. Written first.
TYPES = {
    "Pack": """// Elements that are moved with one instruction.
template <int BYTES> struct Bits;
template <> struct Bits<2> { typedef unsigned short type; };
template <> struct Bits<4> { typedef unsigned int type; };
template <> struct Bits<8> { typedef uint2 type; };
template <> struct Bits<16> { typedef uint4 type; };
template <typename T, int N> union Pack {
    typename Bits<sizeof(T) * N>::type bits;
    T at[N];
    __device__ Pack() {}
};
template <typename T, int N>
static __device__ __forceinline__ Pack<T, N> read_pack(const T* from) {
    Pack<T, N> found;
    found.bits = *reinterpret_cast<const typename Bits<sizeof(T) * N>::type*>(from);
    return found;
}
template <typename T, int N>
static __device__ __forceinline__ void write_pack(T* to, const Pack<T, N>& pack) {
    *reinterpret_cast<typename Bits<sizeof(T) * N>::type*>(to) = pack.bits;
}
""",
    "byte_at": """// NVRTC 12.9 loses the sign of what is computed with the first byte of a word it unpacks.
template <typename T, int N>
static __device__ __forceinline__ T byte_at(const Pack<T, N>& pack, int k) {
    const unsigned int word = N == 2 ? *reinterpret_cast<const unsigned short*>(&pack)
                                     : reinterpret_cast<const unsigned int*>(&pack)[k / 4];
    return (T)__byte_perm(word, 0, 0x4440 + k % 4);
}
""",
}


class Helpers:
    """Collects the device functions a kernel calls."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def call(self, name: str, argument: str) -> str:
        """A call of a helper, which the prelude then contains."""
        self.need(name)
        if argument.startswith("(") and _closes_last(argument):
            return name + argument
        return f"{name}({argument})"

    def need(self, name: str) -> None:
        """Make the prelude contain a function or a type."""
        if name not in self._used:
            self._used.add(name)
            for other in FUNCTIONS[name][0] if name in FUNCTIONS else ():
                self.need(other)

    def text(self) -> str:
        """The definitions of everything that was called, each after what it calls."""
        parts = [
            f"{_INLINE} {text}\n\n" for name, (_, text) in FUNCTIONS.items() if name in self._used
        ]
        types = [f"{text}\n" for name, text in TYPES.items() if name in self._used]
        return "".join(types + parts)


def _closes_last(text: str) -> bool:
    """Whether the parenthesis ``text`` starts with is closed by its last character."""
    depth = 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            return position == len(text) - 1
    return False
