"""How long a 500-line kernel takes from source to optimised SSA.

    python benchmarks/compile_time.py [--lines 500] [--rounds 15] [--profile] [--check MS]

The kernel is made for the purpose: pointwise arithmetic, loads and stores, a few loops, branches,
helpers and reductions. The time (of the processor) is that of tracing, lowering, verifying and optimising (the source is
parsed once before); the best of all rounds counts. It is also given scaled to the reference computer,
on which adding two NumPy arrays of 16 numbers takes 0.31 us.
"""

from __future__ import annotations

import argparse
import cProfile
import importlib.util
import pstats
import sys
import tempfile
import time
import timeit
from pathlib import Path

import numpy as np

from mytriton.lowering import lower
from mytriton.runtime.compiler import Request, compile_ssa, trace
from mytriton.transforms.passes import optimise
from mytriton.verify import verify

REFERENCE_ADD = 0.31e-6

HEAD = """\
import mytriton as triton
import mytriton.language as tl


@triton.jit
def helper(x, y, FAST: tl.constexpr):
    if FAST:
        return x * y + 1.0
    return tl.exp(x) - y


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, rows, stride, eps, BLOCK: tl.constexpr, FAST: tl.constexpr):
    pid = tl.program_id(0)
    x_ptr += pid * stride
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    v0 = tl.load(x_ptr + offs, mask=mask, other=0.0)
    v1 = tl.load(y_ptr + offs, mask=mask, other=0.0)
"""

#: A round of statements; ``{a}`` and ``{b}`` are earlier values, ``{v}`` is the next.
ROUND = """\
    {v} = {a} * 0.5 + {b}
    {v} = tl.where({v} > 0, {v}, {v} * eps)
    {v} = tl.maximum({v}, {a} - 1.0) * tl.exp(-tl.abs({b}))
    t = tl.load(x_ptr + offs + {k}, mask=mask & (offs + {k} < n), other=0.0)
    acc += t * {v}
    {v} = helper({v}, t, FAST)
    tl.store(out_ptr + {k} * stride + offs, {v}, mask=mask)
    i{k} = (offs // 3 + {k}) % 7
    acc += i{k}.to(tl.float32)
"""
LOOP = """\
    for j in range(rows):
        p = tl.load(x_ptr + j * stride + offs, mask=mask, other=0.0)
        acc += p * {a}
        if j % 2 == 0:
            acc = acc * 0.5
        else:
            acc -= p
    m = tl.max(acc, axis=0)
    if m > eps:
        acc = acc / (tl.sum(tl.exp(acc - m), axis=0) + eps)
        tl.store(out_ptr + offs, acc, mask=mask)
"""


def source(lines: int) -> str:
    """A module whose kernel has about ``lines`` lines."""
    text, k = HEAD, 2
    while text.count("\n") < lines - 3:
        text += ROUND.format(v=f"v{k}", a=f"v{k - 1}", b=f"v{k - 2}", k=k)
        if k % 8 == 0:
            text += LOOP.format(a=f"v{k}")
        k += 1
    return text + "    tl.store(out_ptr + offs, acc, mask=mask)\n"


def load(text: str) -> object:
    """The kernel of a module given as text."""
    path = Path(tempfile.mkdtemp()) / "kernel.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("generated_kernel", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def request(kernel: object) -> Request:
    from mytriton.ir.types import F32, I32, PointerType

    pointer = PointerType(F32)
    types = {
        "x_ptr": pointer, "y_ptr": pointer, "out_ptr": pointer,
        "n": I32, "rows": I32, "stride": I32, "eps": F32,
    }  # fmt: skip
    return Request(types, {"BLOCK": 1024, "FAST": False})


def stages(kernel, wanted: Request) -> dict[str, float]:
    """Seconds of each stage, in one go."""
    kernel.source._spans.clear()  # as for a kernel never seen before
    clock = time.process_time  # of other processes nothing is to be seen
    start = clock()
    traced = trace(kernel.source, wanted)
    after_trace = clock()
    lowered = lower("kernel", traced.params, traced.scope)
    after_lower = clock()
    verify(lowered)
    after_verify = clock()
    optimise(lowered, 1)
    end = clock()
    return {
        "trace": after_trace - start, "lower": after_lower - after_trace,
        "verify": after_verify - after_lower, "optimise": end - after_verify, "all": end - start,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("--check", type=float, metavar="MS", help="fail above this (scaled) time")
    options = parser.parse_args()
    text = source(options.lines)
    kernel = load(text)
    wanted = request(kernel)
    compile_ssa(kernel.source, wanted)  # parses the source, loads what there is to load
    a = np.ones(16, np.float32)
    runs = timeit.repeat(lambda: np.add(a, a), time.process_time, number=500, repeat=300)
    add = min(runs) / 500
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(stages, kernel, wanted)
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)
    rounds = [stages(kernel, wanted) for _ in range(options.rounds)]
    best = {name: min(r[name] for r in rounds) * 1e3 for name in rounds[0]}
    scale = min(1.0, REFERENCE_ADD / add)
    operations = sum(1 for _ in _walk(compile_ssa(kernel.source, wanted).unoptimised.body))
    print(f"{text.count(chr(10))} lines, {operations} operations; np.add {add * 1e6:.2f} us here")
    for name, took in best.items():
        print(f"  {name:9s} {took:7.1f} ms   scaled {took * scale:7.1f} ms")
    scaled = best["all"] * scale
    if options.check is not None and scaled > options.check:
        print(f"slower than {options.check} ms")
        return 1
    return 0


def _walk(items):
    from mytriton.ir.values import walk

    return walk(items)


if __name__ == "__main__":
    sys.exit(main())
