"""What works here: text always, launching with the bindings and a CUDA device."""

from __future__ import annotations

from mytriton.plugin_api import Availability, DeviceError, device_provider

from . import toolchain

KIND = "cuda"


def probe() -> Availability:
    """Whether kernels can be launched, and if not, what to do. Imports MLIR only when everything
    else is there."""
    if reason := toolchain.missing():
        return Availability(can_launch=False, reason=reason, hint=toolchain.INSTALL)
    try:
        here = device_provider(KIND).availability()
    except DeviceError as error:
        return Availability(
            can_launch=False, reason=f"no CUDA device: {error}",
            hint='pip install "mytriton-mlir[bindings,cuda12]"',
        )  # fmt: skip
    if not here.can_launch:
        return Availability(can_launch=False, reason=here.reason, hint=here.hint)
    try:
        toolchain.bindings()
    except ImportError as error:
        return Availability(can_launch=False, reason=str(error), hint=toolchain.INSTALL)
    return Availability(devices=here.devices)
