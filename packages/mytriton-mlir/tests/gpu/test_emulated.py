"""What the images compute, on the PTX emulator with its checks, against the interpreter."""

import copy
import importlib.util
from pathlib import Path

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.interpreter.backend import InterpretedKernel
from mytriton.ir.parser import parse
from mytriton.plugin_api import SSAFunction
from mytriton.plugins.devices import register_device, unregister_device
from mytriton.plugins.selection import refresh_backends
from mytriton.runtime.arguments import launch_value
from mytriton.transforms.passes import optimise
from mytriton_mlir.gpu import backend, launch
from mytriton_mlir_gpu_info import INFO

pytest.importorskip("mytriton_testkit.ptx")

_spec = importlib.util.spec_from_file_location(
    "emulation", Path(__file__).with_name("emulation.py")
)
emulation = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(emulation)


def copied(arguments):
    """Copies that keep views views: a copy of ``x[::-1]`` would be another layout."""
    return {
        k: v.base.copy()[::-1] if _reversed(v) else copy.deepcopy(v) for k, v in arguments.items()
    }


def _reversed(value):
    return isinstance(value, np.ndarray) and value.strides[:1] < (0,)


def both(kernel, arguments, grid):
    """Arguments after a run on the emulator, and after one on the interpreter."""
    function = kernel if isinstance(kernel, SSAFunction) else kernel.compile(**arguments).function
    source = backend.mytriton_lower(function, None)
    image = launch.compile_source(source)
    there, here = copied(arguments), copied(arguments)
    emulation.run(source, image, function, there, grid)
    size = (*grid, 1, 1)[:3]
    values = [launch_value(here[param.name]) for param in function.params]
    InterpretedKernel(function, False).launch(size, values)
    return there, here


def agree(kernel, arguments, grid=(1,)):
    there, here = both(kernel, arguments, grid)
    for name, value in here.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(there[name], value, err_msg=name)
    return there


