"""NVIDIA GPUs through CuPy: the device provider of kind ``cuda``, used by ``mlir`` as well.

CuPy is imported when a device is first asked for. Arrays may be anybody's: CuPy's, PyTorch's, and
those with ``__cuda_array_interface__`` or DLPack. A launch goes to the device its arrays are on and
to the stream that is current in the library that owns them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mytriton.plugin_api import (
    ArgView,
    Availability,
    Device,
    DeviceError,
    PackedArguments,
    parse_type,
)

#: Shared memory a launch gets without asking for it.
PLAIN_SHARED = 48 * 1024
_DLPACK_CUDA = (2, 13)
_INSTALL = 'pip install "mytriton-cuda[cuda12]" (or [cuda13], to match your driver)'
_AXES = "xyz"


@dataclass(frozen=True)
class Function:
    """A kernel that is loaded on a device. ``kernel`` is a ``cupy.RawKernel``."""

    kernel: Any
    name: str
    device: int
    limits: dict[str, int]


class CudaProvider:
    """Loads and launches through CuPy's documented interface."""

    kind = "cuda"
    #: Cubins need no compiler in the driver.
    image_kinds = ("cubin", "ptx")

    def availability(self) -> Availability:
        try:
            cupy = _cupy()
            count = int(cupy.cuda.runtime.getDeviceCount())
        except DeviceError as e:
            return Availability(can_launch=False, reason=str(e), hint=_INSTALL)
        except Exception as e:
            # CUDARuntimeError: no driver, or one that is too old.
            return Availability(can_launch=False, reason=f"CuPy finds no CUDA device: {e}")
        if not count:
            return Availability(can_launch=False, reason="there is no CUDA device")
        return Availability(devices=tuple(_described(cupy, n) for n in range(count)))

    def current_device(self) -> Device:
        """CuPy's current device."""
        cupy = _cupy()
        return _described(cupy, int(cupy.cuda.Device().id))

    def limits(self, device: Device) -> dict[str, int]:
        return _limits(_cupy(), device.index)

    # ------------------------------------------------------------------ arrays

    def owns(self, value: object) -> bool:
        if hasattr(type(value), "__cuda_array_interface__"):
            return True
        if hasattr(type(value), "__dlpack_device__"):
            return int(value.__dlpack_device__()[0]) in _DLPACK_CUDA  # type: ignore[attr-defined]
        return False

    def view(self, value: Any) -> ArgView:
        """The base pointer of an array. Raises ``DeviceError`` for what has no such view."""
        if not hasattr(type(value), "__cuda_array_interface__"):
            return _view(_cupy().from_dlpack(value), value)
        return _view(value, value)

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return _cupy().asarray(array)

    def to_host(self, value: Any) -> np.ndarray[Any, Any]:
        return np.asarray(_cupy().asnumpy(value))

    # ------------------------------------------------------------------ code

    def load(self, image: bytes, *, kind: str = "cubin", device: Device | None = None) -> Any:
        """A ``cupy.RawModule`` of a cubin or PTX. Raises ``DeviceError``."""
        if kind not in self.image_kinds:
            raise DeviceError(f"CUDA loads images of kind 'cubin' or 'ptx', not {kind!r}")
        cupy = _cupy()
        index = int(cupy.cuda.Device().id) if device is None else device.index
        # CuPy remembers modules by path: the path must say what is in the file.
        name = f"{hashlib.sha256(image).hexdigest()}.{kind}"
        with tempfile.TemporaryDirectory(prefix="mytriton-") as folder:
            path = os.path.join(folder, name)
            try:
                with open(path, "wb") as file:
                    file.write(image)
                with cupy.cuda.Device(index):
                    module = cupy.RawModule(path=path)
                    # Reads the file.
                    module.compile()
            except OSError as e:
                raise DeviceError(f"the image cannot be handed to CuPy: {e}") from e
            except Exception as e:
                raise DeviceError(f"the driver refuses the {kind}: {e}") from e
        return module, index

    def function(self, module: Any, name: str) -> Function:
        """Raises ``DeviceError`` when there is no such function."""
        cupy = _cupy()
        raw, index = module
        try:
            with cupy.cuda.Device(index):
                kernel = raw.get_function(name)
                # Looks it up.
                kernel.num_regs  # noqa: B018
        except Exception as e:
            raise DeviceError(f"the image has no function {name!r}: {e}") from e
        return Function(kernel, name, index, _limits(cupy, index))

    def launch(
        self,
        function: Function,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: PackedArguments,
        *,
        shared_bytes: int = 0,
        stream: Any = None,
    ) -> None:
        """Start a kernel. Raises ``DeviceError`` before anything runs when an argument is elsewhere
        or a size is beyond the device."""
        cupy = _cupy()
        views = [o for o in args.owners if isinstance(o, ArgView)]
        _check_places(function, views)
        _check_sizes(function, grid, block, shared_bytes)
        if shared_bytes > PLAIN_SHARED:
            function.kernel.max_dynamic_shared_size_bytes = shared_bytes
        values = tuple(map(_scalar, args.values))
        if stream is None:
            stream = _stream(cupy, views, function.device)
        with cupy.cuda.Device(function.device), stream:
            function.kernel(grid, block, values, shared_mem=shared_bytes)

    def synchronize(self, stream: Any = None) -> None:
        """Wait for a stream, or for everything on the current device."""
        if stream is not None:
            stream.synchronize()
        else:
            _cupy().cuda.Device().synchronize()


