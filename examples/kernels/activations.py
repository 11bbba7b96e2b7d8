"""GELU (exact and by tanh) and SwiGLU: the activation is a function given as a compile-time argument."""

import math

import numpy as np

import mytriton as triton
import mytriton.language as tl
from mytriton.language.extra import libdevice

SQRT_HALF = tl.constexpr(math.sqrt(0.5))
SQRT_2_OVER_PI = tl.constexpr(math.sqrt(2 / math.pi))


@triton.jit
def gelu(x):
    return 0.5 * x * (1 + tl.erf(x * SQRT_HALF))


@triton.jit
def gelu_tanh(x):
    return 0.5 * x * (1 + libdevice.tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)))


@triton.jit
def silu(x):
    return x * tl.sigmoid(x)


@triton.jit
def activation_kernel(x_ptr, out_ptr, n, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, ACTIVATION(x), mask=offsets < n)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    gate = tl.load(gate_ptr + offsets, mask=inside)
    up = tl.load(up_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, silu(gate) * up, mask=inside)


def apply(activation, x):
    out = np.empty_like(x)
    activation_kernel[(triton.cdiv(x.size, 256),)](x, out, x.size, activation, BLOCK=256)
    return out


def swiglu(gate, up):
    out = np.empty_like(gate)
    swiglu_kernel[(triton.cdiv(gate.size, 256),)](gate, up, out, gate.size, BLOCK=256)
    return out


def check():
    x, up = np.random.default_rng(3).standard_normal((2, 1_000)).astype(np.float32) * 3
    wide = x.astype(np.float64)
    erf = np.array([math.erf(v * math.sqrt(0.5)) for v in wide])
    np.testing.assert_allclose(apply(gelu, x), 0.5 * wide * (1 + erf), rtol=1e-5, atol=1e-6)
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
    np.testing.assert_allclose(
        apply(gelu_tanh, x), 0.5 * wide * (1 + np.tanh(inner)), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(swiglu(x, up), wide / (1 + np.exp(-wide)) * up, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    check()
    print("GELU and SwiGLU: match NumPy")
