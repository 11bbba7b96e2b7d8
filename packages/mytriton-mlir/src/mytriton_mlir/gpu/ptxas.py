"""ptxas, where there is one: from PTX to a cubin, for machines without a driver that would do it."""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from importlib import util
from pathlib import Path

from mytriton.plugin_api import MytritonError


class PtxasError(MytritonError, RuntimeError):
    """ptxas refused PTX, or did not run."""


@cache
def find_ptxas() -> Path | None:
    """The program of the wheel ``nvidia-cuda-nvcc-cu12``, or the one on ``PATH``."""
    from shutil import which

    try:
        package = util.find_spec("nvidia")
    except (ImportError, ValueError):
        package = None
    for place in (package and package.submodule_search_locations) or ():
        for name in ("ptxas", "ptxas.exe"):
            program = Path(place, "cuda_nvcc", "bin", name)
            if program.exists():
                return program
    found = which("ptxas")
    return Path(found) if found else None


def assemble(ptx: bytes, chip: str, program: Path) -> tuple[bytes, str]:
    """The cubin, and what ptxas says about registers, spills and memory. Raises ``PtxasError``."""
    with tempfile.TemporaryDirectory(prefix="mytriton-") as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_bytes(ptx)
        command = [str(program), "-v", f"-arch={chip}", str(text), "-o", str(cubin)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PtxasError(f"ptxas did not run: {error}") from error
        if done.returncode:
            raise PtxasError(f"ptxas refused the PTX for {chip}:\n{done.stderr.strip()}")
        return cubin.read_bytes(), done.stderr


_REGISTERS = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes spill (?:stores|loads)")


def usage(log: str) -> dict[str, int]:
    """``registers`` of a thread and ``spill_bytes`` as ptxas reports them."""
    found = _REGISTERS.search(log)
    if found is None:
        return {}
    return {"registers": int(found[1]), "spill_bytes": sum(map(int, _SPILLS.findall(log)))}
