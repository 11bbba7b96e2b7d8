"""What a GPU kernel was compiled to, by the names of the stages; LLVM IR is made when somebody asks."""

from __future__ import annotations

from collections.abc import Mapping

from mytriton.plugin_api import Source

from .. import llvm
from ..texts import Made, Text
from . import toolchain
from .stages import gpu_to_cubin_stages


class Texts(Made):
    """``"llir"`` (optimised LLVM IR, where there is a libLLVM to write it as text), and what is there
    already: ``"ptx"``, perhaps ``"cubin"``."""

    def __init__(self, source: Source, chip: str, lines: bool, made: Mapping[str, Text]) -> None:
        there = not toolchain.missing() and not llvm.missing()
        super().__init__(("llir", *made) if there else tuple(made), made)
        self._source, self._chip, self._lines = source, chip, lines

    def make(self, stage: str) -> Mapping[str, Text]:
        return {stage: llvm.llvm().disassembled(self._bitcode())}

    def _bitcode(self) -> bytes:
        stages = gpu_to_cubin_stages(chip=self._chip, output="llvm", lines=self._lines)
        resources = self._source.resources
        return toolchain.compile_image(
            self._source.text, stages, threads=resources.get("threads", 0),
            spans=resources.get("spans"),
        )  # fmt: skip
