"""Comparing a result with what it should be."""

from __future__ import annotations

from typing import Any

import numpy as np


def assert_close(
    x: Any, y: Any, atol: float | None = None, rtol: float | None = None, err_msg: str = ""
) -> None:
    """Raise ``AssertionError`` unless ``|x - y| <= atol + rtol * |y|`` everywhere, both 1e-2 unless
    given. Takes tensors, arrays and numbers; NaN equals NaN, shapes must be equal unless one has a
    single element."""
    left, right = _host(x), _host(y)
    atol = 1e-2 if atol is None else float(atol)
    rtol = 1e-2 if rtol is None else float(rtol)
    if left.size > 1 or right.size > 1:
        np.testing.assert_allclose(
            left, right, atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg
        )
    elif not np.allclose(left, right, atol=atol, rtol=rtol, equal_nan=True):
        raise AssertionError(
            f"{err_msg} {x} is not close to {y} (atol={atol}, rtol={rtol})".strip()
        )


def _host(value: Any) -> Any:
    """An array on the host; 16-bit and 8-bit floats that NumPy lacks as ``float32``."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if value.is_floating_point() and str(value.dtype) != "torch.float64":
            value = value.float()
        return value.numpy()
    if not isinstance(value, np.ndarray):
        from ..plugins.devices import owner_of

        owner = owner_of(value)
        value = np.asarray(value) if owner is None else owner.to_host(value)
    if value.dtype.kind == "V" or value.dtype.name.startswith(("bfloat", "float8")):
        value = value.astype(np.float32)
    return value
