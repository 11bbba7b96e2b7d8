"""MLIR text to object code: the bindings' passes, then LLVM's code generator."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from ..llvm import LLVMError, c_ptr, llvm, missing
from ..locks import GENERATE
from ..versions import check

#: Everything is scalars, one-dimensional vectors and plain pointers: no other pass is needed.
PIPELINE = "builtin.module(convert-scf-to-cf,convert-to-llvm,reconcile-unrealized-casts)"
#: The same, keeping which line of the text each instruction came from.
_WITH_LINES = (
    f"{PIPELINE[:-1]},ensure-debug-info-scope-on-llvm-func{{emission-kind=LineTablesOnly}})"
)


@cache
def _passes() -> tuple[Any, Any]:
    """MLIR's context and pass manager."""
    missing()  # loads LLVM first, so that the bindings link to the same library
    ir = import_module("mlir.ir")
    manager_type = import_module("mlir.passmanager").PassManager
    check()

    context = ir.Context()
    # Two cores: handing work to threads costs more than the passes.
    context.enable_multithreading(False)
    with context:
        manager = manager_type.parse(PIPELINE)
        manager.enable_verifier(_checking())
    return context, manager


@cache
def _translation() -> Any:
    """MLIR's translation function."""
    extension = import_module("mlir._mlir_libs._mlir")
    library = Path(str(extension.__file__)).parent
    found = next(iter(sorted(library.glob("libMLIRPythonCAPI*"))), None)
    if found is None:
        raise LLVMError("MLIR's C library was not found beside the bindings")
    translate = ctypes.CDLL(str(found)).mlirTranslateModuleToLLVMIR
    translate.restype, translate.argtypes = c_ptr, (c_ptr, c_ptr)
    return translate


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
    library = llvm()
    with _translated(text) as module:
        machine = library.machine(features, triple, cpu)
        try:
            return library.object_code(module, machine, passes, triple)
        except LLVMError as error:
            raise RuntimeError(f"MLIR stage 'code-generation' failed: {error}") from error


def to_texts(text: str, features: str = "") -> tuple[str, str]:
    """LLVM IR and assembly of an MLIR module, both with the lines of ``text`` they came from, as
    debug information. Raises like ``to_object``."""
    library = llvm()
    with _translated(text, lines=True) as module:
        made = library.text_of(module)
        machine = library.machine(features)
        try:
            return made, library.object_code(module, machine, assembly=True).decode()
        except LLVMError as error:
            raise RuntimeError(f"MLIR stage 'code-generation' failed: {error}") from error


@contextmanager
def lowered(text: str, lines: bool = False) -> Iterator[Any]:
    """A module in MLIR's LLVM dialect, in its context, which nobody else uses meanwhile; with
    ``lines`` it says which line of the text each instruction came from. Raises ``RuntimeError``
    naming the stage that failed."""
    with GENERATE:
        context, manager = _passes()
        with context:
            if lines:
                manager = import_module("mlir.passmanager").PassManager.parse(_WITH_LINES)
            try:
                module = import_module("mlir.ir").Module.parse(text)
            except Exception as error:
                raise RuntimeError(f"MLIR stage 'parse' failed: {error}") from error
            try:
                manager.run(module.operation)
            except Exception as error:
                raise RuntimeError(f"MLIR stage 'convert-to-llvm' failed: {error}") from error
            yield module


@contextmanager
def _translated(text: str, lines: bool = False) -> Iterator[int]:
    """The LLVM module of an MLIR module."""
    library = llvm()
    with lowered(text, lines) as module:
        capsule = module.operation._CAPIPtr
        operation = _pointer(capsule, _capsule_name(capsule))
        own = library.call("LLVMContextCreate")
        try:
            translated = _translation()(operation, own)
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
    # The target machine is that of every kernel, and for one thread at a time.
    with GENERATE:
        context = library.call("LLVMContextCreate")
        try:
            module = library.parse(text, context)
            try:
                return library.object_code(module, library.machine(), passes)
            finally:
                library.call("LLVMDisposeModule", module)
        finally:
            library.call("LLVMContextDispose", context)
