"""Runs generated CUDA C++ on the CPU: compiled as C++ with a small shim, every thread of a block a
coroutine that runs from barrier to barrier. Threads run in three orders (up, down, shuffled), so
that a missing barrier changes a result; the undefined-behaviour sanitizer ends the test otherwise.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from mytriton.plugin_api import PointerType, pack_arguments
from mytriton_cuda.emit import Emitted
from mytriton_cuda.emit.scalars import stored_type

Types = tuple[Any, ...]
COMPILER = shutil.which("g++")

_ASM = {
    'asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));': "value = host::to_float(bits);",
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));': "bits = host::half(value);",
    'asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));': "bits = host::half(value);",
}

_SHIM = r"""
#include <math.h>
#include <string.h>
#include <ucontext.h>
namespace host {
struct dim { unsigned x, y, z; };
static dim thread_, block_;
static ucontext_t fibers[1024], back;
static int waits[1024], turn[1024];     // barriers passed; -1: finished
static char stacks[1024][16384];
static int current;
static void (*body)();
static void** args;
static unsigned short half(double v) { _Float16 h = (_Float16)v; unsigned short b; memcpy(&b, &h, 2); return b; }
static float to_float(unsigned short b) { _Float16 h; memcpy(&h, &b, 2); return (float)h; }
template <class To, class From> static To bits(From v) { To t; static_assert(sizeof t == sizeof v); memcpy(&t, &v, sizeof v); return t; }
static void barrier() { int me = current; waits[me]++; swapcontext(&fibers[me], &back); }
static void entry() { body(); waits[current] = -1; }
static int run_block(int threads, int order) {
    for (int t = 0; t < threads; t++) {
        turn[t] = order == 1 ? threads - 1 - t : t;
        waits[t] = 0;
        getcontext(&fibers[t]);
        fibers[t].uc_stack.ss_sp = stacks[t];
        fibers[t].uc_stack.ss_size = sizeof stacks[t];
        fibers[t].uc_link = &back;
        makecontext(&fibers[t], entry, 0);
    }
    unsigned random = 12345;
    for (;;) {
        for (int k = threads - 1; order == 2 && k > 0; k--) {
            random = random * 1664525u + 1013904223u;
            int j = (random >> 8) % (k + 1), t = turn[k];
            turn[k] = turn[j]; turn[j] = t;
        }
        for (int k = 0; k < threads; k++) { current = turn[k]; thread_.x = current; swapcontext(&back, &fibers[current]); }
        for (int k = 0; k < threads; k++) if (waits[k] != waits[0]) return 1;   // a barrier some threads skip
        if (waits[0] == -1) return 0;
    }
}
static int run(void (*kernel)(), void** packed, int gx, int gy, int gz, int threads, int order) {
    body = kernel; args = packed;
    for (int z = 0; z < gz; z++) for (int y = 0; y < gy; y++) for (int x = 0; x < gx; x++) {
        block_ = {(unsigned)x, (unsigned)y, (unsigned)z};
        if (run_block(threads, order)) return 1;
    }
    return 0;
}
}
#define threadIdx host::thread_
#define blockIdx host::block_
#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __syncthreads() host::barrier()
static inline float __uint_as_float(unsigned b) { return host::bits<float>(b); }
static inline unsigned __float_as_uint(float f) { return host::bits<unsigned>(f); }
static inline double __longlong_as_double(long long b) { return host::bits<double>(b); }
static inline float __double2float_rz(double d) {
    float f = (float)d;
    if (fabs((double)f) > fabs(d)) f = nextafterf(f, 0.0f);
    return f;
}
"""


def host_source(kernels: Sequence[tuple[Emitted, Types]]) -> str:
    """One C++ file for several kernels."""
    parts = [_SHIM]
    for number, (emitted, types) in enumerate(kernels):
        text = emitted.text.replace('extern "C" __global__', "static")
        for device, host in _ASM.items():
            text = text.replace(device, host)
        arguments = ", ".join(f"*({_passed(t)}*)host::args[{k}]" for k, t in enumerate(types))
        parts += [
            f"namespace kernel_{number} {{\n{text}\nstatic void body() {{ {emitted.entry}({arguments}); }}\n}}\n",
            f'extern "C" int run_{number}(void** args, int x, int y, int z, int threads, int order) {{\n'
            f"    return host::run(kernel_{number}::body, args, x, y, z, threads, order);\n}}\n",
        ]
    return "".join(parts)


def _passed(ty: Any) -> str:
    return f"{stored_type(ty.element)}*" if isinstance(ty, PointerType) else stored_type(ty)


@lru_cache(maxsize=None)
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="mytriton-cuda-host-"))


def _build(source: str) -> Any:
    name = hashlib.sha256(source.encode()).hexdigest()[:24]
    library = _folder() / f"{name}.so"
    if not library.exists():
        file = _folder() / f"{name}.cpp"
        file.write_text(source)
        assert COMPILER
        command = [COMPILER, "-std=c++17", "-O0", "-w", "-shared", "-fPIC", "-ffp-contract=off",
                   "-fsanitize=undefined", "-fno-sanitize=alignment,float-cast-overflow,null",
                   "-fsanitize-undefined-trap-on-error", str(file), "-o", str(library)]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C")
        )
        assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(library))


class HostKernels:
    """Several kernels in one library."""

    def __init__(self, kernels: Sequence[tuple[Emitted, Types]]) -> None:
        self._kernels = list(kernels)
        self._library = _build(host_source(self._kernels))

    def run(self, number: int, args: list[Any], grid: tuple[int, int, int], order: int = 0) -> None:
        """Run a kernel in place on host arrays (``args`` as ``Artifact.launch`` takes them)."""
        emitted, types = self._kernels[number]
        packed = pack_arguments(types, args)
        run = getattr(self._library, f"run_{number}")
        status = run(packed.addresses, *grid, emitted.threads, order)
        assert status == 0, "a barrier that some threads do not reach"
