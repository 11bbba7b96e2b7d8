"""Launching: pack and check the arguments, lay memory out, run the grid in chunks."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .counters import Counters
from .errors import LaunchError
from .literals import encode
from .memory import Buffer, Memory
from .parser import parse
from .program import Program
from .scheduler import Runner
from .state import Checks, Dim3, Launch, Machine
from .syntax import Function, Immediate, Module, Param, Variable
from .types import Array

LANES = 1 << 16
"""Lanes that run together."""
CHUNK_SHARED = 1 << 23
MAXIMAL_SHARED = 227 * 1024
Shape = int | Sequence[int]


def load_module(text: str | bytes) -> Module:
    """Parse PTX text. `module.kernels[name].params` are a kernel's parameters."""
    return parse(text.decode() if isinstance(text, bytes) else text)


def dim3(shape: Shape, what: str) -> Dim3:
    values = [shape] if isinstance(shape, (int, np.integer)) else list(shape)
    if not 1 <= len(values) <= 3 or any(int(value) < 1 for value in values):
        raise LaunchError(f"{what} must be one to three numbers from 1, not {shape!r}")
    x, y, z = [int(value) for value in values] + [1] * (3 - len(values))
    return x, y, z


# ---------------------------------------------------------------------- arguments


def pack(param: Param, value: Any) -> bytes:
    """The bytes of a Python value as a parameter."""
    if isinstance(value, (bytes, bytearray, memoryview, ctypes.Structure)):
        return bytes(value)
    if isinstance(value, Buffer):
        value = value.address
    if param.is_array:
        raise LaunchError(f"parameter {param} takes bytes, not {type(value).__name__}")
    number = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(number, bool):
        number = int(number)
    if isinstance(number, float) or param.type.kind == "f":
        kind = {2: np.float16, 4: np.float32, 8: np.float64}.get(param.size)
        if param.type.kind not in "fb" or kind is None:
            raise LaunchError(f"parameter {param} takes an integer, not {number!r}")
        with np.errstate(over="ignore"):
            return np.array(number, kind).tobytes()
    if not isinstance(number, int):
        raise LaunchError(f"parameter {param} cannot take {type(value).__name__}")
    bits = param.type.bits
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise LaunchError(f"{number} does not fit parameter {param}")
    return encode(Immediate(number), param.type)


