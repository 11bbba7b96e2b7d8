/* What generated kernels include: memory access, and arithmetic that C itself leaves undefined.

   Naming: `f16` and `bf16` are held as bit patterns (uint16_t) and computed with as float.
   Nothing here may be compiled with -ffast-math. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define U(x) ((uint64_t)(x))

/* load_T(address), store_T(address, value): any alignment, and arguments may overlap. */
#define ACCESS(NAME, T)                                                                            \
    static inline T load_##NAME(uintptr_t p) { T x; memcpy(&x, (const void *)p, sizeof x); return x; } \
    static inline void store_##NAME(uintptr_t p, T x) { memcpy((void *)p, &x, sizeof x); }

/* as_T(bits): the low bits of a 64-bit pattern (integer arithmetic wraps, whatever the type).
   trunc_T(x): toward zero; 0 for NaN and for what does not fit. LOW and HIGH do not fit. */
#define INTEGER(NAME, T, UNSIGNED, LOW, HIGH)                                                      \
    ACCESS(NAME, T)                                                                                \
    static inline T as_##NAME(uint64_t bits) {                                                     \
        UNSIGNED u = (UNSIGNED)bits; T x; memcpy(&x, &u, sizeof x); return x;                      \
    }                                                                                              \
    static inline T trunc_##NAME(double x) { return x > (LOW) && x < (HIGH) ? (T)x : 0; }

INTEGER(i8, int8_t, uint8_t, -129.0, 128.0)
INTEGER(i16, int16_t, uint16_t, -32769.0, 32768.0)
INTEGER(i32, int32_t, uint32_t, -2147483649.0, 2147483648.0)
INTEGER(i64, int64_t, uint64_t, -0x1.0000000000001p63, 0x1p63)
INTEGER(u8, uint8_t, uint8_t, -1.0, 256.0)
INTEGER(u16, uint16_t, uint16_t, -1.0, 65536.0)
INTEGER(u32, uint32_t, uint32_t, -1.0, 0x1p32)
INTEGER(u64, uint64_t, uint64_t, -1.0, 0x1p64)
ACCESS(f16, uint16_t)
ACCESS(bf16, uint16_t)
ACCESS(f32, float)
ACCESS(f64, double)

static inline uint8_t load_bool(uintptr_t p) { return *(const unsigned char *)p != 0; }
static inline void store_bool(uintptr_t p, uint8_t x) { *(unsigned char *)p = x; }
static inline uint8_t as_bool(uint64_t bits) { return bits & 1; }

static inline uint32_t bits_f32(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float f32_bits(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }
static inline double f64_bits(uint64_t u) { double x; memcpy(&x, &u, sizeof x); return x; }

/* Round to odd: a second rounding to a 16-bit float then gives what one rounding would have. */
static inline float odd_f32(double x) {
    float nearest = (float)x;
    if (x != x || (double)nearest == x) return nearest;
    uint32_t u = bits_f32(nearest);
    if (fabs((double)nearest) > fabs(x)) u -= 1;
    return f32_bits(u | 1);
}

static inline float value_f16(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    if (rest >= 0x0f800000) return f32_bits(sign | rest | 0x7f800000);
    if (rest < 0x00800000) return f32_bits(sign | bits_f32((float)(h & 0x3ff) * 0x1p-24f));
    return f32_bits(sign | (rest + 0x38000000));
}

/* To nearest, ties to even; a NaN stays one. */
static inline uint16_t bits_f16(float x) {
    uint32_t u = bits_f32(x), sign = (u >> 16) & 0x8000, rest = u & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | ((rest >> 13) & 0x3ff));
    if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (rest < 0x38800000) { /* denormal: one in the last place of 0.5f is the smallest f16 */
        float shifted = f32_bits(rest) + 0.5f;
        return (uint16_t)(sign | (bits_f32(shifted) - 0x3f000000));
    }
    return (uint16_t)(sign | ((rest - 0x38000000 + 0xfff + ((rest >> 13) & 1)) >> 13));
}

static inline float value_bf16(uint16_t h) { return f32_bits((uint32_t)h << 16); }

static inline uint16_t bits_bf16(float x) {
    uint32_t u = bits_f32(x);
    if (x != x) return (uint16_t)((u >> 16) | 0x40);
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

/* Trips of range(start, stop, step): no sum that could overflow. */
static inline uint64_t trips(int64_t start, int64_t stop, int64_t step) {
    return start < stop ? (U(stop) - U(start) - 1) / U(step) + 1 : 0;
}

/* A compensated sum: `c` collects what `s` lost. -0.0 is where adding starts and changes nothing. */
static inline void sum_add(double *s, double *c, double x) {
    double t = *s + x;
    *c += fabs(*s) >= fabs(x) ? (*s - t) + x : (x - t) + *s;
    *s = t;
}
static inline double sum_end(double s, double c) {
    return c == 0 || !isfinite(s) || !isfinite(c) ? s : s + c;
}
