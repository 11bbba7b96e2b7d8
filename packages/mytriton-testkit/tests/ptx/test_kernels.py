"""Whole kernels: our own, compiled by NVRTC and by Triton, with every check on."""

from __future__ import annotations

import numpy as np
import pytest

from . import cases
from .one import run


@pytest.mark.parametrize("name", cases.CASES)
def test_checked_in(name: str) -> None:
    cases.CASES[name](cases.module(name), True)


@pytest.mark.parametrize("name", cases.CASES)
def test_without_checks(name: str) -> None:
    cases.CASES[name](cases.module(name), False)


@pytest.mark.parametrize("tiles", [1, 2, 3, 4, 5, 7])
def test_pipelines_of_several_lengths(tiles: int) -> None:
    cases.pipeline(cases.module("mma_pipe"), True, tiles)


def test_counters() -> None:
    counters = cases.CASES["vadd"](cases.module("vadd"), True)
    # 32 warps of 17 instructions; every lane of the last warp is past the end or not.
    assert counters.warp_instructions == 32 * 17
    assert counters.warp_instructions_without_moves == 32 * 11
    assert (counters.global_requests, counters.global_bytes) == (96, 12000)
    assert counters.global_sectors == 375
    counters = cases.pipeline(cases.module("mma_pipe"), True, 3)
    assert counters.matrix_instructions == 4 * 4 * 3 * 2
    assert counters.barriers == 4 * 4 * 3 * 2


@pytest.mark.parametrize(
    ("stride", "width", "wavefronts", "ideal"),
    [(4, 1, 1, 1), (8, 1, 2, 1), (128, 1, 32, 1), (0, 1, 1, 1), (8, 2, 2, 2), (16, 4, 4, 4),
     (132, 1, 1, 1)],
)  # fmt: skip
def test_wavefronts(stride: int, width: int, wavefronts: int, ideal: int) -> None:
    vector = {1: "f32 %f1", 2: "v2.f32 {%f1, %f2}", 4: "v4.f32 {%f1, %f2, %f3, %f4}"}[width]
    body = f"""
    .shared .align 16 .b8 s[8192];
    mul.lo.u32 %r1, %t, {stride}; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;
    mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    st.shared.{vector.split()[0]} [%r1], {vector.split(None, 1)[1]};
    ret;"""
    counters = run(body)
    assert counters.shared_wavefronts == wavefronts
    assert counters.shared_wavefronts_ideal == ideal


@pytest.mark.parametrize(("stride", "sectors"), [(4, 4), (8, 8), (32, 32), (64, 32), (0, 1)])
def test_sectors(stride: int, sectors: int) -> None:
    x = np.zeros(1024, "f4")
    body = f"mad.wide.u32 %a1, %i, {stride}, %p0; ld.global.f32 %f1, [%a1]; ret;"
    assert run(body, x).global_sectors == sectors


@pytest.mark.slow
def test_everything_nvrtc_compiles_again() -> None:
    """The checked-in PTX is what the sources give."""
    make_data = pytest.importorskip("nvidia.cuda_nvrtc") and _make_data()
    source = (cases.DATA.parent / "kernels.cu").read_text()
    for name, part in make_data.pieces(source).items():
        assert make_data.compile_ptx(part) == cases.text(name), name


def _make_data():
    import importlib.util

    spec = importlib.util.spec_from_file_location("make_data", cases.DATA.parent / "make_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SOURCES = {
    "switch": """
extern "C" __global__ void k(const int* x, int* out) {
    int i = threadIdx.x, v = x[i];
    switch (v) {
        case 0: v = 7; break; case 1: v *= 3; break; case 2: v = ~v; break;
        case 3: v = v * v * v; case 4: v -= 100; break; case 5: v = i; break;
        case 6: v = x[i ^ 1]; break; case 7: v = -v; break; default: v = 1 << (v & 31);
    }
    out[i] = v;
}""",
    "template": """
template <class T> __device__ __noinline__ T twice(T x) { return x + x; }
extern "C" __global__ void k(const int* x, int* out) {
    int i = threadIdx.x;
    out[i] = twice(x[i]) + (int)twice((long long)x[i] << 33 >> 33) + (int)twice((double)x[i]);
}""",
}


@pytest.mark.parametrize("name", SOURCES)
def test_nvrtc(name: str) -> None:
    pytest.importorskip("nvidia.cuda_nvrtc", reason="NVRTC compiles CUDA C++ to PTX")
    from mytriton_testkit.ptx import launch, load_module

    x, out = np.arange(32, dtype="i4") % 11, np.zeros(32, "i4")
    launch(load_module(_make_data().compile_ptx(SOURCES[name])), 1, 32, [x, out])
    if name == "template":
        np.testing.assert_array_equal(out, 6 * x)
        return
    wanted = []
    for i, v in enumerate(x.tolist()):
        table = {0: 7, 1: 3 * v, 2: ~v, 3: v**3 - 100, 4: v - 100, 5: i, 6: x[i ^ 1], 7: -v}
        wanted.append(table.get(v, 1 << (v & 31)))
    np.testing.assert_array_equal(out, wanted)
