"""Kernels compiled where the bindings are, and launched where they are not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mytriton as triton
import mytriton.language as tl
from mytriton.plugin_api import Availability, Device, DeviceError
from mytriton_mlir.gpu import backend, images, launch, toolchain
from mytriton_mlir.gpu import probe as probe_module
from mytriton_mlir.gpu.stages import gpu_to_cubin_stages

REASON = "the Python bindings of MLIR (mlir.ir) are not installed"
PTX = b".version 8.0\n.target sm_80\n.visible .entry scale() { ret; }\n"


@triton.jit
def scale(x, out, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n) * 2.0, mask=offs < n)


@pytest.fixture
def source():
    function, spec = scale.specialise({"x": "f32[8]", "out": "f32[8]", "n": "i32", "B": 8})
    return backend.mytriton_lower(function, spec)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MYTRITON_MLIR_IMAGES", str(tmp_path / "images"))
    monkeypatch.delenv("MYTRITON_MLIR_CHIP", raising=False)
    return tmp_path / "images"


@pytest.fixture
def without(monkeypatch):
    """No bindings."""
    monkeypatch.setattr(toolchain, "missing", lambda: REASON)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_what_is_compiled_is_kept(bindings, source, folder):
    image, chip, carried = launch.image_of(source, "sm_80")
    assert (chip, carried) == ("sm_80", False)
    (path,) = files(folder)
    assert path.suffix == ".ptx"
    head, _, rest = path.read_bytes().partition(b"\n")
    assert head.startswith(b"// mytriton image of scale for sm_80, sha256 ")
    assert rest == image
    assert os.stat(path).st_mode & 0o044 == 0o044


def test_it_launches_without_the_bindings(bindings, source, folder, monkeypatch):
    image, *_ = launch.image_of(source, "sm_90")
    monkeypatch.setattr(toolchain, "missing", lambda: REASON)
    monkeypatch.setattr(toolchain, "bindings", None)
    assert launch.image_of(source, "sm_90") == (image, "sm_90", True)


def test_nothing_is_kept_unasked(bindings, source, tmp_path, monkeypatch):
    monkeypatch.delenv("MYTRITON_MLIR_IMAGES", raising=False)
    monkeypatch.chdir(tmp_path)
    launch.image_of(source, "sm_80")
    assert files(tmp_path) == []


def test_an_older_chips_image_serves_a_newer_one(source, folder, without):
    images.keep(source, "sm_80", PTX)
    assert launch.image_of(source, "sm_90") == (PTX, "sm_80", True)
    with pytest.raises(ImportError):
        launch.image_of(source, "sm_75")


def test_the_image_of_the_chip_itself_comes_first(source, folder, without):
    for chip in ("sm_80", "sm_89", "sm_90", "sm_120"):
        images.keep(source, chip, PTX + chip.encode())
    assert launch.image_of(source, "sm_90")[:2] == (PTX + b"sm_90", "sm_90")


@pytest.mark.parametrize("asked", ["sm_90", "sm_90a"])
def test_a_chip_that_was_named_is_the_only_one(source, folder, without, asked, monkeypatch):
    images.keep(source, "sm_80", PTX)
    monkeypatch.setenv("MYTRITON_MLIR_CHIP", asked)
    with pytest.raises(ImportError, match=f"for {asked}"):
        launch.image_of(source, launch._chip(""))


def test_what_it_is_compiled_from_names_an_image(source):
    stages = gpu_to_cubin_stages(chip="sm_80", output="isa")
    more = type(source)(source.text + "\n", source.language, source.entry, source.resources)
    wider = type(source)(source.text, source.language, source.entry, {"threads": 64})
    names = {
        images.name_of(source, stages),
        images.name_of(more, stages),
        images.name_of(wider, stages),
        images.name_of(source, gpu_to_cubin_stages(chip="sm_90", output="isa")),
        images.name_of(source, gpu_to_cubin_stages(chip="sm_80", output="isa", opt_level=2)),
    }
    assert len(names) == 5


@pytest.mark.parametrize("how", ["cut", "changed", "no head", "empty"])
def test_damaged_images_are_not_run(source, folder, without, how):
    images.keep(source, "sm_80", PTX)
    (path,) = files(folder)
    data = path.read_bytes()
    damaged = {"cut": data[:-1], "changed": data[:-3] + b"?" + data[-2:], "no head": PTX}
    path.write_bytes(damaged.get(how, b""))
    with pytest.raises(images.MissingImageError, match="has no image of this 'scale' for sm_80"):
        launch.image_of(source, "sm_80")


def test_what_to_do_about_a_missing_image(source, folder, without, monkeypatch):
    with pytest.raises(ImportError) as error:
        launch.image_of(source, "sm_80")
    text = str(error.value)
    assert text.startswith(REASON)
    assert f"MYTRITON_MLIR_IMAGES={folder} (there is no such folder) has no image" in text
    assert "MYTRITON_MLIR_CHIP=sm_80" in text
    assert 'pip install "mytriton-mlir[bindings]"' in text
    monkeypatch.delenv("MYTRITON_MLIR_IMAGES")
    with pytest.raises(ImportError) as error:
        launch.image_of(source, "sm_80")
    assert str(error.value) == f'{REASON}. Install them: pip install "mytriton-mlir[bindings]"'


class Provider:
    def availability(self):
        return Availability(devices=(Device("cuda", "some", "sm_80"),))


def test_the_probe(source, folder, without, monkeypatch):
    monkeypatch.setattr(probe_module, "device_provider", lambda kind: Provider())
    answer = backend.mytriton_probe()
    assert not answer.can_launch
    assert answer.reason == f"{REASON}, and MYTRITON_MLIR_IMAGES={folder} holds no images"
    images.keep(source, "sm_80", PTX)
    answer = backend.mytriton_probe()
    assert answer.can_launch
    assert answer.can_lower
    assert answer.devices[0].arch == "sm_80"


def test_images_need_a_device_all_the_same(source, folder, without, monkeypatch):
    def none(kind):
        raise DeviceError("nothing provides it")

    images.keep(source, "sm_80", PTX)
    monkeypatch.setattr(probe_module, "device_provider", none)
    answer = backend.mytriton_probe()
    assert not answer.can_launch
    assert "nothing provides it" in answer.reason


PROGRAM = """
import sys
if sys.argv[1] == "without":
    sys.modules["mlir"] = sys.modules["llvm"] = None
import numpy as np
import mytriton as triton
import mytriton.language as tl

@triton.jit
def double(x, out, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + offs, tl.load(x + offs, mask=offs < n) * 2.0, mask=offs < n)

x = np.arange(100, dtype=np.float32)
out = np.zeros_like(x)
result = double.with_backend("mlir")[(4,)](x, out, 100, B=32)
assert result.launched
np.testing.assert_array_equal(out, 2 * x)
print(result.artifact.metadata["carried"])
"""


def test_another_process_without_bindings_runs_it_on_the_emulator(bindings, tmp_path):
    pytest.importorskip("mytriton_testkit.ptx")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    env = {k: v for k, v in os.environ.items() if not k.startswith("MYTRITON_")}
    env |= {"MYTRITON_EMULATE": "1", "MYTRITON_MLIR_IMAGES": str(tmp_path / "images")}
    said = []
    for how in ("without", "with", "without"):
        command = [sys.executable, str(program), how]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        said.append(done.stdout.strip() or done.stderr.splitlines()[-1])
    refused, compiled, carried = said
    assert "cannot launch here" in refused
    assert "holds no images" in refused
    assert (compiled, carried) == ("False", "True")
