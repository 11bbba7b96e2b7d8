"""Every kernel through MLIR and ptxas, for two chips."""

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import UnsupportedFeature
from mytriton_mlir.gpu import backend, launch

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
CHIPS = ("sm_80", "sm_90")


@triton.jit
def softmax_kernel(x, out, n, B: tl.constexpr):
    row = tl.program_id(0)
    offs = tl.arange(0, B)
    mask = offs < n
    v = tl.load(x + row * n + offs, mask=mask, other=-1e30)
    e = tl.exp(v - tl.max(v))
    tl.store(out + row * n + offs, e / tl.sum(e), mask=mask)


@triton.jit
def mixed_kernel(x, out, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    mask = offs < n
    a = tl.load(x + offs, mask=mask)
    b = tl.where(offs < 3, tl.maximum(a, a + a), tl.minimum(a, a * a))
    for k in range(n):
        b = b + tl.load(x + k)
    tl.store(out + offs, b, mask=mask)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr):
    offs_m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    offs_n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(K):
        left = tl.load(a + offs_m * K + k, mask=offs_m < M, other=0.0)
        acc += left * tl.load(b + k * N + offs_n, mask=offs_n < N, other=0.0)
    tl.store(c + offs_m * N + offs_n, acc, mask=(offs_m < M) & (offs_n < N))


X = np.ones(4096, np.float32)


def assembled(kernel, args, constants, ptx_of, ptxas, chip):
    ptx = ptx_of(kernel, *args, chip=chip, **constants)
    assert f".target {chip}" in ptx
    report = ptxas(ptx, chip)
    assert "0 bytes spill stores, 0 bytes spill loads" in report
    return ptx, report


@pytest.mark.parametrize("chip", CHIPS)
def test_softmax(ptx_of, ptxas, chip):
    ptx, report = assembled(softmax_kernel, (X, X, 1000), {"B": 1024}, ptx_of, ptxas, chip)
    assert ptx.count("bar.sync") >= 23
    assert "4096 bytes smem" in report
    assert ".maxntid 1024" in ptx


@pytest.mark.parametrize("chip", CHIPS)
def test_matmul(ptx_of, ptxas, chip):
    ptx, _ = assembled(
        matmul_kernel, (X, X, X, 30, 33, 20), {"BM": 16, "BN": 32}, ptx_of, ptxas, chip
    )
    assert "fma.rn.f32" in ptx


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(ptx_of, ptxas, dtype):
    x = np.ones(64, dtype)
    assembled(mixed_kernel, (x, x, 60), {"B": 64}, ptx_of, ptxas, "sm_80")


def test_no_flush_to_zero(ptx_of):
    ptx = ptx_of(matmul_kernel, X, X, X, 30, 33, 20, BM=4, BN=8)
    assert ".ftz" not in ptx


def test_cubin(bindings, ptxas):
    from pathlib import Path

    import nvidia

    (place, *_) = nvidia.__path__
    function = softmax_kernel.compile(X, X, 1000, B=64).function
    source = backend.mytriton_lower(function, None)
    from mytriton_mlir.gpu.stages import gpu_to_cubin_stages
    from mytriton_mlir.gpu.toolchain import compile_image

    stages = gpu_to_cubin_stages(toolkit=str(Path(place, "cuda_nvcc")))
    assert compile_image(source.text, stages).startswith(b"\x7fELF")


def test_a_deep_chain_compiles(bindings):
    from mytriton.ir.parser import parse

    lines = ["%0 = load x, none, none : f32"]
    lines += [f"%{k} = mul %{k - 1}, {k}.5 : f32" for k in range(1, 500)]
    body = "\n".join([*lines, "store x, %499, none"])
    function = parse(f"kernel k(x: ptr<f32>) {{\n{body}\n}}\n")
    ptx = launch.compile_source(backend.mytriton_lower(function, None)).decode()
    assert ptx.count("mul.f32") == 499


@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
def test_every_case(bindings, ptxas, chip):
    """All conformance cases assemble for the older chip, and every ninth for the newer one, without a
    spilled register. (What they compute is the conformance run's to say.)"""
    cases = pytest.importorskip("mytriton_testkit.cases")
    seen, declined = set(), set()
    step = 1 if chip == CHIPS[0] else 9
    for case in list(cases.own_cases())[::step]:
        function = case.kernel.compile(**case.arguments(np.random.default_rng(0))).function
        try:
            source = backend.mytriton_lower(function, None)
        except UnsupportedFeature as error:
            declined.add(error.feature)
            continue
        if source.text in seen:
            continue
        seen.add(source.text)
        report = ptxas(launch.compile_source(source, chip=chip).decode(), chip)
        assert "0 bytes spill stores, 0 bytes spill loads" in report, case.id
    assert len(seen) > 1000 / step
    assert declined <= {"limit.block>1024", "op.device_print"}
