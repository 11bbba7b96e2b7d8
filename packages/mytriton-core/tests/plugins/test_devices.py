"""Device providers: the host, registered ones, installed ones, the emulator's place."""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mytriton.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, U16, BlockType, PointerType
from mytriton.plugins import devices, selection
from mytriton.plugins.devices import HOST, DeviceProvider, device_provider, owner_of, pack_arguments
from mytriton.plugins.errors import DeviceError
from mytriton.plugins.manager import MANAGER
from mytriton.runtime.argview import ArgView

PROVIDER = """
class Provider:
    kind = "box"
    word = WORD
    def availability(self): ...
    def current_device(self): ...
    def limits(self, device): return {}
    def owns(self, value): return type(value).__name__ == "Box"
    def view(self, value): ...
    def load(self, image, *, kind, device=None): ...
    def function(self, module, name): ...
    def launch(self, function, grid, block, args, *, shared_bytes=0, stream=None): ...
    def synchronize(self, stream=None): ...
    def to_device(self, array): return array
    def to_host(self, value): return value
"""


@pytest.fixture
def boxes(tools: Any, tmp_path: Path) -> Any:
    """Install providers of kind ``box``."""

    def installer(dist: str, entry: str, word: str, value: str = "Provider") -> None:
        site = tmp_path / "boxes"
        module = "acme_" + dist.replace("-", "_")
        tools.write_dist(site, dist, {"mytriton.devices": {entry: f"{module}:{value}"}})
        (site / f"{module}.py").write_text(
            PROVIDER.replace("WORD", repr(word)) + "provider = Provider()\n"
        )
        if str(site) not in sys.path:
            sys.path.insert(0, str(site))
        selection.refresh_backends()
        devices._loaded.clear()

    yield installer
    devices._loaded.clear()


def test_host() -> None:
    assert isinstance(HOST, DeviceProvider)
    assert device_provider("cpu") is HOST
    assert HOST.availability().devices[0].kind == "cpu"
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert owner_of(array) is HOST
    assert HOST.view(array).shape == (2, 3)
    there = HOST.to_device(array)
    there[0, 0] = 9
    assert array[0, 0] == 0
    assert HOST.to_host(there)[0, 0] == 9
    HOST.synchronize()
    assert HOST.limits(HOST.current_device())["threads"] >= 1


def test_host_runs_a_function() -> None:
    array = np.zeros(4, np.float32)
    seen = []
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int32] * 3)

    def run(args: int, x: int, y: int, z: int) -> None:
        addresses = (ctypes.c_void_p * 3).from_address(args)
        pointer = ctypes.c_void_p.from_address(addresses[0]).value
        count = ctypes.c_int32.from_address(addresses[1]).value
        scale = ctypes.c_float.from_address(addresses[2]).value
        data = (ctypes.c_float * count).from_address(pointer)
        for i in range(count):
            data[i] = scale * i
        seen.append((x, y, z))

    packed = pack_arguments((PointerType(F32), I32, F32), (HOST.view(array), 4, 0.5))
    HOST.launch(kind(run), (3, 2, 1), (1, 1, 1), packed)
    assert seen == [(3, 2, 1)]
    assert array.tolist() == [0.0, 0.5, 1.0, 1.5]


def test_host_refuses_images() -> None:
    with pytest.raises(DeviceError, match="images of kind 'shared', not 'ptx'"):
        HOST.load(b"", kind="ptx")
    with pytest.raises(DeviceError, match="the host cannot load the image"):
        HOST.load(b"no library")
    with pytest.raises(DeviceError, match="no function 'nothing_of_this_name'"):
        HOST.function(ctypes.CDLL(None), "nothing_of_this_name")


@pytest.mark.parametrize(
    ("ty", "value", "raw"),
    [
        (BOOL, True, b"\x01"),
        (I8, -2, b"\xfe"),
        (U16, 65535, b"\xff\xff"),
        (I64, -1, b"\xff" * 8),
        (F16, 1.5, b"\x00\x3e"),
        (BF16, 1.5, b"\xc0\x3f"),
        (F32, 1.5, b"\x00\x00\xc0\x3f"),
        (F64, 1.5, b"\x00\x00\x00\x00\x00\x00\xf8\x3f"),
    ],
)
def test_packing(ty: Any, value: Any, raw: bytes) -> None:
    packed = pack_arguments((ty,), (value,))
    (address,) = packed.addresses
    assert ctypes.string_at(address, len(raw)) == raw