@cache
def _cupy() -> Any:
    try:
        import cupy
    except ImportError as e:
        raise DeviceError(f"CuPy is not installed: {e}. {_INSTALL}") from e
    return cupy


def _described(cupy: Any, index: int) -> Device:
    name = cupy.cuda.runtime.getDeviceProperties(index)["name"]
    text = name.decode() if isinstance(name, bytes) else str(name)
    return Device("cuda", text, f"sm_{cupy.cuda.Device(index).compute_capability}", index)


@cache
def _limits(cupy: Any, index: int) -> dict[str, int]:
    facts = cupy.cuda.Device(index).attributes
    wanted = {
        "max_threads": "MaxThreadsPerBlock", "warp_size": "WarpSize",
        "shared_bytes": "MaxSharedMemoryPerBlock",
        "shared_bytes_optin": "MaxSharedMemoryPerBlockOptin",
        "grid_x": "MaxGridDimX", "grid_y": "MaxGridDimY", "grid_z": "MaxGridDimZ",
    }  # fmt: skip
    return {ours: int(facts[theirs]) for ours, theirs in wanted.items() if theirs in facts}


def _view(array: Any, owner: Any) -> ArgView:
    interface = array.__cuda_array_interface__
    pointer, readonly = interface["data"]
    try:
        dtype = np.dtype(interface["typestr"])
        scalar = parse_type(
            {"bool": "bool"}.get(dtype.name) or f"{_LETTER[dtype.kind]}{8 * dtype.itemsize}"
        )
    except (TypeError, KeyError, ValueError) as e:
        raise DeviceError(f"arrays of type {interface['typestr']} are not supported") from e
    if dtype.byteorder == ">":
        raise DeviceError("arrays of another byte order are not supported")
    shape = tuple(interface["shape"])
    strides = interface.get("strides") or _dense(shape, dtype.itemsize)
    device = getattr(array, "device", None)
    index = getattr(device, "id", getattr(device, "index", 0)) or 0
    return ArgView(
        int(pointer or 0), scalar, shape, tuple(strides), "cuda", int(index),  # type: ignore[arg-type]
        readonly=bool(readonly), owner=owner,
    )  # fmt: skip


_LETTER = {"f": "f", "i": "i", "u": "u"}


def _dense(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _scalar(value: Any) -> Any:
    """A packed value as a NumPy scalar of the same bytes: CuPy passes those on as they are."""
    number = value.value
    kind = _SCALARS.get(type(value)._type_)
    return np.uint64(number or 0) if kind is None else kind(number)


#: ctypes' one-letter codes. Pointers are the rest.
_SCALARS: dict[str, Any] = {
    "?": np.bool_, "b": np.int8, "B": np.uint8, "h": np.int16, "H": np.uint16, "i": np.int32,
    "I": np.uint32, "l": np.int64, "L": np.uint64, "q": np.int64, "Q": np.uint64,
    "f": np.float32, "d": np.float64,
}  # fmt: skip
if np.dtype("l").itemsize == 4:
    _SCALARS |= {"l": np.int32, "L": np.uint32}


def _stream(cupy: Any, views: list[ArgView], device: int) -> Any:
    """The stream that is current for the owner of the arrays: PyTorch's if a tensor is among them,
    else CuPy's."""
    for view in views:
        if type(view.owner).__module__.partition(".")[0] == "torch":
            current = sys.modules["torch"].cuda.current_stream(device)
            return cupy.cuda.ExternalStream(current.cuda_stream, device)
    return cupy.cuda.get_current_stream(device)


def _check_places(function: Function, views: list[ArgView]) -> None:
    for view in views:
        if view.device_kind != "cuda":
            raise DeviceError(
                f"kernel {function.name!r} runs on cuda:{function.device}, but an argument is a"
                f" {type(view.owner).__name__} on {view.device_kind!r}; nothing was started"
            )
        if view.device_id != function.device:
            raise DeviceError(
                f"kernel {function.name!r} is loaded on cuda:{function.device}, but an argument is on"
                f" cuda:{view.device_id}; nothing was started"
            )


def _check_sizes(
    function: Function, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int
) -> None:
    limits, what = function.limits, f"kernel {function.name!r}"
    for axis, extent in zip(_AXES, grid, strict=True):
        limit = limits.get(f"grid_{axis}", extent)
        if extent > limit:
            raise DeviceError(f"{what}: {extent} programs along {axis}, the device takes {limit}")
    threads = block[0] * block[1] * block[2]
    if threads > limits.get("max_threads", threads):
        raise DeviceError(f"{what}: {threads} threads, the device takes {limits['max_threads']}")
    most = limits.get("shared_bytes_optin") or limits.get("shared_bytes", shared)
    if shared > most:
        raise DeviceError(f"{what}: {shared} bytes of shared memory, the device has {most}")


__all__ = ["CudaProvider", "Function"]
