"""Arrays of another dtype, arrays that are none, dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.errors import ArgumentError
from mytriton.runtime.arguments import dtype_of


@triton.jit
def copy(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i))


class TestReinterpret:
    def test_bytes_are_read_as_another_dtype(self) -> None:
        x = np.array([0x3F800000, 0x40000000], np.int32)
        out = np.zeros(2, np.float32)
        copy[(1,)](triton.reinterpret(x, tl.float32), out, BLOCK=2)
        assert out.tolist() == [1.0, 2.0]

    def test_and_written(self) -> None:
        out = np.zeros(2, np.uint16)
        copy[(1,)](np.array([1.0, -2.0], np.float32), triton.reinterpret(out, tl.bfloat16), BLOCK=2)
        assert out.tolist() == [0x3F80, 0xC000]

    def test_back_to_its_own_dtype_it_is_itself(self) -> None:
        x = np.zeros(2, np.int32)
        assert triton.reinterpret(triton.reinterpret(x, tl.float32), x.dtype) is x

    def test_another_size_is_refused(self) -> None:
        x = np.zeros(2, np.int32)
        with pytest.raises(
            ArgumentError, match=r"elements of i32 \(4 bytes\) cannot be taken for f64"
        ):
            copy[(1,)](triton.reinterpret(x, tl.float64), x, BLOCK=2)

    def test_what_is_no_array(self) -> None:
        with pytest.raises(TypeError, match="a list cannot be reinterpreted"):
            triton.reinterpret([1], tl.float32)


class TestMockTensor:
    def test_strides_are_those_of_a_contiguous_tensor(self) -> None:
        mock = triton.MockTensor(tl.float32, [2, 3, 4])
        assert mock.stride() == (12, 4, 1)
        assert mock.stride(0) == 12
        assert mock.data_ptr() == 0

    def test_it_cannot_be_launched_with(self) -> None:
        with pytest.raises(ArgumentError, match="a MockTensor is neither an array nor a number"):
            copy[(1,)](triton.MockTensor(tl.float32), np.zeros(2), BLOCK=2)


class TestDtypes:
    @pytest.mark.parametrize(
        ("dtype", "expected"),
        [(tl.float32, "f32"), ("fp16", "f16"), ("int1", "bool"), (np.int8, "i8"), (bool, "bool"),
         (np.dtype("uint64"), "u64"), (float, "f64"), ("float8e5", "f8e5")],
    )  # fmt: skip
    def test_every_way_to_say_it(self, dtype: Any, expected: str) -> None:
        assert str(dtype_of(dtype)) == expected

    @pytest.mark.parametrize("dtype", ["float33", np.complex64, object(), np.dtype("O")])
    def test_what_is_none(self, dtype: Any) -> None:
        with pytest.raises(ArgumentError, match="dtype"):
            dtype_of(dtype)

    @pytest.mark.parametrize(
        ("name", "expected"), [("float8_e4m3fn", "f8e4nv"), ("float8_e5m2", "f8e5")]
    )
    def test_8_bit_floats_of_ml_dtypes(self, name: str, expected: str) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        x = np.zeros(2, getattr(ml_dtypes, name))
        types = {
            p.name: str(p.ty)
            for p in copy.compile(x, np.zeros(2, np.float32), BLOCK=2).function.params
        }
        assert types["x"] == f"ptr<{expected}>"
