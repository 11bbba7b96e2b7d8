"""What a running kernel tells its user: ``device_print`` and ``device_assert``.

The kernel calls back through Python's C API (``say`` writes the call): it holds the address of a
record that names the place in the source, the program, and where the values are. A failed assertion
is remembered here, the kernel jumps to its end and gives the status ``FAILED``, and the launch raises
what ``failure`` gives.
"""

from __future__ import annotations

import ctypes
import json
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

import mytriton.plugin_api as mt
from mytriton.errors import DeviceAssertionError, Span

from . import values
from .builder import Val
from .evaluate import Buffer
from .scratch import count

if TYPE_CHECKING:
    from .emitter import Emitter

#: Status of a launch in which an assertion failed.
FAILED = 2
#: Bytes of a launch's descriptor before the arguments of the kernel.
ARGUMENTS = 40
#: Bytes for the state that the kernel jumps back to.
JUMP_BYTES = 512

_MODULE, _FUNCTION = "mytriton_mlir.cpu.talk", "hear"
_lock = threading.Lock()
#: By address of a launch's arguments, and program.
_failures: dict[tuple[int, int], DeviceAssertionError] = {}
#: Words of a record before the addresses of the operands.
_HEAD = 6

EXTERNALS = (
    '  llvm.func @_setjmp(!llvm.ptr) -> i32 attributes {passthrough = ["returns_twice"]}\n'
    "  llvm.func @longjmp(!llvm.ptr, i32)\n"
    "  llvm.func @PyGILState_Ensure() -> i32\n"
    "  llvm.func @PyGILState_Release(i32)\n"
    "  llvm.func @PyImport_ImportModule(!llvm.ptr) -> !llvm.ptr\n"
    "  llvm.func @PyObject_GetAttrString(!llvm.ptr, !llvm.ptr) -> !llvm.ptr\n"
    "  llvm.func @PyLong_FromVoidPtr(!llvm.ptr) -> !llvm.ptr\n"
    # Python 3.10 has no function that takes one argument as it is.
    "  llvm.func @PyTuple_New(i64) -> !llvm.ptr\n"
    "  llvm.func @PyTuple_SetItem(!llvm.ptr, i64, !llvm.ptr) -> i32\n"
    "  llvm.func @PyObject_CallObject(!llvm.ptr, !llvm.ptr) -> !llvm.ptr\n"
    "  llvm.func @PyErr_Clear()\n"
)


# ---------------------------------------------------------------------- what the kernel says


def _text(e: Emitter, text: str) -> Val:
    """The address of a string constant."""
    name = e.texts.setdefault(text, f"text{len(e.texts)}")
    line = f"llvm.mlir.addressof @{name} : !llvm.ptr"
    return e.b.emit(line, "!llvm.ptr", 0, (), at=e.b.level)


def globals_of(e: Emitter) -> str:
    """The lines that define the string constants."""
    found = []
    for text, name in e.texts.items():
        data = text.encode() + b"\0"
        escaped = "".join(
            chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data
        )
        found.append(
            f'  llvm.mlir.global internal constant @{name}("{escaped}") '
            f": !llvm.array<{len(data)} x i8>\n"
        )
    return "".join(found)


def speak(e: Emitter, op: mt.SSAOp) -> None:
    """Write a ``device_print`` or ``device_assert``."""
    places = [_place(e, op, k) for k, operand in enumerate(op.operands) if operand is not None]
    present = [operand for operand in op.operands if operand is not None]
    about: dict[str, Any] = {
        "op": op.opcode,
        "shapes": [mt.shape_of(o.ty) for o in present],
        "types": [str(mt.scalar_of(o.ty)) for o in present],
        "held": [values.held(mt.scalar_of(o.ty)) for o in present],
        **{name: op.attrs.get(name) for name in ("prefix", "hex", "message") if name in op.attrs},
        "span": asdict(op.span) if op.span else None,
    }
    if op.opcode == "device_print":
        _call(e, about, places)
        return
    failed = _failed(e, places, [mt.shape_of(o.ty) for o in present])
    b = e.b
    outer = b.level
    b.line(outer, f"scf.if {failed.name} {{")
    level = b.push()
    _call(e, about, [(Val(p.name, p.kind, 0, level)) for p in places])
    one = b.constant(1, "i32")
    b.line(level, f"llvm.call @longjmp(%jump, {one.name}) : (!llvm.ptr, i32) -> ()")
    b.pop()
    outer.lines.extend(level.lines)
    b.line(outer, "}")


