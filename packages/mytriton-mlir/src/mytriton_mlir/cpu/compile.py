"""MLIR text to object code: the bindings' passes, then LLVM's code generator."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..versions import check
from .llvm import LLVM, LLVMError, c_ptr, llvm

#: Everything is scalars, one-dimensional vectors and plain pointers: no other pass is needed.
PIPELINE = "builtin.module(convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts)"
#: The same, keeping which line of the text each instruction came from.
_WITH_LINES = (
    f"{PIPELINE[:-1]},ensure-debug-info-scope-on-llvm-func{{emission-kind=LineTablesOnly}})"
)

_lock = threading.Lock()


@cache
def _bindings() -> tuple[Any, Any, Any]:
    """MLIR's context, pass manager and translation function."""
    llvm()  # first, so that the bindings link to the same library
    ir = import_module("mlir.ir")
    manager_type = import_module("mlir.passmanager").PassManager
    extension = import_module("mlir._mlir_libs._mlir")
    check()

    context = ir.Context()
    # Two cores: handing work to threads costs more than the passes.
    context.enable_multithreading(False)
    with context:
        manager = manager_type.parse(PIPELINE)
        manager.enable_verifier(_checking())
    library = Path(str(extension.__file__)).parent
    found = next(iter(sorted(library.glob("libMLIRPythonCAPI*"))), None)
    if found is None:
        raise LLVMError("MLIR's C library was not found beside the bindings")
    translate = ctypes.CDLL(str(found)).mlirTranslateModuleToLLVMIR
    translate.restype, translate.argtypes = c_ptr, (c_ptr, c_ptr)
    return context, manager, translate


def _checking() -> bool:
    return os.environ.get("MYTRITON_DEBUG", "0") not in ("", "0")


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = c_ptr, (ctypes.py_object, ctypes.c_char_p)
_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)


def to_object(
    text: str, features: str = "", passes: str = "", triple: str = "", cpu: str = ""
) -> bytes:
    """Object code of an MLIR module. Raises ``RuntimeError`` naming the stage that failed."""
    with _lock, _translated(text, _bindings()[1]) as module:
        library = llvm()
        machine = library.machine(features, triple, cpu)
        try:
            return library.object_code(module, machine, passes, triple)
        except LLVMError as error:
            raise RuntimeError(f"MLIR stage 'code-generation' failed: {error}") from error


def to_texts(text: str, features: str = "") -> tuple[str, str]:
    """LLVM IR and assembly of an MLIR module, both with the lines of ``text`` they came from, as
    debug information. Raises like ``to_object``."""
    with _lock:
        context = _bindings()[0]
        with context:
            manager = import_module("mlir.passmanager").PassManager.parse(_WITH_LINES)
        with _translated(text, manager) as module:
            library = llvm()
            made = library.text_of(module)
            machine = library.machine(features)
            try:
                return made, library.object_code(module, machine, assembly=True).decode()
            except LLVMError as error:
                raise RuntimeError(f"MLIR stage 'code-generation' failed: {error}") from error


@contextmanager
def _translated(text: str, manager: Any) -> Iterator[int]:
    """The LLVM module of an MLIR module."""
    context, _, translate = _bindings()
    library: LLVM = llvm()
    ir = import_module("mlir.ir")
    with context:
        try:
            module = ir.Module.parse(text)
        except Exception as error:
            raise RuntimeError(f"MLIR stage 'parse' failed: {error}") from error
        try:
            manager.run(module.operation)
        except Exception as error:
            raise RuntimeError(f"MLIR stage 'convert-to-llvm' failed: {error}") from error
    capsule = module.operation._CAPIPtr
    operation = _pointer(capsule, _capsule_name(capsule))
    own = library.call("LLVMContextCreate")
    try:
        translated = translate(operation, own)
        if not translated:
            raise RuntimeError("MLIR stage 'translate-to-llvm-ir' failed")
        try:
            yield translated
        finally:
            library.call("LLVMDisposeModule", translated)
    finally:
        library.call("LLVMContextDispose", own)


def ir_to_object(text: str, passes: str = "") -> bytes:
    """Object code of LLVM IR, without MLIR."""
    library = llvm()
    context = library.call("LLVMContextCreate")
    try:
        module = library.parse(text, context)
        try:
            return library.object_code(module, library.machine(), passes)
        finally:
            library.call("LLVMDisposeModule", module)
    finally:
        library.call("LLVMContextDispose", context)
