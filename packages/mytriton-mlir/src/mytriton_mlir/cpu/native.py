"""Launches without Python: what a launch checks and packs, done by a function of ours in machine code.

It reads NumPy arrays and a few of Python's own objects where CPython keeps their fields. That is no
documented fact, so it is tested when the launcher is first wanted: every offset against what the
documented attributes say, and then the function itself, on a kernel that only copies its arguments. If
anything is not as expected, or on an interpreter that is not CPython with a GIL, there is no launcher,
and launches go the way they always go. ``MYTRITON_NATIVE_LAUNCH=0`` switches it off.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from mytriton.plugin_api import ABSENT, DirectLaunch, DirectParameter

from ..llvm import once
from . import native_ir as ir
from . import talk
from .pool import Pool, load_ir

if TYPE_CHECKING:
    from ..llvm import Loaded
    from .artifact import CompiledKernel

VARIABLE = "MYTRITON_NATIVE_LAUNCH"
_KINDS = {
    "array": ir.ARRAY, "i32": ir.INT32, "i64": ir.INT64, "f32": ir.FLOAT, "bool": ir.BOOL,
    "constant": ir.CONSTANT,
}  # fmt: skip
#: The first version of Python that nobody has looked at.
_UNKNOWN = (3, 15)
#: ``METH_FASTCALL | METH_KEYWORDS``.
_FLAGS = 0x0080 | 0x0002
_I64 = 1 << 63
#: Of ``ndarray.flags.num``.
_CONTIGUOUS = 0x1


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Native:
    """The function, loaded, and how Python objects are made of it."""

    def __init__(self, loaded: Loaded, probe: int) -> None:
        self._loaded = loaded
        self.probe = probe
        self._api = (ctypes.c_int64 * ir.API_WORDS)(*_api())
        self._method = _MethodDef(b"launch", loaded.address, _FLAGS, None)
        self._new = ctypes.pythonapi.PyCFunction_NewEx
        self._new.restype = ctypes.py_object
        self._new.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)

    def function(
        self, plan: DirectLaunch, slots: dict[int, int], words: int, head: dict[int, int],
        pairs: Sequence[tuple[int, int]], failed: Callable[[int, int], Any], keep: Any,
    ) -> Callable[..., Any]:  # fmt: skip
        """``plan`` as a function. ``slots``: the word of the descriptor for each parameter that is
        an argument of the kernel, ``words`` how many words it has; ``head``: words of the table that
        the kernel knows; ``pairs``: parameters whose arrays must be apart; ``failed`` does what is
        left to do after a status that is not 0, given that and the address of the descriptor; ``keep``
        lives as long as the function."""
        slow, resolve, failed = map(_function, (plan.slow, plan.resolve, failed))
        held: list[Any] = [plan, slow, resolve, failed, keep, self, self._api]
        rows: list[int] = []
        for k, parameter in enumerate(plan.parameters):
            rows += _row(parameter, slots.get(k, 0), held)
        watched_at = ir.HEAD + len(rows)
        rows += [_address(x) for entry in plan.watched for x in entry]
        contexts_at = ir.HEAD + len(rows)
        rows += [_address(x) for entry in plan.contexts for x in entry]
        pairs_at = ir.HEAD + len(rows)
        rows += [k for pair in pairs for k in pair]
        positional = 0
        while positional < len(plan.parameters) and plan.parameters[positional].positional:
            positional += 1
        first = head | {
            ir.API: ctypes.addressof(self._api), ir.COUNT: len(plan.parameters),
            ir.POSITIONAL: positional, ir.WORDS: words, ir.WATCHED: len(plan.watched),
            ir.WATCHED_AT: watched_at, ir.CONTEXTS: len(plan.contexts),
            ir.CONTEXTS_AT: contexts_at, ir.PAIRS: len(pairs), ir.PAIRS_AT: pairs_at,
            ir.SLOW: id(slow), ir.FAILED: id(failed), ir.RESOLVE: id(resolve),
            ir.RESULT: id(plan.result), ir.GRID_AT: words - 3,
        }  # fmt: skip
        table = (ctypes.c_int64 * (ir.HEAD + len(rows)))(*(first[k] for k in range(ir.HEAD)), *rows)
        # What a function of C calls its module may be any object, and it keeps it alive.
        made: Callable[..., Any] = self._new(
            ctypes.addressof(self._method), bytes(table), tuple(held)
        )
        return made


def _function(value: Callable[..., Any]) -> Callable[..., Any]:
    """The same as a function of Python, which is what the code can call on every version."""
    if type(value) is FunctionType:
        return value

    def call(*args: Any, **kwargs: Any) -> Any:
        return value(*args, **kwargs)

    return call


def _address(value: Any) -> int:
    return 0 if value is ABSENT else id(value)


def _row(parameter: DirectParameter, slot: int, held: list[Any]) -> list[int]:
    """The words of a parameter."""
    name = sys.intern(parameter.name)
    held.append(name)
    row = [0] * ir.PARAMETER
    row[ir.KIND] = _KINDS[parameter.kind]
    row[ir.NAME] = id(name) if parameter.keyword else 0
    row[ir.DEFAULT] = _address(parameter.default)
    row[ir.SLOT] = slot
    if parameter.kind == "array":
        row[ir.EXPECTED], row[ir.ITEMSIZE] = id(parameter.dtype), parameter.dtype.itemsize
        row[ir.WANTED], row[ir.MASK] = parameter.flags, parameter.mask
    elif parameter.kind == "i32" and parameter.one is not None:
        row[ir.WANTED] = 1 if parameter.one else 2
    elif parameter.kind == "constant":
        row[ir.EXPECTED] = id(parameter.value)
        if type(parameter.value) is int and -_I64 <= parameter.value < _I64:
            row[ir.WANTED], row[ir.MASK] = parameter.value, 1
    return row


def _api() -> list[int]:
    python = ctypes.pythonapi
    # Python 3.10 has the function only for its own functions, which is all that is called here.
    call = getattr(python, "PyObject_Vectorcall", None) or python._PyFunction_Vectorcall
    words: dict[int, Any] = {
        ir.LONG_TYPE: int, ir.BOOL_TYPE: bool, ir.FLOAT_TYPE: float, ir.TUPLE_TYPE: tuple,
        ir.ARRAY_TYPE: np.ndarray, ir.TRUE: True,
    }  # fmt: skip
    found = {k: id(v) for k, v in words.items()}
    functions = {
        ir.AS_LONG: python.PyLong_AsLongLongAndOverflow, ir.TO_LONG: python.PyLong_FromLongLong,
        ir.AS_DOUBLE: python.PyFloat_AsDouble,
        ir.GET_ITEM: python.PyDict_GetItem, ir.CONTEXT_GET: python.PyContextVar_Get,
        ir.INC_REF: python.Py_IncRef, ir.DEC_REF: python.Py_DecRef,
        ir.SAVE: python.PyEval_SaveThread, ir.RESTORE: python.PyEval_RestoreThread, ir.CALL: call,
    }  # fmt: skip
    for k, function in functions.items():
        found[k] = ctypes.cast(function, ctypes.c_void_p).value or 0
    return [found[k] for k in range(ir.API_WORDS)]


@once
def native() -> Native | None:
    """The launcher of this process, or ``None`` where there is none."""
    try:
        if not _possible() or not _offsets_hold():
            return None
        found = _load()
        from .native_test import works

        return found if works(found) else None
    except Exception:
        # Whatever it is: launches work without.
        return None


def _possible() -> bool:
    """Whether this is an interpreter whose objects are as described."""
    return (
        os.environ.get(VARIABLE, "1") not in ("0", "")
        and sys.implementation.name == "cpython"
        and sys.version_info < _UNKNOWN
        and sys.byteorder == "little"
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and not sysconfig.get_config_var("Py_GIL_DISABLED")
        and not hasattr(sys, "getobjects")  # a build that traces references
    )


def _offsets_hold() -> bool:
    """Whether objects keep their fields where the code looks for them."""

    def word(value: Any, offset: int, kind: Any = ctypes.c_int64) -> int:
        return int(kind.from_address(id(value) + offset).value)

    some = (3, "x", b"abc")
    if any(word(some, ir.TUPLE_ITEMS + 8 * k) != id(v) for k, v in enumerate(some)):
        return False
    if word(some, ir.SIZE) != 3 or word(b"abcdefgh", ir.BYTES_DATA) != 0x6867666564636261:
        return False
    for value in (*some, some, 1.5, True, None):
        if word(value, ir.TYPE) != id(type(value)):
            return False
    if np.ndarray.__basicsize__ < ir.ARRAY_FLAGS + 8:
        return False
    base = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    readonly = base.copy()
    readonly.flags.writeable = False
    for array in (
        base, base[1:], base.T, base[:, ::-1], np.empty(0, np.int64), np.array(1.0), readonly,
        np.zeros(3, "?"), np.zeros((2, 0, 5), np.int8), np.zeros(9, np.uint8)[1:5].view("<i4"),
    ):  # fmt: skip
        shape = word(array, ir.SHAPE)
        extents = [ctypes.c_int64.from_address(shape + 8 * k).value for k in range(array.ndim)]
        if (
            word(array, ir.TYPE) != id(np.ndarray)
            or word(array, ir.DATA) != array.__array_interface__["data"][0]
            or word(array, ir.NDIM, ctypes.c_int32) != array.ndim
            or word(array, ir.DESCR) != id(array.dtype)
            or word(array, ir.ARRAY_FLAGS, ctypes.c_int32) & 0x7FF != array.flags.num & 0x7FF
            or extents != list(array.shape)
        ):
            return False
    return True


def _load() -> Native:
    from ..llvm import llvm

    entry = "mytriton_launch"
    loaded = load_ir(ir.source(entry), entry, passes="function(sroa,early-cse,simplifycfg)")
    return Native(loaded, llvm().address(f"{entry}_probe"))


def direct(kernel: CompiledKernel, plan: DirectLaunch) -> Callable[..., Any] | None:
    """``plan`` for a compiled kernel, or ``None`` when its launches need Python."""
    found = native()
    if found is None:
        return None
    arguments = [k for k, p in enumerate(plan.parameters) if p.kind != "constant"]
    if len(arguments) != len(kernel.parameters):
        return None
    by_name = {plan.parameters[k].name: k for k in arguments}
    order = [by_name[p.name] for p in kernel.parameters]
    words = talk.ARGUMENTS // 8
    slots = {k: words + place for place, k in enumerate(order)}
    if any(not plan.parameters[order[k]].flags & _CONTIGUOUS for k in kernel.accessed):
        return None
    workers = kernel.workers
    assert isinstance(workers, Pool), "the launcher and the pool both need libLLVM"
    head = {
        ir.FUNCTION: kernel.first.function, ir.COST: kernel.first.cost_address,
        ir.STATE: workers.state_cell, ir.RUN: workers.run_address,
        ir.MOST: kernel.streaming_from if kernel.streamed else (1 << 62),
    }  # fmt: skip
    pairs = [(order[a], order[b]) for a, b in kernel.pairs]
    return found.function(plan, slots, words + len(order) + 3, head, pairs, workers.go_on, kernel)
