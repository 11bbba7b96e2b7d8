"""What works here: text always, launching with a CUDA device and the bindings, or kernels that were
compiled beforehand."""

from __future__ import annotations

from mytriton.plugin_api import Availability, DeviceError, device_provider

from . import images, toolchain

KIND = "cuda"


def probe() -> Availability:
    """Whether kernels can be launched, and if not, what to do. Imports MLIR only when everything
    else is there."""
    carried = False
    if reason := toolchain.missing():
        carried = images.usable()
        if not carried:
            if (folder := images.folder()) is not None:
                reason += f", and {images.VARIABLE}={folder} holds no images"
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
    if not carried:
        try:
            toolchain.bindings()
        except ImportError as error:
            return Availability(can_launch=False, reason=str(error), hint=toolchain.INSTALL)
    return Availability(devices=here.devices)
