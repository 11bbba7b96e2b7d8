"""Backends and device kinds that exist and may not be installed: what to install for them.

The only module of core that names vendors. It is data for messages and for telling first-party
distributions from others; nothing here is imported and nothing extends it at run time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class KnownBackend:
    """A first-party backend that lives in its own distribution."""

    name: str
    dist: str
    #: The command to type.
    install: str
    device_kinds: tuple[str, ...]
    summary: str
    #: What to choose when there is a choice.
    note: str = ""

    @property
    def advice(self) -> str:
        """The command, with its note."""
        return f"{self.install} ({self.note})" if self.note else self.install


KNOWN: dict[str, KnownBackend] = {
    known.name: known
    for known in (
        KnownBackend(
            "cuda", "mytriton-cuda", "pip install mytriton-cuda", ("cuda",),
            "CUDA C++ through NVRTC", "add [cuda12] or [cuda13] to match your driver",
        ),
        KnownBackend(
            "mlir", "mytriton-mlir", 'pip install "mytriton-mlir[bindings]"', ("cuda",),
            "MLIR to PTX for NVIDIA GPUs", "add cuda12 or cuda13 to the brackets to launch",
        ),
        KnownBackend(
            "mlir-cpu", "mytriton-mlir", 'pip install "mytriton-mlir[bindings]"', ("cpu",),
            "MLIR to native code for this computer",
        ),
    )
}  # fmt: skip

#: The distribution that provides the built-in backend.
CORE_DIST = "mytriton-core"


def normalise_dist(name: str) -> str:
    """A distribution name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_first_party(name: str, dist: str) -> bool:
    """Whether ``dist`` is where backend ``name`` is meant to come from."""
    if normalise_dist(dist) == CORE_DIST:
        return True
    known = KNOWN.get(name)
    return known is not None and normalise_dist(dist) == known.dist


def installs_for(kind: str) -> list[str]:
    """Commands that install a backend for arrays on ``kind``, best first."""
    return [known.advice for known in KNOWN.values() if kind in known.device_kinds]


#: Distributions whose versions a bug report names because arrays come from them.
ARRAY_PACKAGES = ("cupy-cuda12x", "cupy-cuda13x")
