"""MLIR itself: importing the bindings, running stages, saying what went wrong where.

Everything is imported when it is first needed. The bindings are ``mlir.ir`` and
``mlir.passmanager``, from whichever distribution or build brings them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module, metadata, util
from typing import Any

from mytriton.plugin_api import MytritonError, Span

from ..versions import DISTRIBUTIONS, check
from .pins import pin
from .stages import Stage

INSTALL = 'pip install "mytriton-mlir[bindings]"'
_LOCATION = re.compile(r'loc\("[^"]*":(\d+):\d+\)|"[^"]*":(\d+):\d+')


class StageError(MytritonError, RuntimeError):
    """A stage failed. ``stage`` is its name, ``diagnostic`` what MLIR said, ``line`` the number of
    the generated line it is about (0: not known), ``span`` where that comes from."""

    def __init__(
        self, stage: str, diagnostic: str, line: int = 0, text: str = "", span: Span | None = None
    ) -> None:
        self.stage, self.diagnostic, self.line, self.span = stage, diagnostic, line, span
        parts = [f"MLIR stage {stage!r} failed: {diagnostic}"]
        if line:
            lines = text.splitlines()
            shown = lines[line - 1].strip() if line <= len(lines) else ""
            parts.append(f"  line {line} of the generated MLIR: {shown}")
        if span is not None:
            parts.append(f"  from {span}\n{span.render()}".rstrip())
        super().__init__("\n".join(parts))


def missing() -> str:
    """Why the bindings cannot be imported, or ``""``. Looks without importing."""
    try:
        found = util.find_spec("mlir") is not None and util.find_spec("mlir.ir") is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        return "the Python bindings of MLIR (mlir.ir) are not installed"
    for name, other in DISTRIBUTIONS.items():
        if other and _installed(name) and not _installed(other):
            return f"{name} needs {other}, which is not installed"
    return ""


def _installed(distribution: str) -> bool:
    try:
        metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return False
    return True


@cache
def bindings() -> tuple[Any, Any]:
    """``mlir.ir`` and ``mlir.passmanager``. Raises ``ImportError`` that says what to install."""
    if reason := missing():
        raise ImportError(f"{reason}. Install them: {INSTALL}")
    try:
        found = import_module("mlir.ir"), import_module("mlir.passmanager")
    except ImportError as error:
        raise ImportError(f"importing mlir.ir failed: {error}. Install it: {INSTALL}") from error
    check()
    return found


def compile_image(
    text: str,
    stages: Sequence[Stage],
    *,
    threads: int = 0,
    spans: Mapping[int, Span] | None = None,
) -> bytes:
    """Run ``stages`` on the text of a module; the image of its one GPU module.

    ``threads``: how many threads a block will have, which the image then says (a block of 1,024 may
    use fewer registers than one of 32). Raises ``StageError``.
    """
    ir, passmanager = bindings()
    with ir.Context() as context:
        context.enable_multithreading(False)
        module = _stage("parse", text, spans, lambda: ir.Module.parse(text))
        _prepare(ir, module, threads)
        for name, pipeline in stages:
            _stage(name, text, spans, lambda p=pipeline: _run(passmanager, p, module))
            if name == "convert-gpu-to-nvvm":
                _plain_addresses(ir, module)
        return _image(ir, module)


def _run(passmanager: Any, pipeline: str, module: Any) -> None:
    passmanager.PassManager.parse(pipeline).run(module.operation)


def _stage(name: str, text: str, spans: Mapping[int, Span] | None, work: Any) -> Any:
    try:
        return work()
    except Exception as error:
        message, line = _explained(error)
        raise StageError(name, message, line, text, (spans or {}).get(line)) from error


def _explained(error: Exception) -> tuple[str, int]:
    """What MLIR said, and the line it said it about."""
    diagnostics = getattr(error, "error_diagnostics", None) or []
    for diagnostic in diagnostics:
        where = _LOCATION.search(str(diagnostic.location))
        notes = "".join(f"\n  note: {note.message}" for note in diagnostic.notes)
        message = f"{diagnostic.message}{notes}"
        return message, int(where[1] or where[2]) if where else 0
    text = str(error).strip()
    where = _LOCATION.search(text)
    return text, int(where[1] or where[2]) if where else 0


def _prepare(ir: Any, module: Any, threads: int) -> None:
    """What every kernel of the language allows, and its text need not repeat: products and sums
    may contract; and how many threads a block has."""
    contract = ir.Attribute.parse("#arith.fastmath<contract>")
    size = ir.Attribute.parse(f"array<i32: {threads}, 1, 1>")
    for operation in _operations(module.operation):
        if operation.name in ("arith.addf", "arith.subf", "arith.mulf"):
            operation.attributes["fastmath"] = contract
        elif operation.name == "gpu.func" and threads:
            operation.attributes["known_block_size"] = size
    pin(ir, _operations(module.operation))


def _plain_addresses(ir: Any, module: Any) -> None:
    """Addresses that may lie before the base: MLIR takes every index for a number that is not
    negative, but arrays may be walked backwards."""
    for old in _operations(module.operation):
        if old.name != "llvm.getelementptr":
            continue
        # What is made without flags promises nothing.
        kept = {name: old.attributes[name] for name in ("elem_type", "rawConstantIndices")}
        types = [result.type for result in old.results]
        with ir.InsertionPoint(old), old.location:
            new = ir.Operation.create(old.name, types, list(old.operands), attributes=kept)
        old.results[0].replace_all_uses_with(new.results[0])
        old.erase()


def _operations(root: Any) -> list[Any]:
    """Every operation under ``root``."""
    found: list[Any] = []
    pending = [root]
    while pending:
        operation = pending.pop()
        found.append(operation)
        for region in operation.regions:
            for block in region.blocks:
                pending.extend(each.operation for each in block.operations)
    return found


def _image(ir: Any, module: Any) -> bytes:
    gpu = import_module("mlir.dialects.gpu")
    for operation in _operations(module.operation):
        if operation.name == "gpu.binary":
            (entry,) = ir.ArrayAttr(operation.attributes["objects"])
            return bytes(gpu.ObjectAttr(entry).object)
    raise StageError("gpu-module-to-binary", "the module has no gpu.binary")
