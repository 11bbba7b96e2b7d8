"""Run SSA text on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mytriton.interpreter.machine import run
from mytriton.ir.parser import parse
from mytriton.ir.types import ScalarType, is_pointer
from mytriton.runtime.argview import ArgView
from mytriton.verify import verify


def view(array: np.ndarray, dtype: ScalarType) -> ArgView:
    interface = array.__array_interface__
    address, readonly = interface["data"]
    return ArgView(address, dtype, array.shape, array.strides, readonly=readonly, owner=array)


def _execute(text: str, *args: Any, grid: tuple[int, ...] = (1,), sanitize: bool = False) -> None:
    function = parse(text, "kernel.ssa")
    verify(function)
    bound = [
        view(arg, param.ty.element) if is_pointer(param.ty) else arg
        for param, arg in zip(function.params, args, strict=True)
    ]
    run(function, bound, (*grid, 1, 1)[:3], sanitize=sanitize)


@pytest.fixture
def execute() -> Any:
    """``execute(text, *args, grid=(1,), sanitize=False)``: parse, verify, run."""
    return _execute


@pytest.fixture
def as_view() -> Any:
    """``as_view(array, dtype)``: the ``ArgView`` of a NumPy array."""
    return view
