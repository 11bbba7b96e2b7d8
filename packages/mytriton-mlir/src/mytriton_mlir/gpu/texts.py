"""What a GPU kernel was compiled to, by the names of the stages; LLVM IR is made when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mytriton.plugin_api import Source

from .. import llvm
from . import toolchain
from .stages import gpu_to_cubin_stages


class Texts(Mapping[str, "str | bytes"]):
    """``"llir"`` (optimised LLVM IR, where there is a libLLVM to write it as text), and what is there
    already: ``"ptx"``, perhaps ``"cubin"``."""

    def __init__(
        self, source: Source, chip: str, lines: bool, made: Mapping[str, str | bytes]
    ) -> None:
        self._source, self._chip, self._lines = source, chip, lines
        self._made = dict(made)
        self._names = list(made)
        if not toolchain.missing() and not llvm.missing():
            self._names.insert(0, "llir")

    def __getitem__(self, stage: str) -> str | bytes:
        if stage not in self._names:
            raise KeyError(stage)
        if stage not in self._made:
            self._made[stage] = llvm.llvm().disassembled(self._bitcode())
        return self._made[stage]

    def _bitcode(self) -> bytes:
        stages = gpu_to_cubin_stages(chip=self._chip, output="llvm", lines=self._lines)
        resources = self._source.resources
        return toolchain.compile_image(
            self._source.text, stages, threads=resources.get("threads", 0),
            spans=resources.get("spans"),
        )  # fmt: skip

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)
