"""Distributions to install, backends made on the spot, a process to try them in."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import mytriton
from mytriton.ir.expr import Param
from mytriton.ir.types import F32, PointerType
from mytriton.ir.values import SSAFunction, SSAOp, SSAValue
from mytriton.plugins import selection, sources
from mytriton.plugins.types import ArgSpec, LaunchSpec

HERE = Path(__file__).parent
DISTS = HERE / "dists"
SOURCE = Path(mytriton.__file__).parents[1]
CORE = "Metadata-Version: 2.1\nName: mytriton-core\nVersion: 0.3.1\n"


def _load_tiny_build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tiny_build", HERE / "tiny_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny_build = _load_tiny_build()


def make_site(folder: Path, *names: str) -> Path:
    """A folder with the named distributions (all of them: ``"*"``) and metadata of core 0.3.1."""
    site = folder / "site"
    core = site / "mytriton_core-0.3.1.dist-info"
    core.mkdir(parents=True, exist_ok=True)
    (core / "METADATA").write_text(CORE)
    for name in sorted(p.name for p in DISTS.iterdir()) if names == ("*",) else names:
        tiny_build.install(DISTS / name, site)
    return site


def write_dist(
    site: Path,
    dist: str,
    entries: dict[str, dict[str, str]],
    *,
    version: str = "1.0",
    requires: tuple[str, ...] = (),
) -> None:
    """Metadata of a distribution, by hand."""
    info = site / f"{dist.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    lines = [f"Requires-Dist: {text}" for text in requires]
    head = ["Metadata-Version: 2.1", f"Name: {dist}", f"Version: {version}"]
    (info / "METADATA").write_text("\n".join([*head, *lines]) + "\n")
    points = ""
    for group, names in entries.items():
        points += f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in names.items())
    (info / "entry_points.txt").write_text(points)


def run_python(
    code: str, *paths: Path, env: dict[str, str] | None = None, args: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a new interpreter that sees ``paths`` and this mytriton."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MYTRITON_")}
    clean["PYTHONPATH"] = os.pathsep.join(map(str, [*paths, SOURCE]))
    return subprocess.run(
        [sys.executable, "-c", code, *args], env=clean | (env or {}),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def run_json(code: str, *paths: Path, env: dict[str, str] | None = None) -> Any:
    """Run ``code``, which prints JSON as its last line."""
    done = run_python(code, *paths, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def make_function(name: str = "k") -> SSAFunction:
    """``x[0] = x[0] + x[0]``: needs op.load, op.add, op.store and dtype.f32."""
    x = Param("x", PointerType(F32))
    load = SSAOp("load", (x, None, None), SSAValue(0, F32))
    add = SSAOp("add", (load.results[0], load.results[0]), SSAValue(1, F32))
    return SSAFunction(name, (x,), [load, add, SSAOp("store", (x, add.results[0], None))])


def make_launch(kind: str = "cpu", *more: str) -> LaunchSpec:
    """A launch with an array ``x`` on ``kind``, and ``y0``, ``y1``, ... on the others."""
    arrays = [("x", kind), *((f"y{i}", k) for i, k in enumerate(more))]
    return LaunchSpec(tuple(ArgSpec(n, PointerType(F32), k) for n, k in arrays), grid=(4, 1, 1))


@pytest.fixture(autouse=True)
def untouched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variables, no project file, no backends but those of the test; and none left behind."""
    for name in [n for n in os.environ if n.startswith("MYTRITON_")]:
        monkeypatch.delenv(name)
    path = list(sys.path)
    registered = _registered()
    selection.refresh_backends()
    monkeypatch.setattr(sources, "_project", ("", ""))
    yield
    sys.path[:] = path
    selection.config.backend = None
    for name in _registered() - registered:
        selection.unregister_backend(name)
    for name in [n for n in sys.modules if n.startswith(("acme_", "fake_"))]:
        del sys.modules[name]
    monkeypatch.undo()
    selection.refresh_backends()


def _registered() -> set[str]:
    from mytriton.plugins.manager import MANAGER

    return set(MANAGER._registered)


@pytest.fixture
def install(tmp_path: Path) -> Callable[..., Path]:
    """Install distributions from ``dists`` for this process."""

    def installer(*names: str) -> Path:
        site = make_site(tmp_path, *names)
        if str(site) not in sys.path:
            sys.path.insert(0, str(site))
        selection.refresh_backends()
        return site

    return installer


FAKE = """
from mytriton.plugin_api import (
    Availability, BackendInfo, Claim, Decline, Source, capability_table, hookimpl
)
PROBE = Availability()
CLAIM = None

@hookimpl
def mytriton_probe():
    return PROBE

@hookimpl
def mytriton_claim(function, launch):
    return CLAIM

@hookimpl
def mytriton_lower(function, launch):
    return Source("text of NAME", "toy", function.name)

class Kernel:
    metadata = {}
    def launch(self, grid, args):
        pass

@hookimpl
def mytriton_compile(source, launch):
    return Kernel()
"""
FAKE_INFO = """
from mytriton.plugin_api import BackendInfo, Limits, capability_table
INFO = BackendInfo(
    "NAME", "made up", device_kinds=KINDS, priority=PRIORITY,
    capabilities=capability_table(["op.load", "op.add", "op.store", "dtype.f32", MORE]), EXTRA
)
"""


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., None]:
    """Install a backend made up on the spot, from any distribution, for this process."""

    def installer(
        name: str,
        dist: str = "acme-fake",
        kinds: tuple[str, ...] = ("cpu",),
        priority: int = 50,
        *,
        probe: str = "Availability()",
        claim: str = "None",
        more: str = "",
        extra: str = "",
        body: str = "",
    ) -> None:
        site = tmp_path / "fakes"
        module = f"fake_{name.replace('-', '_')}_{dist.replace('-', '_')}"
        groups = {
            "mytriton.backends": {name: module},
            "mytriton.backend_info": {name: f"{module}_info:INFO"},
        }
        write_dist(site, dist, groups, version="0.3.1")
        text = FAKE.replace("NAME", name).replace("PROBE = Availability()", f"PROBE = {probe}")
        (site / f"{module}.py").write_text(text.replace("CLAIM = None", f"CLAIM = {claim}") + body)
        info = FAKE_INFO.replace("NAME", name).replace("KINDS", repr(kinds))
        info = info.replace("PRIORITY", str(priority)).replace("MORE", more).replace("EXTRA", extra)
        (site / f"{module}_info.py").write_text(info)
        if str(site) not in sys.path:
            sys.path.insert(0, str(site))
        importlib.invalidate_caches()
        selection.refresh_backends()

    return installer


@pytest.fixture
def tools() -> SimpleNamespace:
    """The helpers of this file (pytest imports it under a name of its own)."""
    return SimpleNamespace(
        function=make_function, launch=make_launch, python=run_python, json=run_json,
        site=make_site, write_dist=write_dist, dists=DISTS, here=HERE, source=SOURCE,
    )  # fmt: skip
