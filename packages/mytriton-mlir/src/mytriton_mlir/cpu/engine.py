"""Without ``libLLVM``: MLIR's own ``ExecutionEngine`` makes native code.

Bindings of which LLVM is a part (those of the LLVM project's own wheels, builds of one's own) have no
``libLLVM`` beside them that could be called. Their engine gives the same code, but nothing that could be
kept on disk, and cannot take the code of the worker threads: launches run in the calling thread.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
import time
import weakref
from importlib import import_module
from typing import Any

from ..locks import BUILD
from . import talk
from .compile import lowered

#: What users are told who have no ``libLLVM``.
NOTE = "libLLVM was not found: launches use one thread, and compiled code is not kept on disk"

#: Where a descriptor has how many programs there are, and the first that is to be run.
_TOTAL, _PROGRAMS = 24, struct.Struct("=qq")
#: How long a piece of a launch should take, and how many times the one before it may have.
PIECE_SECONDS, GROWTH = 0.005, 64

_engines: weakref.WeakValueDictionary[str, EngineCode] = weakref.WeakValueDictionary()


class EngineCode:
    """A function of an engine, which lives as long. Like ``llvm.Loaded``."""

    #: Nobody has seen the object code.
    code_bytes: int | None = None

    def __init__(self, engine: Any, address: int) -> None:
        self._engine = engine
        self.address = address


def importable() -> str:
    """Why there is no engine, or ``""``."""
    try:
        import_module("mlir.ir")
        import_module("mlir.execution_engine")
    except ImportError as error:
        return f"importing mlir.execution_engine failed: {error}"
    return ""


def build(text: str, entry: str) -> EngineCode:
    """The function ``entry`` of an MLIR module. Raises ``RuntimeError`` naming the stage that failed."""
    key = hashlib.sha256(text.encode()).hexdigest()
    with BUILD:
        found = _engines.get(key)
        if found is None:
            found = _engines[key] = _compile(text, entry)
        return found


def _compile(text: str, entry: str) -> EngineCode:
    # Engines wrap every function to take an array of pointers. This one, called so, tells where the
    # function itself is.
    where = f"{entry}_address"
    with lowered(_with_address(text, entry, where)) as module:
        engine_type = import_module("mlir.execution_engine").ExecutionEngine
        try:
            engine = engine_type(module, opt_level=0)
        except Exception as error:
            raise RuntimeError(f"MLIR stage 'execution-engine' failed: {error}") from error
    pointer = engine.raw_lookup(where)
    if not pointer:
        raise RuntimeError(f"MLIR stage 'execution-engine' failed: no function {where!r}")
    address = ctypes.c_void_p()
    home = ctypes.c_void_p(ctypes.addressof(address))
    packed = (ctypes.c_void_p * 1)(ctypes.addressof(home))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(pointer)(ctypes.addressof(packed))
    return EngineCode(engine, address.value or 0)


def _with_address(text: str, entry: str, where: str) -> str:
    """The module with a function more, which stores the address of ``entry``."""
    kind = "(!llvm.ptr, i64, i64) -> i32"
    body = (
        f"  func.func @{where}(%home: !llvm.ptr) {{\n"
        f"    %function = func.constant @{entry} : {kind}\n"
        f"    %address = builtin.unrealized_conversion_cast %function : {kind} to !llvm.ptr\n"
        "    llvm.store %address, %home : !llvm.ptr, !llvm.ptr\n"
        "    return\n"
        "  }\n"
    )
    start, brace, end = text.rpartition("}")
    return f"{start}{body}{brace}{end}"


#: Calls a kernel for some programs of a launch, given its descriptor (see ``pool.py``).
_SOME = f"""
module {{
  func.func @mytriton_alone(%descriptor: !llvm.ptr, %first: i64, %last: i64) -> i32 {{
    %kernel = llvm.load %descriptor : !llvm.ptr -> !llvm.ptr
    %arguments = llvm.getelementptr %descriptor[{talk.ARGUMENTS}] : (!llvm.ptr) -> !llvm.ptr, i8
    %status = llvm.call %kernel(%arguments, %first, %last) : !llvm.ptr, (!llvm.ptr, i64, i64) -> i32
    return %status : i32
  }}
}}
"""


class Alone:
    """In the place of ``pool.Pool``: launches run in the calling thread, without the GIL."""

    threads = 1
    started = 0
    state = 0

    def __init__(self) -> None:
        self._code = build(_SOME, "mytriton_alone")
        kinds = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)
        self._some = ctypes.CFUNCTYPE(*kinds)(self._code.address)

    def run(self, descriptor: bytes) -> int:
        """Run a launch; gives its status. Handlers of signals run in between, so the first piece is
        one program, and the others are as long as the one before allows."""
        total, first = _PROGRAMS.unpack_from(descriptor, _TOTAL)
        count = 1
        while first < total:
            last = min(first + count, total)
            begin = time.perf_counter()
            if status := self._some(descriptor, first, last):
                return int(status)
            spent = time.perf_counter() - begin
            count = max(1, int((last - first) * min(PIECE_SECONDS / max(spent, 1e-9), GROWTH)))
            first = last
        return 0

    def finish(self, status: int, descriptor: bytes) -> None:
        """Raise what a status that is not 0 means."""
        address = ctypes.cast(ctypes.c_char_p(descriptor), ctypes.c_void_p).value or 0
        raise talk.error_of(status, address + talk.ARGUMENTS)

    def resize(self, threads: int) -> None:
        """There is one thread."""

    def stop(self) -> None:
        """Nothing to stop."""

    def reset(self) -> None:
        """Nothing to forget."""