@triton.jit
def reverse_kernel(x, out, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    tl.store(out + offs, tl.load(x + (0 - offs), mask=offs < n), mask=offs < n)


def test_negative_offsets(bindings):
    x = np.arange(100, dtype=np.float32)
    out = agree(
        reverse_kernel, {"x": x[::-1], "out": np.zeros(100, np.float32), "n": 100, "B": 128}
    )
    # The base of x[::-1] is its last element in memory.
    assert out["out"].tolist() == x[::-1].tolist()


@triton.jit
def pointers_kernel(x, y, out, n):
    p = x
    q = y
    walk = out
    for i in range(n):
        tl.store(walk, tl.load(p) + 10 * tl.load(q + 1))
        walk = walk + 2
        t = p
        p = q + 1
        q = t
    tl.store(walk, 1.0)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_carried_pointers(bindings, n):
    x, y = np.arange(10, dtype=np.float32), np.arange(50, 60, dtype=np.float32)
    agree(pointers_kernel, {"x": x, "y": y, "out": np.zeros(20, np.float32), "n": n})


@triton.jit
def count_kernel(out, start, stop, STEP: tl.constexpr):
    count = start * 0
    last = start * 0
    for i in range(start, stop, STEP):
        count += 1
        last = i
    tl.store(out, count)
    tl.store(out + 1, last)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("step", [1, 2, 3, 1000])
@pytest.mark.parametrize("away", [0, 1, 2, 3, 10])
def test_loops_at_the_end_of_their_type(bindings, dtype, step, away):
    top = int(np.iinfo(dtype).max)
    low = int(np.iinfo(dtype).min)
    for start, stop in ((top - away, top), (low, low + away), (5, 5 + away), (5, -5)):
        big = max(abs(start), abs(stop)) >= 2**31
        if dtype == "i8" and not big:
            continue
        out = np.zeros(2, dtype)
        try:
            agree(count_kernel, {"out": out, "start": start, "stop": stop, "STEP": step})
        except triton.CompilationError:
            # One bound fits i32, the other does not.
            assert dtype == "i8"


@triton.jit
def reductions_kernel(x, out, rows, B: tl.constexpr):
    offs = tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for r in range(rows):
        v = tl.load(x + r * B + offs)
        total = total + v * tl.max(v) - tl.min(v)
        tl.store(out + r, tl.sum(total))
    tl.store(out + rows + offs, total)


@pytest.mark.parametrize("width", [1, 2, 32, 64, 256])
def test_reductions_in_a_loop(bindings, width):
    x = np.random.default_rng(0).integers(-4, 5, 5 * width).astype(np.float32)
    agree(
        reductions_kernel, {"x": x, "out": np.zeros(5 + width, np.float32), "rows": 5, "B": width}
    )


@triton.jit
def tile_kernel(x, out, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)
    j = tl.arange(0, N)
    tile = tl.load(x + i[:, None] * N + j[None, :])
    rows = tl.sum(tile, axis=1)
    columns = tl.max(tile, axis=0)
    tl.store(out + i, rows)
    tl.store(out + M + j, columns)
    again = tile - rows[:, None] * columns[None, :]
    tl.store(out + M + N + i[:, None] * N + j[None, :], again)
    tl.store(out + M + N + M * N, tl.min(again))


@pytest.mark.parametrize("shape", [(4, 8), (16, 32), (1, 64), (64, 1), (2, 2), (32, 4)])
def test_reductions_of_tiles(bindings, shape):
    m, n = shape
    x = np.random.default_rng(1).integers(-9, 10, m * n).astype(np.float32)
    agree(tile_kernel, {"x": x, "out": np.zeros(m + n + m * n + 1, np.float32), "M": m, "N": n})


@triton.jit
def chain_kernel(x, out, B: tl.constexpr):
    offs = tl.arange(0, B)
    tl.store(x + offs, tl.load(x + (offs + 1)))
    tl.store(out + offs, tl.load(x + (B - 1 - offs)))


def test_program_order(bindings):
    x = np.arange(65, dtype=np.float32)
    agree(chain_kernel, {"x": x, "out": np.zeros(64, np.float32), "B": 64})


DIVIDE = """
kernel divide(x: ptr<T>, y: ptr<T>, out: ptr<T>) {
%0 = arange {start=0, end=64} : vector<64 x i32>
%1 = addptr x, %0 : vector<64 x ptr<T>>
%2 = addptr y, %0 : vector<64 x ptr<T>>
%3 = load %1, none, none : vector<64 x T>
%4 = load %2, none, none : vector<64 x T>
%5 = div %3, %4 : vector<64 x T>
%6 = addptr out, %0 : vector<64 x ptr<T>>
store %6, %5, none
}
"""


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"])
def test_division(bindings, dtype):
    info = np.iinfo(dtype)
    values = [info.min, info.max, 0, 1, 7, info.max // 2, *([-1, -7] if info.min else [3, 5])]
    x, y = (np.array(v, dtype) for v in zip(*[(a, b) for a in values for b in values], strict=True))
    name = dtype[0] + str(8 * int(dtype[1]))
    function = parse(DIVIDE.replace("T", name))
    arguments = {"x": x, "y": y, "out": np.zeros(64, dtype)}
    there, here = both(function, arguments, (1,))
    # INT_MIN / -1 is unspecified; here it wraps, as negation does.
    wraps = (y == dtype_of(dtype, -1)) & (x == info.min) & (info.min < 0)
    np.testing.assert_array_equal(there["out"][~wraps], here["out"][~wraps])
    assert (there["out"][wraps] == info.min).all()


def dtype_of(dtype, value):
    return np.array(value).astype(dtype)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    tl.store(out + offs, tl.load(x + offs, mask=mask) + tl.load(y + offs, mask=mask), mask=mask)


def test_host_arrays_through_the_launch_path(bindings, monkeypatch):
    monkeypatch.setenv("MYTRITON_EMULATE", "1")
    provider = pytest.importorskip("mytriton_testkit.emulator_device").EmulatorProvider()
    register_device(provider, emulator=True)
    refresh_backends()
    try:
        x, y = np.random.default_rng(0).standard_normal((2, 1000)).astype(np.float32)
        out = np.full(1005, 7, np.float32)
        result = add_kernel.with_backend("mlir")[(4,)](x, y, out, 1000, BLOCK=256)
        assert result.launched
        np.testing.assert_array_equal(out[:1000], x + y)
        assert (out[1000:] == 7).all()
        add_kernel.with_backend("mlir")[(4,)](x, x, x, 1000, BLOCK=256)
    finally:
        unregister_device("cuda", emulator=True)
        refresh_backends()


@triton.jit
def largest_of_each(a, b, c, d, e, f):
    return tl.maximum(a, d), tl.maximum(b, e), tl.maximum(c, f)


@triton.jit
def reduce_three(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    v = tl.load(x + tl.arange(0, 32))
    several = (v.to(A), (v * 2).to(B), (v * 3).to(C))
    a, b, c = tl.reduce(several, 0, largest_of_each)
    tl.store(out, a.to(tl.float32))
    tl.store(out + 1, b.to(tl.float32))
    tl.store(out + 2, c.to(tl.float32))


@pytest.mark.parametrize(
    "types",
    [
        (tl.float32, tl.float16, tl.bfloat16), (tl.float16, tl.float32, tl.float16),
        (tl.int8, tl.int1, tl.int8), (tl.int1, tl.int8, tl.uint8),
    ],
)  # fmt: skip
def test_what_is_widened_alike_is_reduced_apart(bindings, types):
    """16-bit floats lie in shared memory as ``f32``, bools as ``i8``."""
    x, out = np.arange(-20, 12, dtype=np.float32), np.zeros(3, np.float32)
    arguments = {"x": x, "out": out, **dict(zip("ABC", types, strict=True))}
    if tl.uint8 in types:
        x[x < 0] = 0
    wanted = [1 if ty == tl.int1 else 11 * n for n, ty in enumerate(types, 1)]
    assert agree(reduce_three, arguments)["out"].tolist() == wanted


@pytest.mark.parametrize("programs", [range(12)])
def test_random_programs(bindings, programs):
    generate = pytest.importorskip("mytriton_testkit.fuzz.generate")
    reference = pytest.importorskip("mytriton_testkit.fuzz.reference")

    def declares(feature):
        known = INFO.capabilities.get(feature)
        return known is not None and known.state == "yes"

    ran = 0
    for seed in programs:
        program = generate.make_program(seed, declares)
        if program is None:
            continue
        function = optimise(program.function, seed % 2)
        source = backend.mytriton_lower(function, program.launch_spec())
        arguments = program.arguments()
        emulation.run(source, launch.compile_source(source), function, arguments, program.grid)
        for name, memory in reference.evaluate(
            program.function, program.arguments(), program.grid
        ).items():
            assert not reference.disagreement(memory, arguments[name]), (seed, name)
        ran += 1
    assert ran
