"""``mytriton cache``: only caches are counted and emptied, whoever else is at work there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mytriton.cli import OK, USAGE, main
from mytriton.plugin_api import DiskCache, cache_folder
from mytriton.runtime.disk_cache import SIGNATURE, TAG, cache_root


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path))
    return tmp_path


def fill(name: str, entries: int, size: int = 1000) -> DiskCache:
    cache = DiskCache(name, ".x")
    for k in range(entries):
        cache.put(cache.key(name, str(k)), b"\0" * size)
    return cache


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and p.name != TAG)


def test_the_folder_of_a_backend(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder("acme") == root / "acme"
    assert not (root / "acme").exists()
    assert cache_folder("acme", create=True) == root / "acme"
    assert (root / "acme" / TAG).read_text().startswith(SIGNATURE)
    monkeypatch.setenv("MYTRITON_CACHE_DIR", "")
    assert cache_folder("acme", create=True) is None
    monkeypatch.delenv("MYTRITON_CACHE_DIR")
    import platformdirs

    expected = Path(platformdirs.user_cache_dir("mytriton", appauthor=False))
    assert cache_root() == expected
    assert cache_folder("acme") == expected / "acme"


@pytest.mark.skipif(sys.platform != "linux", reason="the variable is for Linux")
def test_the_folder_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYTRITON_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder("acme") == tmp_path / "mytriton" / "acme"


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "cache"
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(folder))
    reason = f"{folder} cannot be written: {tmp_path / 'file'} is no folder"
    for words in (["cache", "info"], ["cache", "info", "--json"], ["info"], ["info", "--json"]):
        assert main(words) == OK
        assert reason in capsys.readouterr().out
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path / "new" / "cache"))
    assert main(["cache", "info"]) == OK
    assert "cannot be written" not in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["", "acme"])
def test_a_folder_without_permission_is_told(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    fill("acme", 1)
    closed, access = root / name, os.access
    # A superuser may write everywhere.
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
    assert main(["cache", "info"]) == OK
    out = capsys.readouterr().out
    assert f"{closed} cannot be written: no permission to write to {closed}" in out
    assert "acme" in out.splitlines()[-1]  # what is there may be read


def test_a_folder_that_cannot_be_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "file").write_text("")
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(root / "file"))
    with pytest.raises(OSError):
        cache_folder("acme", create=True)
    assert main(["cache", "info"]) == OK
    assert main(["cache", "clear"]) == OK


def test_info(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "info"]) == OK
    assert capsys.readouterr().out == f"{root}: no caches\n"
    cache = fill("acme", 3)
    fill("other", 1, 2_000_000)
    (root / "mine").mkdir()
    (root / "mine" / "thesis.tex").write_text("...")
    old = cache.path(cache.key("acme", "0"))
    assert old is not None
    os.utime(old, (time.time() - 3 * 86400,) * 2)
    assert main(["cache", "info"]) == OK
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(root)
    assert lines[1].split() == ["BACKEND", "ENTRIES", "SIZE", "OLDEST", "NEWEST"]
    assert lines[2].split()[:6] == ["acme", "3", "3.1", "kB", "3", "d"]
    assert lines[3].split()[:4] == ["other", "1", "2.0", "MB"]
    assert len(lines) == 4
    assert main(["cache", "info", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "mytriton.cache/1"
    assert found["folder"] == str(root)
    assert set(found["caches"]) == {"acme", "other"}
    acme = found["caches"]["acme"]
    assert (acme["entries"], acme["bytes"]) == (3, 3 * 1032)
    assert acme["oldest"] > 2.9 * 86400 > acme["newest"] >= 0


def test_clear(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = fill("acme", 3)
    fill("other", 2)
    (root / "mine").mkdir()
    (root / "mine" / "thesis.tex").write_text("...")
    (root / "file").write_text("")
    assert main(["cache", "clear", "--backend", "ACME"]) == OK
    assert capsys.readouterr().out == "acme: removed 3 files, 3.1 kB\n"
    assert files(root / "acme") == []
    assert os.listdir(root / "acme") == [TAG]
    assert len(files(root / "other")) == 2
    assert cache.get(cache.key("acme", "0")) is None
    cache.put(cache.key("acme", "0"), b"again")
    assert main(["cache", "clear", "--json"]) == OK
    found = json.loads(capsys.readouterr().out)["caches"]
    assert {name: c["removed"] for name, c in found.items()} == {"acme": 1, "other": 2}
    assert files(root) == ["file", "thesis.tex"]
    assert main(["cache", "info"]) == OK
    assert capsys.readouterr().out.splitlines()[2].split() == ["acme", "0", "0.0", "kB", "-", "-"]


def test_a_name_nobody_knows(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill("acme", 1)
    assert main(["cache", "clear", "--backend", "acne"]) == USAGE
    assert "no backend named 'acne'; closest: acme" in capsys.readouterr().err
    assert main(["cache", "clear", "--backend", "interpreter"]) == OK
    assert capsys.readouterr().out == "nothing to remove\n"
    assert len(files(root / "acme")) == 1


def test_an_action_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["cache"])
    assert stopped.value.code == USAGE
    assert "ACTION" in capsys.readouterr().err


def test_switched_off(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MYTRITON_CACHE_DIR", "")
    assert main(["cache", "info"]) == OK
    assert capsys.readouterr().out == "caches are off: MYTRITON_CACHE_DIR is empty\n"
    assert main(["cache", "clear"]) == OK
    assert capsys.readouterr().out == "nothing to remove\n"
    assert main(["info"]) == OK
    assert "none: caches are off" in capsys.readouterr().out


def test_what_is_being_written_stays(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = cache_folder("acme", create=True)
    assert folder is not None
    (folder / ".new-a").write_text("young")
    (folder / ".new-b").write_text("abandoned")
    (folder / ".new-c").mkdir()
    (folder / ".new-c" / "kernel.c").write_text("young")
    (folder / ".new-d").mkdir()
    (folder / ".new-d" / "kernel.c").write_text("abandoned")
    (folder / "entry.so").write_text("done")
    past = (time.time() - 2 * 3600,) * 2
    for path in (folder / ".new-b", folder / ".new-d" / "kernel.c"):
        os.utime(path, past)
    assert main(["cache", "info", "--json"]) == OK
    assert json.loads(capsys.readouterr().out)["caches"]["acme"]["entries"] == 1
    assert main(["cache", "clear"]) == OK
    assert capsys.readouterr().out == "acme: removed 3 files, 0.0 kB; 2 in use stay\n"
    assert files(folder) == [".new-a", "kernel.c"]
    assert (folder / ".new-c").is_dir()


@pytest.mark.skipif(not hasattr(os, "symlink") or sys.platform == "win32", reason="needs links")
def test_links_are_not_followed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "precious").write_text("")
    folder = cache_folder("acme", create=True)
    assert folder is not None
    (folder / "link").symlink_to(outside)
    (folder / "file").symlink_to(outside / "precious")
    assert main(["cache", "clear"]) == OK
    assert (outside / "precious").exists()


def test_no_plugin_is_imported(root: Path) -> None:
    code = (
        "import sys; from mytriton.cli import main; main(['cache', 'info']); main(['cache', 'clear']);"
        "print([m for m in ('numpy', 'pluggy', 'mytriton_mlir', 'mytriton_c') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


WRITER = """
import sys
from mytriton.plugin_api import DiskCache
cache = DiskCache("acme", ".x")
wrong = missed = 0
print("ready", flush=True)
for k in range(1500):
    key = cache.key(str(k % 40))
    cache.put(key, key.encode() * 20)
    found = cache.get(key)
    missed += found is None
    wrong += found is not None and found != key.encode() * 20
print(wrong, missed)
"""


def test_clearing_while_others_write(root: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    ended = threading.Event()
    times = 0

    def wait() -> None:
        for writer in writers:
            writer.wait()
        ended.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    while not ended.is_set():
        assert main(["cache", "clear"]) == OK
        assert main(["cache", "info"]) == OK
        times += 1
    waiter.join()
    for writer in writers:
        assert writer.stdout is not None
        with writer.stdout as text:
            assert text.read().split()[0] == "0"
        assert writer.returncode == 0
    assert times > 1
    assert main(["cache", "clear"]) == OK
    assert files(root / "acme") == []