def raw_bytes(value: Any) -> bytes:
    """The bytes a pointer of cuLaunchKernel's argument list points at."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, np.generic):
        return value.tobytes()
    if isinstance(value, np.ndarray):
        return value.tobytes()
    try:
        return bytes(memoryview(value))
    except TypeError:
        raise LaunchError(
            f"packed arguments are bytes, ctypes or NumPy scalars, not {type(value).__name__}"
        ) from None


def image_of(kernel: Function, packed: Sequence[bytes]) -> bytes:
    """The parameter space of a launch; checks number and size of the arguments."""
    params = kernel.params
    if len(packed) != len(params):
        listed = ", ".join(map(str, params))
        raise LaunchError(
            f"{kernel.name} has {len(params)} parameters, {len(packed)} were given: ({listed})"
        )
    size = max((param.offset + param.size for param in params), default=0)
    image = bytearray(-(-max(size, 1) // 16) * 16)
    for index, (param, octets) in enumerate(zip(params, packed, strict=True)):
        if len(octets) != param.size:
            raise LaunchError(
                f"argument {index} of {kernel.name} has {len(octets)} bytes, the parameter "
                f"{param} has {param.size}"
            )
        image[param.offset : param.offset + param.size] = octets
    return bytes(image)


# ---------------------------------------------------------------------- modules in memory


class Loaded:
    """A module in a memory: its global and constant variables have addresses."""

    def __init__(self, module: Module, memory: Memory) -> None:
        self.module, self.memory = module, memory
        self.addresses: dict[str, int] = {}
        variables = list(module.variables)
        for function in module.functions.values():
            variables += function.variables
        placed = [each for each in variables if each.space in ("global", "const")]
        for each in placed:
            buffer = memory.allocate(max(each.size, 1), each.name)
            memory.write(buffer.address, bytes(buffer.nbytes))
            self.addresses[each.name] = buffer.address
        for each in placed:
            self._fill(each)

    def _fill(self, variable: Variable) -> None:
        if variable.values:
            self.memory.write(self.addresses[variable.name], variable.values)
        for offset, size, name, addend in variable.links:
            if name not in self.addresses:
                raise LaunchError(f"{variable.name} is initialised with the unknown {name!r}")
            value = (self.addresses[name] + addend).to_bytes(8, "little")[:size]
            self.memory.write(self.addresses[variable.name] + offset, value)


class Device:
    """A memory with modules loaded in it: what a driver offers, in small."""

    def __init__(self, capacity: int = 1 << 24) -> None:
        self.memory = Memory(capacity)
        self._loaded: list[Loaded] = []

    def allocate(self, nbytes: int, name: str = "", *, undefined: bool = False) -> Buffer:
        return self.memory.allocate(nbytes, name, undefined=undefined)

    def upload(self, array: Any, name: str = "") -> Buffer:
        return self.memory.upload(array, name)

    def download(self, buffer: Buffer, dtype: Any = None, shape: Any = None) -> Array:
        return self.memory.download(buffer, dtype, shape)

    def free(self, buffer: Buffer) -> None:
        self.memory.free(buffer)

    def load(self, module: Module | str | bytes) -> Loaded:
        """Give a module's variables their memory; once for each module object."""
        parsed = module if isinstance(module, Module) else load_module(module)
        for each in self._loaded:
            if each.module is parsed:
                return each
        self._loaded.append(Loaded(parsed, self.memory))
        return self._loaded[-1]

    def variable(self, module: Module, name: str) -> int:
        """The address of a global or constant variable."""
        return self.load(module).addresses[name]

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Shape,
        block: Shape,
        args: Sequence[Any] = (),
        shared_bytes: int = 0,
        checks: Checks | bool = True,
    ) -> Counters:
        """Run a kernel with Python values as arguments: buffers, numbers, bytes."""
        function = find_kernel(module, kernel)
        if len(args) != len(function.params):
            image_of(function, [b""] * len(args))
        packed = [pack(param, value) for param, value in zip(function.params, args, strict=True)]
        return self.launch_packed(module, kernel, grid, block, packed, shared_bytes, checks)

    def launch_packed(
        self,
        module: Module,
        kernel: str,
        grid: Shape,
        block: Shape,
        packed: Iterable[Any],
        shared_bytes: int = 0,
        checks: Checks | bool = True,
    ) -> Counters:
        """Run a kernel with arguments packed as for cuLaunchKernel: for each parameter its bytes,
        as bytes, a ctypes object or a NumPy scalar. Nothing is converted."""
        function = find_kernel(module, kernel)
        image = image_of(function, [raw_bytes(value) for value in packed])
        limits = checks if isinstance(checks, Checks) else Checks() if checks else Checks.none()
        program = compiled(module, function)
        loaded = self.load(module)
        shape = dim3(block, "block")
        check_shape(program, shape, shared_bytes)
        launch = Launch(
            memory=self.memory,
            grid=dim3(grid, "grid"),
            block=shape,
            image=image,
            checks=limits,
            symbols=dict(loaded.addresses),
            arguments=self._arguments(function, image),
            shared_size=program.shared_static + shared_bytes,
            shared_owned=owned(program, shared_bytes),
            grain_shared=program.grain_shared,
            grain_global=program.grain_global,
            warp_barriers=program.warp_barriers,
            async_copies=program.async_copies,
        )
        launch.symbols["dynamic shared bytes"] = shared_bytes
        for param in function.params:
            launch.symbols[f"param {param.name}"] = param.offset
        if program.takes_addresses:
            self._place_image(function, launch)
        run(program, launch)
        return launch.counters

    def _arguments(self, function: Function, image: bytes) -> dict[int, str]:
        """Which buffers the arguments point to, for messages."""
        found: dict[int, str] = {}
        for index, param in enumerate(function.params):
            if param.size == 8:
                address = int.from_bytes(image[param.offset : param.offset + 8], "little")
                buffer = self.memory.find(address)
                if buffer is not None:
                    found.setdefault(buffer.address, f"argument {index} ({param.name})")
        return found

    def _place_image(self, function: Function, launch: Launch) -> None:
        """Kernels that take the address of a parameter find it in global memory."""
        buffer = self.memory.allocate(len(launch.image), "kernel parameters")
        self.memory.write(buffer.address, launch.image)
        for param in function.params:
            launch.symbols[param.name] = buffer.address + param.offset


