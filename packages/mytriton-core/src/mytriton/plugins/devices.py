"""Device providers: who loads an image and launches functions on a kind of device.

A provider is found through the entry-point group ``mytriton.devices``. The entry point is called
after the kind (``cuda``), with the suffix ``.emulator`` for one that is used instead when
``MYTRITON_EMULATE=1``; it names a provider or a function without parameters that makes one. Core
brings the host (kind ``cpu``).
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from ..ir.features import UNALIGNED
from ..ir.numerics import encode, held_dtype
from ..ir.types import PointerType, ScalarType, Type
from ..runtime.argview import ArgView
from . import variables
from .errors import DeviceError, UnsupportedFeature
from .known import installs_for
from .types import Availability, Device

EMULATOR = ".emulator"


@runtime_checkable
class DeviceProvider(Protocol):
    """One kind of device. Importing the provider must not touch the device; methods may raise
    ``DeviceError``. ``stream`` is whatever the provider's library takes; ``None`` is its current
    one. A provider may be called from several threads.

    A provider may also have ``image_kinds``, the kinds of image it loads, the best first: a backend
    that can make several asks for it (``("cubin", "ptx")`` where there is none)."""

    #: ``"cpu"``, ``"cuda"``, or a kind of the plugin's own.
    kind: str

    def availability(self) -> Availability:
        """Whether there is a device here, and which."""
        ...

    def current_device(self) -> Device:
        """The device that arrays are made on and functions run on."""
        ...

    def limits(self, device: Device) -> dict[str, int]:
        """Facts such as ``max_threads``, ``warp_size``, ``shared_bytes``, ``grid_x``."""
        ...

    def owns(self, value: object) -> bool:
        """Whether ``value`` is an array of this device. Looks at its type only; imports nothing."""
        ...

    def view(self, value: Any) -> ArgView:
        """An array it owns, as a base pointer."""
        ...

    def load(self, image: bytes, *, kind: str, device: Device | None = None) -> Any:
        """A module from an image; ``kind`` is ``"ptx"``, ``"cubin"``, ``"shared"`` or the like."""
        ...

    def function(self, module: Any, name: str) -> Any:
        """A function of a loaded module, which stays loaded as long as the function lives."""
        ...

    def launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: PackedArguments,
        *,
        shared_bytes: int = 0,
        stream: Any = None,
    ) -> None:
        """Run a function. Does not wait, where the device can work by itself."""
        ...

    def synchronize(self, stream: Any = None) -> None:
        """Wait for everything launched so far; raises what went wrong in it."""
        ...

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        """A copy on the current device."""
        ...

    def to_host(self, value: Any) -> np.ndarray[Any, Any]:
        """A copy on the host."""
        ...


class PackedArguments:
    """Kernel arguments as drivers take them: each value in memory, and their addresses."""

    __slots__ = ("addresses", "count", "owners", "values")

    def __init__(self, values: Sequence[Any], owners: Sequence[Any]) -> None:
        #: ctypes objects that hold the values.
        self.values = tuple(values)
        #: Keeps arrays alive while the launch needs them.
        self.owners = tuple(owners)
        self.count = len(self.values)
        #: ``void *[count]``.
        self.addresses = (ctypes.c_void_p * max(1, self.count))(*map(ctypes.addressof, self.values))


_SCALARS: dict[str, Any] = {
    "bool": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32,
    "i64": ctypes.c_int64, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64, "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


def pack_arguments(types: Sequence[Type], args: Sequence[Any]) -> PackedArguments:
    """The arguments of ``Artifact.launch`` (``ArgView`` or Python scalar), packed by their types.

    Raises ``ValueError`` when the counts differ, ``TypeError`` for a type that is no argument's.
    """
    if len(types) != len(args):
        raise ValueError(f"{len(types)} parameters, {len(args)} arguments")
    return PackedArguments([_pack(ty, arg) for ty, arg in zip(types, args, strict=True)], args)


def _pack(ty: Type, arg: Any) -> Any:
    if isinstance(ty, PointerType):
        return ctypes.c_void_p(arg.pointer)
    if not isinstance(ty, ScalarType):
        raise TypeError(f"{ty} is not the type of a kernel argument")
    if ty.name in _SCALARS:
        return _SCALARS[ty.name](arg)
    if ty.name == "f16":
        return ctypes.c_uint16(struct.unpack("<H", struct.pack("<e", arg))[0])
    return ctypes.c_uint16(int(encode(np.asarray(arg, held_dtype(ty)), ty)))


def refuse_unaligned(names: Sequence[str], args: Sequence[Any]) -> None:
    """For artifacts of devices that cannot access arrays at odd addresses: called before a launch,
    with what ``Artifact.launch`` got. Core declines such launches; this is for those that come past
    it. Raises ``UnsupportedFeature``."""
    for name, arg in zip(names, args):
        if isinstance(arg, ArgView) and not arg.aligned:
            reason = f"the address of {name!r} is no multiple of {arg.dtype.itemsize}"
            raise UnsupportedFeature(UNALIGNED, reason)


class HostProvider:
    """The computer itself. A function has the C signature ``void f(void **args, int32_t grid_x,
    int32_t grid_y, int32_t grid_z)`` and runs the whole grid; ``block`` is ignored."""

    kind = "cpu"

    def availability(self) -> Availability:
        return Availability(devices=(self.current_device(),))

    def current_device(self) -> Device:
        import platform

        return Device("cpu", platform.processor() or platform.machine(), platform.machine())

    def limits(self, device: Device) -> dict[str, int]:
        return {"threads": os.cpu_count() or 1, "grid_x": 2**31 - 1}

    def owns(self, value: object) -> bool:
        return isinstance(value, np.ndarray)

    def view(self, value: Any) -> ArgView:
        from ..runtime.arguments import array_view

        return array_view(value)

    def load(self, image: bytes, *, kind: str = "shared", device: Device | None = None) -> Any:
        """Load a shared library, given as its bytes. Raises ``DeviceError``."""
        import tempfile

        if kind != "shared":
            raise DeviceError(f"the host loads images of kind 'shared', not {kind!r}")
        handle, path = tempfile.mkstemp(suffix=".so", prefix="mytriton-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(image)
            return ctypes.CDLL(path)
        except OSError as e:
            raise DeviceError(f"the host cannot load the image: {e}") from e
        finally:
            # What is mapped stays mapped.
            try:
                os.unlink(path)
            except OSError:
                pass

    def function(self, module: Any, name: str) -> Any:
        """Raises ``DeviceError`` when the library has no such function."""
        try:
            function = getattr(module, name)
        except AttributeError as e:
            raise DeviceError(f"the image has no function {name!r}") from e
        function.restype = None
        function.argtypes = [ctypes.c_void_p, *[ctypes.c_int32] * 3]
        return function

    def launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        args: PackedArguments,
        *,
        shared_bytes: int = 0,
        stream: Any = None,
    ) -> None:
        function(args.addresses, *grid)

    def synchronize(self, stream: Any = None) -> None:
        """Launches on the host are complete when they return."""

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return array.copy()

    def to_host(self, value: Any) -> np.ndarray[Any, Any]:
        return np.array(value)


HOST = HostProvider()
_loaded: dict[str, DeviceProvider] = {}


def register_device(provider: DeviceProvider, *, emulator: bool = False) -> None:
    """Make ``provider`` the one for its kind in this process, before any that is installed."""
    _loaded[provider.kind + (EMULATOR if emulator else "")] = provider


def unregister_device(kind: str, *, emulator: bool = False) -> None:
    """Undo ``register_device``, or forget one that was loaded."""
    _loaded.pop(kind + (EMULATOR if emulator else ""), None)


def device_provider(kind: str) -> DeviceProvider:
    """The provider for a kind of device: the emulator's when ``MYTRITON_EMULATE=1``.

    Raises ``DeviceError`` when none is installed (naming what to install), when several are, or
    when it fails to load.
    """
    if kind == HOST.kind:
        return HOST
    name = kind + (EMULATOR if variables.flag("MYTRITON_EMULATE") else "")
    if name not in _loaded:
        _loaded[name] = _load(name, kind)
    return _loaded[name]


def _load(name: str, kind: str) -> DeviceProvider:
    from .manager import MANAGER

    entries = [e for e in MANAGER.scanned().devices if e.name == name]
    what = f"the emulator of device kind {kind!r}" if name != kind else f"device kind {kind!r}"
    if not entries:
        known = sorted({e.name for e in MANAGER.scanned().devices} | {HOST.kind})
        installs = installs_for(kind) if name == kind else ["pip install mytriton-testkit"]
        hint = f" Install one: {installs[0]}." if installs else ""
        raise DeviceError(f"nothing provides {what}.{hint} Installed: {', '.join(known)}")
    if len(entries) > 1:
        owners = ", ".join(sorted(f"{e.dist.name} {e.dist.version}" for e in entries))
        raise DeviceError(f"several distributions provide {what}: {owners}. Uninstall all but one")
    (entry,) = entries
    try:
        found = entry.load()
        # A class is a protocol's instance in name only: it is made here, like any factory's.
        if isinstance(found, type) or not isinstance(found, DeviceProvider):
            found = found()
    except (Exception, SystemExit) as e:
        raise DeviceError(
            f"the provider of {what} ({entry.dist.name} {entry.dist.version}) failed to load:"
            f" {type(e).__name__}: {e}"
        ) from e
    if not isinstance(found, DeviceProvider) or found.kind != kind:
        raise DeviceError(f"{entry.dist.name}: {entry.value} is not a provider of {what}")
    return found


def owner_of(value: object) -> DeviceProvider | None:
    """The loaded or installed provider whose array ``value`` is, or ``None``. One that fails to
    load owns nothing."""
    if HOST.owns(value):
        return HOST
    from .manager import MANAGER

    emulate = variables.flag("MYTRITON_EMULATE")
    names = {e.name for e in MANAGER.scanned().devices} | set(_loaded)
    for name in sorted(names):
        if name.endswith(EMULATOR) is not emulate:
            continue
        try:
            provider = device_provider(name.removesuffix(EMULATOR))
        except DeviceError:
            continue
        if provider.owns(value):
            return provider
    return None
