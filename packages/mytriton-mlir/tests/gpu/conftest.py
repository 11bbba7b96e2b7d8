"""What the tests of the GPU backend share: kernels to text, to PTX, to a cubin."""

import os
import subprocess
from importlib import util
from pathlib import Path

import pytest

from mytriton_mlir.gpu import backend, launch, toolchain


@pytest.fixture
def text_of():
    """The text of a kernel for some arguments."""

    def make(kernel, *args, **kwargs):
        return backend.mytriton_lower(kernel.compile(*args, **kwargs).function, None).text

    return make


@pytest.fixture(scope="session")
def bindings():
    """Skip without the bindings (``MYTRITON_REQUIRE_MLIR=1`` makes that a failure)."""
    if reason := toolchain.missing():
        if os.environ.get("MYTRITON_REQUIRE_MLIR", "0") not in ("", "0"):
            pytest.fail(reason)
        pytest.skip(reason)
    return toolchain.bindings()


@pytest.fixture
def ptx_of(bindings):
    """The PTX of a kernel for some arguments."""

    def make(kernel, *args, chip="sm_80", **kwargs):
        source = backend.mytriton_lower(kernel.compile(*args, **kwargs).function, None)
        return launch.compile_source(source, chip=chip).decode()

    return make


def _ptxas():
    found = util.find_spec("nvidia")
    for place in found.submodule_search_locations if found else ():
        program = Path(place, "cuda_nvcc", "bin", "ptxas")
        if program.exists():
            return program
    return None


@pytest.fixture(scope="session")
def ptxas():
    """Assemble PTX; its report. Skips without the compiler."""
    program = _ptxas()
    if program is None:
        pytest.skip("ptxas is not installed (nvidia-cuda-nvcc-cu12)")

    def assemble(text, chip, tmp_path):
        path = tmp_path / "kernel.ptx"
        path.write_text(text)
        command = [
            str(program),
            "-v",
            f"-arch={chip}",
            str(path),
            "-o",
            str(tmp_path / "kernel.cubin"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{done.stderr}\n{text}"
        return done.stderr

    return assemble
