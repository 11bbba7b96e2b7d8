// Kernels of our own for the emulator's tests. data/*.ptx is made from this file by make_data.py
// (NVRTC 12.9, compute_80); nothing is included, so NVRTC needs no header.

extern "C" __global__ void vadd(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] + y[i];
}

extern "C" __global__ void vadd4(const float4* x, const float4* y, float4* out, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n4) {
        float4 a = x[i], b = y[i];
        out[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
}

__device__ __forceinline__ float warp_max(float v) {
    for (int d = 16; d; d >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, d));
    return v;
}
__device__ __forceinline__ float warp_sum(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// One row per block, one element per thread, up to 1024 threads.
extern "C" __global__ void softmax(const float* x, float* out, int cols) {
    __shared__ float part[32];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = (blockDim.x + 31) >> 5;
    float v = t < cols ? x[blockIdx.x * cols + t] : -__int_as_float(0x7f800000);
    float m = warp_max(v);
    if (lane == 0) part[warp] = m;
    __syncthreads();
    m = lane < warps ? part[lane] : -__int_as_float(0x7f800000);
    m = warp_max(m);
    __syncthreads();
    float e = expf(v - m);
    float s = warp_sum(e);
    if (lane == 0) part[warp] = s;
    __syncthreads();
    s = warp_sum(lane < warps ? part[lane] : 0.0f);
    if (t < cols) out[blockIdx.x * cols + t] = e / s;
}

// A tree in dynamic shared memory: a barrier in a loop.
extern "C" __global__ void tree_sum(const float* x, float* out, int n) {
    extern __shared__ float tree[];
    int t = threadIdx.x;
    float s = 0.0f;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) s += x[i];
    tree[t] = s;
    __syncthreads();
    for (int d = blockDim.x / 2; d; d >>= 1) {
        if (t < d) tree[t] += tree[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = tree[0];
}

// Loops whose trip counts differ per thread, nested, with break and continue.
extern "C" __global__ void collatz(const unsigned* x, int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    int count = 0;
    while (v != 1) {
        if (v & 1) v = 3 * v + 1; else v >>= 1;
        if (++count == 500) break;
    }
    for (int k = 0; k < (i & 7); k++) {
        if (k == 3) continue;
        for (int j = 0; j <= k; j++) count += (j * k) ^ i;
    }
    steps[i] = count;
}

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ float4 poly(float4 a, float b) {
    return make_float4(a.x * b, a.y + b, a.z - b, a.w / b);
}
// Function calls: recursion under divergence, structures by value.
extern "C" __global__ void calls(int* out, float4* out4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = fib(i % 8);
    out4[i] = poly(make_float4(i, i + 1, i + 2, i + 3), 2.0f);
}

// Local memory indexed at run time; generic addresses; constant memory.
__constant__ int weights[4] = {3, 5, 7, 11};
__device__ __noinline__ int gather(const int* p, int k) { return p[k] + p[(k + 1) & 3]; }
extern "C" __global__ void spaces(const int* pick, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    int mine[8];
    for (int k = 0; k < 8; k++) mine[k] = pick[(t + k) & 63] * (k + 1);
    tile[t] = t * 10;
    __syncthreads();
    const int* p = (t & 1) ? mine : &tile[t & 60];
    out[blockIdx.x * 64 + t] = gather(p, pick[t] & 3) + weights[pick[t] & 3] + mine[pick[t] & 7];
}

extern "C" __global__ void histogram(const int* x, int* bins, float* total, int n) {
    __shared__ int local[16];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t < 16) local[t] = 0;
    __syncthreads();
    if (i < n) {
        atomicAdd(&local[x[i] & 15], 1);
        atomicAdd(total, (float)x[i]);
        atomicMax(&bins[16], x[i]);
        atomicCAS(&bins[17], 0, 42);
    }
    __syncthreads();
    if (t < 16) atomicAdd(&bins[t], local[t]);
}

extern "C" __global__ void tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float acc = 0.0f;
    for (int k = 0; k < n; k += 16) {
        as[ty][tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0.0f;
        bs[ty][tx] = col < n && k + ty < n ? b[(k + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int j = 0; j < 16; j++) acc += as[ty][j] * bs[j][tx];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = acc;
}

extern "C" __global__ void maths(const float* x, const float* y, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i], p = fabsf(a) + 0.5f;
    float* o = out + i;
    o[0 * n] = expf(a); o[1 * n] = logf(p); o[2 * n] = sinf(a); o[3 * n] = cosf(a);
    o[4 * n] = tanhf(a); o[5 * n] = sqrtf(p); o[6 * n] = rsqrtf(p); o[7 * n] = powf(p, b);
    o[8 * n] = fmodf(a, p); o[9 * n] = erff(a); o[10 * n] = floorf(a); o[11 * n] = ceilf(a);
    o[12 * n] = rintf(a); o[13 * n] = truncf(a); o[14 * n] = exp2f(a); o[15 * n] = log2f(p);
    o[16 * n] = a / p; o[17 * n] = fmaf(a, b, p); o[18 * n] = atan2f(a, b);
    o[19 * n] = __expf(a); o[20 * n] = __sinf(a); o[21 * n] = __fdividef(a, p);
}

extern "C" __global__ void maths64(const double* x, const double* y, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = x[i], b = y[i], p = fabs(a) + 0.5;
    double* o = out + i;
    o[0 * n] = exp(a); o[1 * n] = log(p); o[2 * n] = sin(a); o[3 * n] = a / p;
    o[4 * n] = sqrt(p); o[5 * n] = fma(a, b, p); o[6 * n] = floor(a); o[7 * n] = pow(p, b);
}

extern "C" __global__ void integers(const int* x, const int* y, long long* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int a = x[i], b = y[i], d = b ? b : 1;
    unsigned u = a, w = d;
    long long* o = out + i;
    long long a64 = ((long long)a << 20) ^ b, d64 = (long long)d << 3 | 1;
    o[0 * n] = (long long)a + b; o[1 * n] = a * b; o[2 * n] = (long long)a * b;
    o[3 * n] = a / d; o[4 * n] = a % d; o[5 * n] = u / w; o[6 * n] = u % w;
    o[7 * n] = a64 / d64; o[8 * n] = a64 % d64; o[9 * n] = __popc(a); o[10 * n] = __clz(a);
    o[11 * n] = __brev(a); o[12 * n] = __ffs(a); o[13 * n] = __umulhi(u, w);
    o[14 * n] = __mulhi(a, b); o[15 * n] = a64 * d64; o[16 * n] = a >> (b & 31);
    o[17 * n] = u >> (b & 31); o[18 * n] = __byte_perm(a, b, 0x5140);
    o[19 * n] = __funnelshift_l(a, b, 7); o[20 * n] = min(a, b); o[21 * n] = max(u, w);
    o[22 * n] = abs(a); o[23 * n] = __mul64hi(a64, d64); o[24 * n] = __mul24(a, b);
    o[25 * n] = (a & b) | (~a ^ b); o[26 * n] = a == b ? a : ~b;
    o[27 * n] = (short)a * (signed char)b; o[28 * n] = __clzll(a64); o[29 * n] = __popcll(a64);
}

__device__ __forceinline__ void cp16(void* to, const void* from) {
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(s), "l"(from));
}
__device__ __forceinline__ unsigned smem(const void* p) {
    return (unsigned)__cvta_generic_to_shared(p);
}
// C[M,N] f32 = A[M,K] f16 @ B[K,N] f16; tiles 32x32x16 of 4 warps, two stages of cp.async.
extern "C" __global__ void mma_pipe(const unsigned short* a, const unsigned short* b, float* c,
                                    int n, int k) {
    __shared__ __align__(16) unsigned short as[2][32 * 24], bs[2][16 * 40];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, wm = warp >> 1, wn = warp & 1;
    int row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
    float acc[2][4] = {};
    auto load = [&](int stage, int kk) {
        if (t < 64) cp16(&as[stage][(t >> 1) * 24 + (t & 1) * 8],
                         &a[(row0 + (t >> 1)) * k + kk + (t & 1) * 8]);
        else cp16(&bs[stage][((t - 64) >> 2) * 40 + (t & 3) * 8],
                  &b[(kk + ((t - 64) >> 2)) * n + col0 + (t & 3) * 8]);
        asm volatile("cp.async.commit_group;");
    };
    load(0, 0);
    for (int kk = 0, s = 0; kk < k; kk += 16, s ^= 1) {
        if (kk + 16 < k) {
            load(s ^ 1, kk + 16);
            asm volatile("cp.async.wait_group 1;");
        } else asm volatile("cp.async.wait_group 0;");
        __syncthreads();
        unsigned fa[4], fb[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
            : "r"(smem(&as[s][(wm * 16 + (lane & 15)) * 24 + (lane >> 4) * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
            : "=r"(fb[0]), "=r"(fb[1]), "=r"(fb[2]), "=r"(fb[3])
            : "r"(smem(&bs[s][(lane & 15) * 40 + wn * 16 + (lane >> 4) * 8])));
        for (int j = 0; j < 2; j++)
            asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                : "+f"(acc[j][0]), "+f"(acc[j][1]), "+f"(acc[j][2]), "+f"(acc[j][3])
                : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]),
                  "r"(fb[2 * j]), "r"(fb[2 * j + 1]));
        __syncthreads();
    }
    for (int j = 0; j < 2; j++)
        for (int h = 0; h < 2; h++) {
            int r = row0 + wm * 16 + (lane >> 2) + 8 * h;
            int q = col0 + wn * 16 + j * 8 + (lane & 3) * 2;
            *(float2*)&c[r * n + q] = make_float2(acc[j][2 * h], acc[j][2 * h + 1]);
        }
}

extern "C" __global__ void halves(const unsigned short* x, unsigned short* f16, unsigned* pairs,
                                  unsigned short* bf16, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short h = x[i], r;
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    asm("{ .reg .f16 a, b; mov.b16 a, %1; mul.f16 b, a, a; fma.rn.f16 b, a, b, a; mov.b16 %0, b; }"
        : "=h"(r) : "h"(h));
    f16[i] = r;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(f * 1.7f));
    bf16[i] = r;
    unsigned p;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(p) : "f"(f), "f"(f + 1.0f));
    asm("add.f16x2 %0, %0, %0;" : "+r"(p));
    pairs[i] = p;
}

struct Pair { int first; float second; };
// A structure by value, bytes and 64-bit parameters: the packing of arguments.
extern "C" __global__ void packing(signed char c, short s, Pair p, double d, bool b, long long* out,
                                   long long big) {
    out[0] = c; out[1] = s; out[2] = p.first; out[3] = (long long)p.second;
    out[4] = (long long)d; out[5] = b; out[6] = big;
}

extern "C" __global__ void votes(const int* x, unsigned* out) {
    int t = threadIdx.x;
    unsigned* o = out + t * 8;
    o[0] = __ballot_sync(~0u, x[t] > 0);
    o[1] = __any_sync(~0u, x[t] > 100);
    o[2] = __all_sync(~0u, x[t] > -100);
    o[3] = __shfl_up_sync(~0u, x[t], 3);
    o[4] = __shfl_down_sync(~0u, x[t], 3);
    o[5] = __shfl_sync(~0u, x[t], t ^ 9, 16);
    o[6] = 0;
    if (x[t] > 0) o[6] = __activemask();
    o[7] = __reduce_add_sync(~0u, x[t]);
}
