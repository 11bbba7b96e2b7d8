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
from functools import lru_cache
from pathlib import Path
from typing import Any

from mytriton.plugin_api import PointerType, pack_arguments
from mytriton_cuda.emit import Emitted
from mytriton_cuda.emit.scalars import stored_type

COMPILER = shutil.which("g++")

_ASM = {
    'asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));': "value = host::to_float(bits);",
    'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));': "bits = host::half(value);",
    'asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(value));': "bits = host::half(value);",
}

_SHIM = r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>
#include <vector>
#include <algorithm>
#include <random>
#include <functional>
namespace host {
struct dim { unsigned x, y, z; };
static dim thread_, block_;
static std::vector<ucontext_t> fibers;
static std::vector<int> waits;       // barriers passed; -1: finished
static std::vector<std::vector<char>> stacks;
static ucontext_t back;
static int current;
static std::function<void()> body;
static unsigned short half(double v) { _Float16 h = (_Float16)v; unsigned short b; memcpy(&b, &h, 2); return b; }
static float to_float(unsigned short b) { _Float16 h; memcpy(&h, &b, 2); return (float)h; }
template <class To, class From> static To bits(From v) { To t; static_assert(sizeof t == sizeof v); memcpy(&t, &v, sizeof v); return t; }
static void barrier() { int me = current; waits[me]++; swapcontext(&fibers[me], &back); }
static void entry() { body(); waits[current] = -1; }
static int run_block(int threads, int order) {
    fibers.resize(threads); waits.assign(threads, 0); stacks.resize(threads);
    std::vector<int> turn(threads);
    for (int t = 0; t < threads; t++) {
        turn[t] = order == 1 ? threads - 1 - t : t;
        stacks[t].resize(32768);
        getcontext(&fibers[t]);
        fibers[t].uc_stack.ss_sp = stacks[t].data();
        fibers[t].uc_stack.ss_size = stacks[t].size();
        fibers[t].uc_link = &back;
        makecontext(&fibers[t], entry, 0);
    }
    std::mt19937 random(7);
    for (;;) {
        if (order == 2) std::shuffle(turn.begin(), turn.end(), random);
        for (int t : turn) { current = t; thread_.x = t; swapcontext(&back, &fibers[t]); }
        for (int t : turn) if (waits[t] != waits[0]) return 1;   // a barrier some threads skip
        if (waits[0] == -1) return 0;
    }
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

_RUN = """
extern "C" int host_run(void** args, int gx, int gy, int gz, int threads, int order) {{
    host::body = [&] {{ {entry}({arguments}); }};
    for (int z = 0; z < gz; z++) for (int y = 0; y < gy; y++) for (int x = 0; x < gx; x++) {{
        host::block_ = {{(unsigned)x, (unsigned)y, (unsigned)z}};
        if (host::run_block(threads, order)) return 1;
    }}
    return 0;
}}
"""


def host_source(emitted: Emitted, types: tuple[Any, ...]) -> str:
    text = emitted.text
    for device, host in _ASM.items():
        text = text.replace(device, host)
    names = [
        f"*({stored_type(t.element)}**)args[{k}]" if isinstance(t, PointerType) else f"*({stored_type(t)}*)args[{k}]"
        for k, t in enumerate(types)
    ]
    return _SHIM + text + _RUN.format(entry=emitted.entry, arguments=", ".join(names))


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
        command = [COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-ffp-contract=off",
                   "-fsanitize=undefined", "-fno-sanitize=alignment,float-cast-overflow,null",
                   "-fsanitize-undefined-trap-on-error", str(file), "-o", str(library)]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, LC_ALL="C"))
        assert done.returncode == 0, done.stderr[:2000]
    return ctypes.CDLL(str(library))


def run_on_host(
    emitted: Emitted, types: tuple[Any, ...], args: list[Any], grid: tuple[int, int, int], order: int = 0
) -> None:
    """Run a kernel in place on host arrays (``args`` as ``Artifact.launch`` takes them)."""
    library = _build(host_source(emitted, types))
    packed = pack_arguments(types, args)
    status = library.host_run(packed.addresses, *grid, emitted.threads, order)
    assert status == 0, "a barrier that some threads do not reach"