def test_packing_pointers_and_mistakes() -> None:
    view = ArgView(0x1234, F32, (1,), (4,))
    packed = pack_arguments((PointerType(F32),), (view,))
    assert ctypes.c_void_p.from_address(packed.addresses[0]).value == 0x1234
    assert packed.owners == (view,)
    assert pack_arguments((), ()).count == 0
    with pytest.raises(ValueError, match="1 parameters, 0 arguments"):
        pack_arguments((I32,), ())
    with pytest.raises(TypeError, match="not the type of a kernel argument"):
        pack_arguments((BlockType((2,), F32),), (1,))


@pytest.mark.parametrize("value", ["Provider", "provider"])
def test_installed(boxes: Any, value: str) -> None:
    boxes("box-one", "box", "real", value)
    found: Any = device_provider("box")
    assert found.word == "real"
    assert device_provider("box") is found
    assert owner_of(type("Box", (), {})()) is found
    assert owner_of(3) is None


def test_emulator(boxes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes("box-one", "box", "real")
    boxes("box-emu", "box.emulator", "emulated")
    assert device_provider("box").word == "real"  # type: ignore[attr-defined]
    assert "acme_box_emu" not in sys.modules
    monkeypatch.setenv("MYTRITON_EMULATE", "1")
    assert device_provider("box").word == "emulated"  # type: ignore[attr-defined]
    assert owner_of(type("Box", (), {})()).word == "emulated"  # type: ignore[union-attr]


def test_errors(boxes: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # As if no other distribution of ours were installed.
    scan = MANAGER.scanned()
    monkeypatch.setattr(scan, "devices", [e for e in scan.devices if e.dist.name.startswith("box")])
    with pytest.raises(DeviceError) as caught:
        device_provider("cuda")
    assert str(caught.value) == (
        "nothing provides device kind 'cuda'. Install one: pip install mytriton-cuda (add [cuda12]"
        " or [cuda13] to match your driver). Installed: cpu"
    )
    with pytest.raises(DeviceError, match=r"nothing provides device kind 'tpu'\. Installed: cpu"):
        device_provider("tpu")
    boxes("box-one", "box", "real")
    boxes("box-two", "box", "other")
    with pytest.raises(
        DeviceError,
        match="several distributions provide device kind 'box': box-one 1.0, box-two 1.0",
    ):
        device_provider("box")
    assert owner_of(type("Box", (), {})()) is None
    monkeypatch.setenv("MYTRITON_EMULATE", "1")
    with pytest.raises(
        DeviceError,
        match="the emulator of device kind 'box'. Install one: pip install mytriton-testkit",
    ):
        device_provider("box")


def test_broken_provider(boxes: Any, tmp_path: Path) -> None:
    boxes("box-one", "box", "real")
    (tmp_path / "boxes" / "acme_box_one.py").write_text("import acme_no_such_module\n")
    with pytest.raises(
        DeviceError, match="box-one 1.0. failed to load: ModuleNotFoundError"
    ) as caught:
        device_provider("box")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    (tmp_path / "boxes" / "acme_box_one.py").write_text("Provider = dict\n")
    sys.modules.pop("acme_box_one", None)
    import importlib

    importlib.invalidate_caches()
    with pytest.raises(
        DeviceError, match="acme_box_one:Provider is not a provider of device kind 'box'"
    ):
        device_provider("box")


def test_registered(boxes: Any) -> None:
    scope: dict[str, Any] = {}
    exec(PROVIDER.replace("WORD", "'mine'"), scope)
    mine = scope["Provider"]()
    devices.register_device(mine)
    assert device_provider("box") is mine
    devices.unregister_device("box")
    with pytest.raises(DeviceError):
        device_provider("box")