def find_kernel(module: Module, name: str) -> Function:
    kernels = module.kernels
    if name not in kernels:
        raise LaunchError(f"no kernel {name!r}; there are: {', '.join(kernels) or 'none'}")
    return kernels[name]


def compiled(module: Module, function: Function) -> Program:
    found = module.compiled.get(function.name)
    if not isinstance(found, Program):
        found = module.compiled[function.name] = Program(module, function)
    return found


def check_shape(program: Program, block: Dim3, shared_bytes: int) -> None:
    kernel = program.kernel
    threads = block[0] * block[1] * block[2]
    if threads > 1024 or block[2] > 64:
        raise LaunchError(f"a block of {block} has more than 1024 threads (64 along z)")
    if kernel.required_threads is not None and kernel.required_threads != block:
        raise LaunchError(
            f"{kernel.name} requires blocks of {kernel.required_threads}, not {block}"
        )
    if kernel.maximal_threads is not None:
        x, y, z = kernel.maximal_threads
        if threads > x * y * z:
            raise LaunchError(f"{kernel.name} allows {x * y * z} threads, not {threads}")
    total = program.static_shared() + shared_bytes
    if shared_bytes < 0 or total > MAXIMAL_SHARED:
        raise LaunchError(f"{total} bytes of shared memory; a block has {MAXIMAL_SHARED}")


def owned(program: Program, shared_bytes: int) -> Array | None:
    """Which bytes of shared memory belong to a variable; None if all do."""
    ranges = list(program.owned_ranges)
    if len(ranges) + bool(shared_bytes) <= 1:
        return None
    mask = np.zeros(program.shared_static + shared_bytes, bool)
    for start, end in [*ranges, (program.shared_static, len(mask))]:
        mask[start:end] = True
    return mask


def run(program: Program, launch: Launch) -> None:
    room = launch.shared_size + 1
    together = max(1, min(LANES // launch.padded, CHUNK_SHARED // room, launch.blocks))
    code = program.codes[program.kernel.name]
    with np.errstate(all="ignore"):
        for first in range(0, launch.blocks, together):
            machine = Machine(launch, first, min(together, launch.blocks - first))
            Runner(program, machine, code).run(machine.entry())


def launch(
    kernel: tuple[Module, str] | Module,
    grid: Shape,
    block: Shape,
    args: Sequence[Any] = (),
    shared_bytes: int = 0,
    checks: Checks | bool = True,
) -> Counters:
    """Run a kernel on host arrays: NumPy arrays are copied in, and what changed is copied back.

    A module stands for its only kernel.
    """
    if isinstance(kernel, Module):
        names = list(kernel.kernels)
        if len(names) != 1:
            raise LaunchError(f"name a kernel: {', '.join(names)}")
        module, name = kernel, names[0]
    else:
        module, name = kernel
    need = sum(2 * each.nbytes + 8192 for each in args if isinstance(each, np.ndarray))
    device = Device(max(1 << 20, need + (1 << 16)))
    buffers: dict[int, tuple[Array, Buffer]] = {}
    values = []
    for each in args:
        if isinstance(each, np.ndarray) and each.ndim:
            if id(each) not in buffers:
                buffers[id(each)] = (each, device.upload(each))
            values.append(buffers[id(each)][1])
        else:
            values.append(each)
    counters = device.launch(module, name, grid, block, values, shared_bytes, checks)
    for array, buffer in buffers.values():
        if array.flags.writeable:
            array[...] = device.download(buffer)
    return counters