def _place(e: Emitter, op: mt.SSAOp, k: int) -> Val:
    """Where an operand is: blocks have been put into buffers."""
    operand = op.operands[k]
    assert operand is not None
    if mt.shape_of(operand.ty):
        return e.slots[id(op), f"said {k}"].pointer
    element = mt.scalar_of(operand.ty)
    buffer = Buffer(e.scratch(8, f"said {k}"), element, (1,))
    e.put(buffer, e.value(operand), (None,), 0)
    return buffer.pointer


def _failed(e: Emitter, places: Sequence[Val], shapes: Sequence[tuple[int, ...]]) -> Val:
    """Whether the condition is false in a lane that the mask selects."""
    b = e.b
    shape = mt.broadcast_shapes(*shapes)
    total = b.constant(False, "i1")
    outer, level = b.level, b.push()
    iv = Val(b.name("i"), "i64", 0, level)
    before = Val(b.name("a"), "i1", 0, level)
    flags = []
    for place, own in zip(places, shapes):
        at = iv if count(own) == count(shape) else _lane(e, iv, shape, own)
        byte = e.load_at(e.element(place, at, "i8"), "i8", 0, level)
        flags.append(values.decode(b, byte, mt.BOOL))
    bad = b.binary("arith.xori", flags[0], b.constant(True, "i1"))
    for flag in flags[1:]:
        bad = b.binary("arith.andi", bad, flag)
    end = b.binary("arith.ori", before, bad)
    b.pop()
    bounds = (b.constant(0, "i64"), b.constant(count(shape), "i64"), b.constant(1, "i64"))
    return b.loop(outer, iv.name, bounds, [(before.name, total)], level, [end])[0]


def _lane(e: Emitter, iv: Val, shape: Sequence[int], own: Sequence[int]) -> Val:
    """The element of a smaller block that a lane of the whole meets."""
    b, terms, size, step = e.b, [], 1, 1
    missing = len(shape) - len(own)
    for axis in reversed(range(len(shape))):
        extent = own[axis - missing] if axis >= missing else 1
        if extent > 1:
            at = b.binary("arith.divui", iv, b.constant(size, "i64"))
            at = b.binary("arith.remui", at, b.constant(shape[axis], "i64"))
            terms.append(e.times(at, b.constant(step, "i64")))
            step *= extent
        size *= shape[axis]
    return e.total(terms)


def _call(e: Emitter, about: dict[str, Any], places: Sequence[Val]) -> None:
    b = e.b
    level = b.level
    record = e.scratch(8 * (_HEAD + len(places)), "record")

    def emit(text: str, kind: str) -> Val:
        return b.emit(text, kind, 0, (), at=level)

    def keep(k: int, val: Val) -> None:
        slot = e.element(record, b.constant(k, "i64"), "i64")
        b.line(level, f"llvm.store {val.name}, {slot.name} : {val.type}, !llvm.ptr")

    keep(0, _text(e, json.dumps(about)))
    keep(1, e.program)
    for axis, size in enumerate(e.grid):
        keep(2 + axis, size)
    keep(5, Val("%args", "!llvm.ptr", 0, b.root))
    for k, place in enumerate(places):
        keep(_HEAD + k, place)
    state = emit("llvm.call @PyGILState_Ensure() : () -> i32", "i32")
    ptr = "!llvm.ptr"
    names = [_text(e, text).name for text in (_MODULE, _FUNCTION)]
    module = emit(f"llvm.call @PyImport_ImportModule({names[0]}) : ({ptr}) -> {ptr}", ptr)
    signature = f"({ptr}, {ptr}) -> {ptr}"
    text = f"llvm.call @PyObject_GetAttrString({module.name}, {names[1]}) : {signature}"
    function = emit(text, ptr)
    number = emit(f"llvm.call @PyLong_FromVoidPtr({record.name}) : ({ptr}) -> {ptr}", ptr)
    one, zero = b.constant(1, "i64").name, b.constant(0, "i64").name
    packed = emit(f"llvm.call @PyTuple_New({one}) : (i64) -> {ptr}", ptr)
    text = f"{packed.name}, {zero}, {number.name}) : ({ptr}, i64, {ptr}) -> i32"
    emit(f"llvm.call @PyTuple_SetItem({text}", "i32")
    emit(f"llvm.call @PyObject_CallObject({function.name}, {packed.name}) : {signature}", ptr)
    b.line(level, "llvm.call @PyErr_Clear() : () -> ()")
    b.line(level, f"llvm.call @PyGILState_Release({state.name}) : (i32) -> ()")


