"""What works here: asked once, when a backend is wanted, never at import."""

from __future__ import annotations

import ctypes
import importlib.util

from mytriton.plugin_api import Availability
from mytriton_cuda_info import INFO

#: What the driver is called, on Linux and on Windows.
_DRIVERS = ("libcuda.so.1", "nvcuda.dll")

LATER = "running kernels comes with a later release of mytriton-cuda"


def probe() -> Availability:
    """Lowering always works. Launching needs a driver and CuPy, and code that is still to come."""
    if not driver_present():
        reason, hint = "no CUDA driver (libcuda) on this machine", "kernels can be read, not run"
    elif importlib.util.find_spec("cupy") is None:
        reason, hint = "CuPy is not installed", INFO.install_hint
    else:
        reason, hint = LATER, "kernels can be read, not run"
    return Availability(can_lower=True, can_launch=False, reason=reason, hint=hint)


def driver_present() -> bool:
    """Whether the CUDA driver's library can be loaded."""
    for name in _DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
