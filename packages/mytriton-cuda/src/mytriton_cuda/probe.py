"""What works here: asked once, when a backend is wanted, never at import."""

from __future__ import annotations

import ctypes
import importlib.util

from mytriton.plugin_api import Availability, DeviceError, device_provider
from mytriton_cuda_info import INFO

from . import nvrtc

#: What the driver is called, on Linux and on Windows.
_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
_TEXT_ONLY = "kernels can be read here, not run"


def probe() -> Availability:
    """Lowering always works. Launching takes the compiler, and somebody who launches on devices of
    kind ``cuda``: a device provider of CuPy's, or the emulator when ``MYTRITON_EMULATE=1``."""
    try:
        device = device_provider("cuda").availability()
    except DeviceError as e:
        return Availability(can_launch=False, reason=_without_provider(e), hint=INFO.install_hint)
    if not device.can_launch:
        reason, hint = device.reason, device.hint
    elif not nvrtc.available():
        reason, hint = "NVRTC is not installed", INFO.install_hint
    else:
        return Availability(devices=device.devices)
    return Availability(can_launch=False, reason=reason, hint=hint or _TEXT_ONLY)


def _without_provider(error: DeviceError) -> str:
    """The most useful thing to say when nothing launches on CUDA devices."""
    if not driver_present():
        return "no CUDA driver (libcuda) on this machine"
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed"
    return str(error)


def driver_present() -> bool:
    """Whether the CUDA driver's library can be loaded."""
    for name in _DRIVERS:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