# ---------------------------------------------------------------------- what is heard

_DTYPES = {"i1": "u1", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}


def hear(address: int) -> None:
    """Called by a kernel with the address of its record."""
    record = ctypes.cast(address, ctypes.POINTER(ctypes.c_uint64))
    about = json.loads(ctypes.string_at(record[0]).decode())
    program, *grid = record[1], record[2], record[3], record[4]
    where = (program % grid[0], program // grid[0] % grid[1], program // (grid[0] * grid[1]))
    arrays = []
    for k, (shape, name, held) in enumerate(zip(about["shapes"], about["types"], about["held"])):
        dtype = np.dtype(_DTYPES[held])
        data = ctypes.string_at(record[_HEAD + k], count(shape) * dtype.itemsize)
        array = np.frombuffer(data, dtype).reshape(shape)
        wanted = mt.held_dtype(mt.ScalarType(name))
        arrays.append(array.view(wanted) if wanted.itemsize == dtype.itemsize else array)
    if about["op"] == "device_print":
        _print(about, where, arrays)
    else:
        _remember(about, where, arrays, (record[5], program))


def _print(about: dict[str, Any], where: tuple[int, ...], arrays: Sequence[Any]) -> None:
    start, spell = f"pid {where}", hex if about.get("hex") else str
    lines = [] if arrays else [f"{start} idx (){about['prefix']}"]
    for number, array in enumerate(arrays):
        name = f" (operand {number})" if len(arrays) > 1 else ""
        for lane in np.ndindex(array.shape):
            place = f"{start} idx ({', '.join(map(str, lane))})"
            lines.append(f"{place}{about['prefix']}{name} {spell(array[lane].item())}")
    with _lock:
        print("\n".join(lines))


def _remember(
    about: dict[str, Any], where: tuple[int, ...], arrays: Sequence[Any], key: tuple[int, int]
) -> None:
    failed = ~arrays[0].astype(np.bool_)
    if len(arrays) > 1:
        failed = failed & arrays[1].astype(np.bool_)
    lane = tuple(int(k) for k in np.argwhere(failed)[0])
    index = f" at index {lane}" if lane else ""
    message = about.get("message")
    span = _span(about["span"])
    error = DeviceAssertionError(
        f"device_assert failed in program {where}{index}" + (f": {message}" if message else ""),
        span,
    )
    with _lock:
        _failures[key] = error


def _span(fields: dict[str, Any] | None) -> Span | None:
    if fields is None:
        return None
    return Span(**{**fields, "caller": _span(fields["caller"])})


def failure(arguments: int) -> DeviceAssertionError:
    """The assertion that failed, in the first program of those that did, in the launch whose
    arguments were at an address."""
    with _lock:
        mine = sorted(key for key in _failures if key[0] == arguments)
        found = [_failures.pop(key) for key in mine]
    return found[0]


def error_of(status: int, arguments: int) -> Exception:
    """What a positive status of a launch means."""
    if status & FAILED:
        return failure(arguments)
    return MemoryError("no memory for the blocks of the kernel")
