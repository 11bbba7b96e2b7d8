"""What the tests of the GPU backend share: kernels to text, to PTX, to a cubin, to numbers."""

import importlib.util
import os
from pathlib import Path

import pytest

from mytriton_mlir.gpu import backend, launch, toolchain
from mytriton_mlir.gpu.ptxas import assemble, find_ptxas


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


@pytest.fixture(scope="session")
def ptxas():
    """Assemble PTX; its report. Skips without the compiler."""
    program = find_ptxas()
    if program is None:
        pytest.skip("ptxas is not installed (nvidia-cuda-nvcc-cu12)")
    return lambda text, chip: assemble(text.encode(), chip, program)[1]


@pytest.fixture(scope="session")
def both(bindings):
    """Run SSA text on the emulator and on the interpreter; the arguments after each."""
    pytest.importorskip("mytriton_testkit.ptx")
    place = Path(__file__).with_name("emulation.py")
    spec = importlib.util.spec_from_file_location("emulation", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.both
