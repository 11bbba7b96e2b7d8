"""Arrays that are none: dtypes and ``MockTensor`` for compiling without data, ``TensorWrapper`` for
data of another dtype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import ArgumentError
from ..ir.numerics import held_dtype, storage_dtype
from ..ir.types import ScalarType
from ..plugins.devices import device_provider
from .arguments import array_view, dtype_of
from .argview import ArgView
from .driver import HOST, driver


class MockTensor:
    """Stands for an array of a dtype (PyTorch's, NumPy's or ``tl``'s) when a kernel is compiled
    without being launched: contiguous, aligned, writeable, on the active device."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None = None) -> None:
        self.dtype = dtype
        self.shape = [1] if shape is None else list(shape)

    @staticmethod
    def wrap_dtype(value: Any) -> Any:
        """A PyTorch dtype as a ``MockTensor``; anything else as it is."""
        return MockTensor(value) if _is_torch_dtype(value) else value

    def stride(self, dim: int | None = None) -> Any:
        """Strides of a contiguous tensor, in elements."""
        strides = [1]
        for extent in reversed(self.shape[1:]):
            strides.insert(0, strides[0] * extent)
        return tuple(strides) if dim is None else strides[dim]

    @staticmethod
    def data_ptr() -> int:
        return 0


class TensorWrapper:
    """A tensor or array whose bytes are taken for elements of another dtype of the same size."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype
        self.shape = base.shape
        self.data = base.data
        self.device = getattr(base, "device", "cpu")

    def __getattr__(self, name: str) -> Any:
        if name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)

    def __mytriton_view__(self) -> ArgView:
        view, dtype = array_view(self.base), dtype_of(self.dtype)
        if view.dtype.itemsize != dtype.itemsize:
            raise ArgumentError(
                f"elements of {view.dtype} ({view.dtype.itemsize} bytes) cannot be taken for {dtype} "
                f"({dtype.itemsize} bytes)"
            )
        return replace(view, dtype=dtype, owner=self)

    def _again(self, base: Any) -> TensorWrapper:
        return TensorWrapper(base, self.dtype)

    def cpu(self) -> TensorWrapper:
        return self._again(self.base.cpu())

    def clone(self) -> TensorWrapper:
        return self._again(self.base.clone())

    def to(self, device: Any) -> TensorWrapper:
        return self._again(self.base.to(device))

    def new_empty(self, sizes: Any) -> TensorWrapper:
        return self._again(self.base.new_empty(sizes))

    def copy_(self, other: TensorWrapper) -> None:
        self.base.copy_(other.base)

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base!r})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """The bytes of a tensor or array as elements of ``dtype`` (a ``tl`` dtype, or PyTorch's or
    NumPy's), without a copy. Raises ``TypeError`` for what is neither."""
    if isinstance(tensor, TensorWrapper):
        base = tensor.base
        return base if dtype == base.dtype else TensorWrapper(base, dtype)
    if not hasattr(tensor, "data_ptr") and not hasattr(tensor, "__array_interface__"):
        raise TypeError(
            f"a {type(tensor).__name__} cannot be reinterpreted; pass a tensor or an array"
        )
    return TensorWrapper(tensor, dtype)


def _is_torch_dtype(value: Any) -> bool:
    return type(value).__name__ == "dtype" and type(value).__module__ == "torch"


def stand_in(value: Any) -> Any:
    """What a runtime argument is compiled as: for a dtype or a ``MockTensor``, a small array on the
    active device, of the kind (tensor or array) that a launch would be given."""
    if isinstance(value, MockTensor):
        value = value.dtype
    if _is_torch_dtype(value):
        import torch

        return torch.empty(1, dtype=value, device=driver.active.get_active_torch_device())
    if isinstance(value, (np.dtype, ScalarType)) or (
        isinstance(value, type) and issubclass(value, np.generic)
    ):
        dtype = dtype_of(value)
        raw = np.zeros(32, np.uint8)
        array: Any = raw[-raw.ctypes.data % 16 :][: dtype.itemsize].view(storage_dtype(dtype))
        kind = driver.active.get_current_target().backend
        if kind != HOST:
            array = device_provider(kind).to_device(array)
        return array if held_dtype(dtype) == storage_dtype(dtype) else reinterpret(array, dtype)
    return value
