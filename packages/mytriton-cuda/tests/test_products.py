"""Matrix products and transposition, on the emulator."""

from __future__ import annotations

from typing import Any

import cuda_ssa as ssa
import numpy as np
import pytest

from mytriton.ir.numerics import decode, encode
from mytriton.ir.types import parse_type

pytestmark = pytest.mark.nvrtc
pytest.importorskip("mytriton_testkit.emulator_device")
RNG = np.random.default_rng(1)


def product(
    m: int, n: int, depth: int, ty: str, out: str, *, batch: int = 0, acc: bool = True,
    precision: str = "", store: str = "",
) -> Any:  # fmt: skip
    lead = (batch,) if batch else ()
    a, b, c = (*lead, m, depth), (*lead, depth, n), (*lead, m, n)
    blocks = {k: "x".join(map(str, v)) for k, v in {"a": a, "b": b, "c": c}.items()}
    hint = f", input_precision='{precision}'" if precision else ""
    store = store or out
    return ssa.function(f"""kernel product(x: ptr<{ty}>, y: ptr<{ty}>, z: ptr<{out}>, out: ptr<{out}>) {{
{ssa.pointers(100, "x", a, ty)}
{ssa.pointers(200, "y", b, ty)}
{ssa.pointers(300, "z", c, out)}
{ssa.pointers(400, "out", c, out)}
  %1 = load %150, none, none : block<{blocks["a"]} x {ty}>
  %2 = load %250, none, none : block<{blocks["b"]} x {ty}>
  %3 = load %350, none, none : block<{blocks["c"]} x {out}>
  %4 = dot %1, %2, {"%3" if acc else "none"} {{out_dtype={out}{hint}}} : block<{blocks["c"]} x {out}>
  store %450, %4, none
}}
""")


def numbers(shape: tuple[int, ...], ty: str) -> np.ndarray:
    """Small whole numbers: their products and sums are exact in every float type."""
    values = RNG.integers(0 if ty == "u8" else -4, 5, shape)
    return encode(values.astype(np.float32), parse_type(ty)) if ty in ("bf16", "f8e5", "f8e4nv") else (
        values.astype({"f16": "f2", "f32": "f4", "f64": "f8", "i8": "i1", "u8": "u1", "i32": "i4"}[ty])
    )  # fmt: skip


def values(array: np.ndarray, ty: str) -> np.ndarray:
    return decode(array, parse_type(ty)).astype(np.float64)


def check(mapping: Any, shape: tuple[int, int, int], ty: str, out: str, **more: Any) -> str:
    m, n, depth = shape
    batch = more.get("batch", 0)
    lead = (batch,) if batch else ()
    fn = product(m, n, depth, ty, out, **more)
    args = {
        "x": numbers((*lead, m, depth), ty), "y": numbers((*lead, depth, n), ty),
        "z": numbers((*lead, m, n), out), "out": numbers((*lead, m, n), out),
    }  # fmt: skip
    found = values(
        ssa.emulated(fn, mapping, args, divisible_by=dict.fromkeys(args, 16))["out"], out
    )
    expected = np.matmul(values(args["x"], ty), values(args["y"], ty))
    if more.get("acc", True):
        expected = expected + values(args["z"], out)
    np.testing.assert_array_equal(found, expected)
    return ssa.source(fn, mapping).text


@pytest.mark.parametrize("ty", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("shape", "warps"),
    [((16, 8, 16), 1), ((64, 64, 32), 4), ((32, 16, 64), 4), ((16, 128, 16), 2), ((128, 32, 16), 4)],
)  # fmt: skip
def test_tensor_cores(ty: str, shape: tuple[int, int, int], warps: int) -> None:
    assert f"mma_{ty}(" in check(warps, shape, ty, "f32")


@pytest.mark.parametrize("batch", [1, 2, 4])
def test_tensor_cores_of_a_batch(batch: int) -> None:
    assert "mma_f16(" in check(4, (16, 16, 32), "f16", "f32", batch=batch, acc=False)


