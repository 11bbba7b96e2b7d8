"""What a running kernel tells its user: ``device_print`` and ``device_assert``.

The kernel calls back through Python's C API (``SAY``): it holds the address of a record that names
the place in the source, the program, and where the values are. A failed assertion is remembered here,
the kernel jumps to its end and gives the status ``FAILED``, and the launch raises what ``error_of``
gives. So it is with what Python raises while it prints: handlers of signals run there too, and
standard output may be a pipe that nobody reads any more.

Kernels that print run on one thread (``prints``): lines come in the order of the programs, and threads
that wait for one another's turn to print take longer than one.
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
from .structured import when

if TYPE_CHECKING:
    from .emitter import Emitter

#: Status of a launch in which an assertion failed.
FAILED = 2
#: Bytes of a launch's descriptor before the arguments of the kernel.
ARGUMENTS = 40
#: Bytes for the state that the kernel jumps back to.
JUMP_BYTES = 512

#: A handler of signals may launch a kernel that prints while another is printing.
_lock = threading.RLock()
#: By address of a launch's arguments, and program.
_failures: dict[tuple[int, int], DeviceAssertionError] = {}
#: What was raised first while a launch was heard, by address of its arguments. Kernels put it there.
raised: dict[int, BaseException] = {}
#: Words of a record before the addresses of the operands; the one with the address of the arguments.
_HEAD, _ARGUMENTS = 6, 5


def _string(name: str, text: str) -> str:
    """The line that defines a string constant."""
    data = text.encode() + b"\0"
    escaped = "".join(chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in data)
    return (
        f'  llvm.mlir.global internal constant @{name}("{escaped}") : '
        f"!llvm.array<{len(data)} x i8>\n"
    )


#: ``mytriton_say(record)``: call ``hear``, and give 1 if it raised. All but that call runs no code of
#: Python's, so there is nothing else that a handler of signals could interrupt.
SAY = (
    _string("mytriton_module", "mytriton_mlir.cpu.talk")
    + _string("mytriton_hear", "hear")
    + _string("mytriton_raised", "raised")
    + f"""
  llvm.func @_setjmp(!llvm.ptr) -> i32 attributes {{passthrough = ["returns_twice"]}}
  llvm.func @longjmp(!llvm.ptr, i32)
  llvm.func @PyGILState_Ensure() -> i32
  llvm.func @PyGILState_Release(i32)
  llvm.func @PyImport_ImportModule(!llvm.ptr) -> !llvm.ptr
  llvm.func @PyObject_GetAttrString(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.func @PyLong_FromVoidPtr(!llvm.ptr) -> !llvm.ptr
  llvm.func @PyTuple_New(i64) -> !llvm.ptr
  llvm.func @PyTuple_SetItem(!llvm.ptr, i64, !llvm.ptr) -> i32
  llvm.func @PyObject_CallObject(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.func @PyErr_Fetch(!llvm.ptr, !llvm.ptr, !llvm.ptr)
  llvm.func @PyErr_NormalizeException(!llvm.ptr, !llvm.ptr, !llvm.ptr)
  llvm.func @PyException_SetTraceback(!llvm.ptr, !llvm.ptr) -> i32
  llvm.func @PyDict_SetDefault(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.func @PyErr_Clear()
  llvm.func @Py_DecRef(!llvm.ptr)
  llvm.func internal @mytriton_say(%record: !llvm.ptr) -> i32 attributes {{passthrough = ["noinline"]}} {{
    %null = llvm.mlir.zero : !llvm.ptr
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    %good = llvm.mlir.constant(0 : i32) : i32
    %bad = llvm.mlir.constant(1 : i32) : i32
    %name = llvm.mlir.addressof @mytriton_module : !llvm.ptr
    %hear = llvm.mlir.addressof @mytriton_hear : !llvm.ptr
    %raised = llvm.mlir.addressof @mytriton_raised : !llvm.ptr
    %kind = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
    %what = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
    %where = llvm.alloca %one x !llvm.ptr : (i64) -> !llvm.ptr
    %state = llvm.call @PyGILState_Ensure() : () -> i32
    %module = llvm.call @PyImport_ImportModule(%name) : (!llvm.ptr) -> !llvm.ptr
    %absent = llvm.icmp "eq" %module, %null : !llvm.ptr
    llvm.cond_br %absent, ^lost, ^found
  ^lost:
    llvm.call @PyErr_Clear() : () -> ()
    llvm.br ^end(%bad : i32)
  ^found:
    %function = llvm.call @PyObject_GetAttrString(%module, %hear) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    %number = llvm.call @PyLong_FromVoidPtr(%record) : (!llvm.ptr) -> !llvm.ptr
    %packed = llvm.call @PyTuple_New(%one) : (i64) -> !llvm.ptr
    %set = llvm.call @PyTuple_SetItem(%packed, %zero, %number) : (!llvm.ptr, i64, !llvm.ptr) -> i32
    %result = llvm.call @PyObject_CallObject(%function, %packed) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    llvm.call @Py_DecRef(%result) : (!llvm.ptr) -> ()
    llvm.call @Py_DecRef(%packed) : (!llvm.ptr) -> ()
    llvm.call @Py_DecRef(%function) : (!llvm.ptr) -> ()
    %failed = llvm.icmp "eq" %result, %null : !llvm.ptr
    llvm.cond_br %failed, ^keep, ^done(%good : i32)
  ^keep:
    llvm.call @PyErr_Fetch(%kind, %what, %where) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.call @PyErr_NormalizeException(%kind, %what, %where) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    %type = llvm.load %kind : !llvm.ptr -> !llvm.ptr
    %value = llvm.load %what : !llvm.ptr -> !llvm.ptr
    %trace = llvm.load %where : !llvm.ptr -> !llvm.ptr
    %traced = llvm.icmp "ne" %trace, %null : !llvm.ptr
    llvm.cond_br %traced, ^trace, ^store
  ^trace:
    %put = llvm.call @PyException_SetTraceback(%value, %trace) : (!llvm.ptr, !llvm.ptr) -> i32
    llvm.br ^store
  ^store:
    %dict = llvm.call @PyObject_GetAttrString(%module, %raised) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    %args_at = llvm.getelementptr %record[{8 * _ARGUMENTS}] : (!llvm.ptr) -> !llvm.ptr, i8
    %args = llvm.load %args_at : !llvm.ptr -> !llvm.ptr
    %key = llvm.call @PyLong_FromVoidPtr(%args) : (!llvm.ptr) -> !llvm.ptr
    %kept = llvm.call @PyDict_SetDefault(%dict, %key, %value) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> !llvm.ptr
    llvm.call @Py_DecRef(%key) : (!llvm.ptr) -> ()
    llvm.call @Py_DecRef(%dict) : (!llvm.ptr) -> ()
    llvm.call @Py_DecRef(%type) : (!llvm.ptr) -> ()
    llvm.call @Py_DecRef(%value) : (!llvm.ptr) -> ()
    llvm.call @Py_DecRef(%trace) : (!llvm.ptr) -> ()
    llvm.br ^done(%bad : i32)
  ^done(%answer: i32):
    llvm.call @Py_DecRef(%module) : (!llvm.ptr) -> ()
    llvm.br ^end(%answer : i32)
  ^end(%status: i32):
    llvm.call @PyGILState_Release(%state) : (i32) -> ()
    llvm.return %status : i32
  }}
"""
)


# ---------------------------------------------------------------------- what the kernel says


def _text(e: Emitter, text: str) -> Val:
    """The address of a string constant."""
    name = e.texts.setdefault(text, f"text{len(e.texts)}")
    line = f"llvm.mlir.addressof @{name} : !llvm.ptr"
    return e.b.emit(line, "!llvm.ptr", 0, (), at=e.b.level)


def globals_of(e: Emitter) -> str:
    """The lines that define the string constants."""
    return "".join(_string(name, text) for text, name in e.texts.items())


def prints(function: mt.SSAFunction) -> bool:
    """Whether a kernel prints."""
    return any(
        isinstance(item, mt.SSAOp) and item.opcode == "device_print"
        for item in mt.walk(function.body)
    )


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
        _leave(e, _call(e, about, places))
        return
    failed = _failed(e, places, [mt.shape_of(o.ty) for o in present])

    def tell() -> None:
        _call(e, about, [Val(p.name, p.kind, 0, e.b.level) for p in places])
        _jump(e)

    when(e, failed, tell)


def _jump(e: Emitter) -> None:
    """Go to the end of the kernel."""
    one = e.b.constant(1, "i32")
    e.b.line(e.b.level, f"llvm.call @longjmp(%jump, {one.name}) : (!llvm.ptr, i32) -> ()")


def _leave(e: Emitter, raised: Val) -> None:
    """Go there if Python raised something."""
    b = e.b
    bad = b.compare("arith.cmpi", "ne", raised, b.constant(0, "i32"))
    when(e, bad, lambda: _jump(e))


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


def _call(e: Emitter, about: dict[str, Any], places: Sequence[Val]) -> Val:
    """Let Python hear of an operation; gives whether it raised."""
    b = e.b
    level = b.level
    record = e.scratch(8 * (_HEAD + len(places)), "record")

    def keep(k: int, val: Val) -> None:
        slot = e.element(record, b.constant(k, "i64"), "i64")
        b.line(level, f"llvm.store {val.name}, {slot.name} : {val.type}, !llvm.ptr")

    keep(0, _text(e, json.dumps(about)))
    keep(1, e.program)
    for axis, size in enumerate(e.grid):
        keep(2 + axis, size)
    keep(_ARGUMENTS, Val("%args", "!llvm.ptr", 0, b.root))
    for k, place in enumerate(places):
        keep(_HEAD + k, place)
    text = f"llvm.call @mytriton_say({record.name}) : (!llvm.ptr) -> i32"
    return b.emit(text, "i32", 0, (), at=level)


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
        _remember(about, where, arrays, (record[_ARGUMENTS], program))


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


def failure(arguments: int) -> BaseException:
    """What ended the launch whose arguments were at an address: what Python raised, or else the
    assertion that failed, in the first program of those that did."""
    with _lock:
        mine = sorted(key for key in _failures if key[0] == arguments)
        found = [_failures.pop(key) for key in mine]
        error = raised.pop(arguments, None)
    if error is not None:
        return error
    return found[0] if found else RuntimeError("the kernel could not call Python")


def error_of(status: int, arguments: int) -> BaseException:
    """What a positive status of a launch means."""
    if status & FAILED:
        return failure(arguments)
    return MemoryError("no memory for the blocks of the kernel")
