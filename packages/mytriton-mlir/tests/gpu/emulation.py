"""Running images on the PTX emulator, with the arguments packed as for the driver."""

import numpy as np

from mytriton.plugin_api import PointerType
from mytriton.runtime.arguments import array_view, launch_value
from mytriton_mlir.gpu.launch import memref_arguments


def run(source, image, function, arguments, grid):
    """Run a kernel on host arrays, in place; the emulator's counters."""
    from mytriton_testkit.ptx import Device, load_module

    device, uploaded = Device(), {}
    values, types = [], [param.ty for param in function.params]
    for param in function.params:
        value = arguments[param.name]
        if isinstance(param.ty, PointerType):
            base = _owner(value)
            if id(base) not in uploaded:
                raw = np.frombuffer(base.tobytes(), np.uint8)
                uploaded[id(base)] = base, device.upload(raw, param.name)
            view = array_view(value)
            offset = view.pointer - base.__array_interface__["data"][0]
            view.pointer = uploaded[id(base)][1].address + offset
            value = view
        values.append(value)
    packed = memref_arguments(types, values)
    block = (source.resources["threads"], 1, 1)
    size = (*grid, 1, 1)[:3]
    counters = None
    if 0 not in size:
        counters = device.launch_packed(
            load_module(image), source.entry, size, block, packed.values
        )
    for base, buffer in uploaded.values():
        raw = device.download(buffer, np.uint8)
        base[...] = raw.view(base.dtype).reshape(base.shape)
    return counters


def both(text, arguments, grid=(1,)):
    """The arguments after a run of SSA text on the emulator, and after one on the interpreter.
    Arrays of bit patterns stand for the types NumPy lacks."""
    from mytriton.interpreter.backend import InterpretedKernel
    from mytriton.ir.parser import parse
    from mytriton.verify.verifier import verify
    from mytriton_mlir.gpu import backend, launch

    function = parse(text)
    verify(function)
    source = backend.mytriton_lower(function, None)
    there, here = (
        {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in arguments.items()}
        for _ in range(2)
    )
    run(source, launch.compile_source(source), function, there, grid)
    values = [_value(here[param.name], param.ty) for param in function.params]
    InterpretedKernel(function, False).launch((*grid, 1, 1)[:3], values)
    return there, here


def _value(argument, ty):
    value = launch_value(argument)
    if isinstance(ty, PointerType):
        value.dtype = ty.element
    return value


def _owner(array):
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
