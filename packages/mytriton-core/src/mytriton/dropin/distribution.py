"""The metadata of the Triton we stand in for."""

from __future__ import annotations

from importlib.metadata import Distribution
from typing import Any

from .names import TRITON_VERSION


class TritonDistribution(Distribution):
    """What ``importlib.metadata`` finds under the name ``triton``."""

    def read_text(self, filename: str) -> str | None:
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        return (
            f"Metadata-Version: 2.1\nName: triton\nVersion: {TRITON_VERSION}\n"
            "Summary: mytriton, standing in for Triton in this process\n"
        )

    def locate_file(self, path: Any) -> Any:
        from pathlib import Path

        return Path(__file__).parent / path
