"""What the emitter must know of the processor: vector width, and which elements it can mask.

Asked of the operating system, not of LLVM: lowering needs no bindings. ``MYTRITON_CPU_TARGET``
chooses another instruction set, to look at or test the code for it.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, replace
from functools import cache

from mytriton.plugin_api import VariableError


@dataclass(frozen=True)
class Target:
    """An instruction set, as far as it shapes the text."""

    name: str
    #: Bits of a vector register.
    vector_bits: int
    #: Vector registers.
    registers: int
    #: Element widths in bits that can be loaded and stored under a mask by one instruction.
    maskable: frozenset[int]
    #: LLVM features to set on top of the host's, to force a smaller instruction set.
    features: str = ""


_NO_AVX512 = "-avx512f,-avx512vl,-avx512bw,-avx512dq,-avx512cd,-avx512vnni,-avx512bf16,-avx512fp16"
_WORDS = frozenset({32, 64})
TARGETS = {
    target.name: target
    for target in (
        Target("avx512", 512, 32, frozenset({8, 16, 32, 64})),
        Target("avx2", 256, 16, _WORDS, _NO_AVX512),
        Target("sse", 128, 16, frozenset(), f"{_NO_AVX512},-avx,-avx2,-fma,-f16c"),
        Target("neon", 128, 32, frozenset()),
    )
}


def target() -> Target:
    """The instruction set to emit for. Raises ``VariableError`` when the variable names none."""
    chosen = os.environ.get("MYTRITON_CPU_TARGET", "")
    if not chosen:
        return host()
    if chosen not in TARGETS:
        raise VariableError(f"MYTRITON_CPU_TARGET is {chosen!r}; known: {', '.join(TARGETS)}")
    # The host's own name asks for nothing that LLVM would not do by itself.
    return host() if chosen == host().name else TARGETS[chosen]


@cache
def host() -> Target:
    """The instruction set of this computer."""
    return replace(TARGETS[_host_name()], features="")


def _host_name() -> str:
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    flags = _x86_flags()
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= flags:
        return "avx512"
    # Unknown (no Linux): every x86 of the last decade has AVX2, and LLVM makes do without.
    return "avx2" if not flags or {"avx2", "fma"} <= flags else "sse"


def _x86_flags() -> frozenset[str]:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("flags"):
                    return frozenset(line.split(":", 1)[1].split())
    except OSError:
        pass
    return frozenset()