@pytest.mark.parametrize("ty", ["i8", "u8"])
def test_tensor_cores_for_bytes(ty: str) -> None:
    name = {"i8": "mma_s8(", "u8": "mma_u8("}[ty]
    assert name in check(4, (32, 16, 64), ty, "i32")
    assert name in check(1, (16, 8, 32), ty, "i32")


@pytest.mark.parametrize("ty", ["f8e4nv", "f8e5"])
def test_tensor_cores_take_8_bit_floats_as_halves(ty: str) -> None:
    assert "mma_f16(" in check(4, (32, 16, 32), ty, "f32")


def test_operands_that_need_more_shared_memory_than_a_kernel_has_by_itself() -> None:
    text = check(4, (64, 64, 128), "f32", "f32")
    assert "extern __shared__" in text


def test_tensor_cores_that_give_halves() -> None:
    assert "mma_f16(" in check(4, (32, 32, 32), "f16", "f16")


def test_single_precision_goes_to_tensor_cores_only_when_allowed() -> None:
    assert "mma_tf32(" in check(4, (32, 32, 16), "f32", "f32", precision="tf32")
    assert "mma" not in check(4, (32, 32, 16), "f32", "f32")
    assert "mma" not in check(4, (32, 32, 16), "f32", "f32", precision="ieee")


@pytest.mark.parametrize(
    ("ty", "out"), [("f32", "f32"), ("f64", "f64"), ("i8", "i32"), ("f8e5", "f32"), ("f16", "f32")]
)
@pytest.mark.parametrize("mapping", ["element", 1, 4])
def test_ordinary_arithmetic(mapping: Any, ty: str, out: str) -> None:
    for shape in ((8, 4, 8), (16, 16, 4), (1, 32, 2)):
        assert "mma" not in check(mapping, shape, ty, out)


@pytest.mark.parametrize("mapping", ["element", 4])
def test_ordinary_arithmetic_of_a_batch(mapping: Any) -> None:
    check(mapping, (8, 4, 16), "f32", "f32", batch=2)


def test_ordinary_arithmetic_of_larger_tiles() -> None:
    check(4, (64, 32, 32), "f32", "f32")


@pytest.mark.parametrize("ty", ["f16", "f32"])
@pytest.mark.parametrize("mapping", ["element", 1, 4])
def test_transposed_operands_and_results(mapping: Any, ty: str) -> None:
    """(B^T A^T)^T with B^T loaded by rows."""
    fn = ssa.function(f"""kernel twisted(x: ptr<{ty}>, y: ptr<{ty}>, out: ptr<f32>) {{
{ssa.pointers(100, "x", (32, 16), ty)}
{ssa.pointers(200, "y", (16, 32), ty)}
{ssa.pointers(300, "out", (16, 32), "f32")}
  %1 = load %150, none, none : block<32x16 x {ty}>
  %2 = load %250, none, none : block<16x32 x {ty}>
  %3 = trans %2 {{order=(1, 0)}} : block<32x16 x {ty}>
  %4 = trans %1 {{order=(1, 0)}} : block<16x32 x {ty}>
  %5 = dot %3, %4, none {{out_dtype=f32}} : block<32x32 x f32>
  %6 = trans %5 {{order=(1, 0)}} : block<32x32 x f32>
  %7 = sub %6, %5 : block<32x32 x f32>
  %8 = sum %7 {{axis=0}} : vector<32 x f32>
  %9 = expand_dims %8 {{axis=0}} : block<1x32 x f32>
  %10 = broadcast %9 {{shape=(16, 32)}} : block<16x32 x f32>
  store %350, %10, none
}}
""")
    x, y = numbers((32, 16), ty), numbers((16, 32), ty)
    args = {"x": x, "y": y, "out": np.zeros((16, 32), "f4")}
    found = ssa.emulated(fn, mapping, args)["out"]
    product = y.T.astype("f8") @ x.T.astype("f8")
    np.testing.assert_array_equal(found, np.broadcast_to((product.T - product).sum(0), (16, 32)))
