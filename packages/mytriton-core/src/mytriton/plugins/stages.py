"""The stages below a backend's text that ``Artifact.metadata["asm"]`` may hold, by the names that
backends give them. Dumps, exports and inspections read this table; a stage that is not in it is text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompiledStage:
    """One such stage."""

    title: str
    #: Ending of its files.
    suffix: str
    #: Bytes, made only for those who want to keep them.
    image: bool = False
    #: Other programs can load it.
    loadable: bool = False


STAGES: dict[str, CompiledStage] = {
    "llir": CompiledStage("LLVM IR", ".ll"),
    "ptx": CompiledStage("PTX", ".ptx", loadable=True),
    "sass": CompiledStage("SASS", ".sass"),
    "asm": CompiledStage("Assembly", ".s"),
    "cubin": CompiledStage("Device image", ".cubin", image=True, loadable=True),
    "obj": CompiledStage("Object code", ".o", image=True, loadable=True),
}


def stage_of(name: str) -> CompiledStage:
    """The stage a backend calls ``name``."""
    return STAGES.get(name) or CompiledStage(name, ".txt")
