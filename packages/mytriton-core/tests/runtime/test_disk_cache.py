"""Entries come back as they were written, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mytriton.plugin_api import DiskCache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DiskCache:
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path))
    return DiskCache("test", ".x")


def test_round_trip(cache: DiskCache) -> None:
    key = cache.key("text", "-O3")
    assert cache.get(key) is None
    cache.put(key, b"code")
    assert cache.get(key) == b"code"
    assert cache.key("text", "-O2") != key
    assert cache.key("text-", "O3") != key


def test_a_damaged_entry_is_a_miss(cache: DiskCache) -> None:
    key = cache.key("a")
    cache.put(key, b"code")
    path = cache.path(key)
    assert path is not None
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get(key) is None


def test_an_empty_variable_switches_it_off(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MYTRITON_CACHE_DIR", "")
    key = cache.key("a")
    cache.put(key, b"code")
    assert cache.get(key) is None


def test_a_disk_that_refuses_is_no_error(
    cache: DiskCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MYTRITON_CACHE_DIR", str(tmp_path / "file"))
    cache.put(cache.key("a"), b"code")
    assert cache.get(cache.key("a")) is None


def test_an_entry_can_be_dropped(cache: DiskCache) -> None:
    key = cache.key("a")
    cache.put(key, b"code")
    cache.drop(key)
    cache.drop(key)
    assert cache.get(key) is None


def test_a_folder_that_goes_while_an_entry_is_written(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    real, calls = tempfile.mkstemp, []

    def once(*args: Any, **options: Any) -> Any:
        calls.append(options["dir"])
        if len(calls) == 1:
            options["dir"].rmdir()  # what `mytriton cache clear` does with an empty folder
        return real(*args, **options)

    monkeypatch.setattr(tempfile, "mkstemp", once)
    cache.put(cache.key("a"), b"code")
    assert cache.get(cache.key("a")) == b"code"
    assert len(calls) == 2
