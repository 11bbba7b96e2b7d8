"""Files that commands write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mytriton_testkit.suite.errors import UsageError
from mytriton_testkit.suite.files import check_file, check_folder, write


def test_folders_are_made(tmp_path: Path) -> None:
    write(tmp_path / "a" / "b" / "file", "größe")
    assert (tmp_path / "a" / "b" / "file").read_text("utf-8") == "größe"


def test_a_check_leaves_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept")
    check_file(tmp_path / "old")
    check_file(tmp_path / "new")
    check_folder(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert (tmp_path / "old").read_text() == "kept"


def test_devices_and_pipes_are_taken_as_they_are(tmp_path: Path) -> None:
    check_file(os.devnull)
    os.mkfifo(tmp_path / "pipe")
    check_file(tmp_path / "pipe")


@pytest.mark.parametrize("function", [check_file, check_folder, lambda path: write(path, "")])
def test_says_which_folder_is_none(function, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "a" / "b"
    with pytest.raises(UsageError, match=rf"cannot write .*{place}: {tmp_path}/file is no folder$"):
        function(place)


def test_folders_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageError, match="takes no files from you$"):
        check_folder(tmp_path / "a")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UsageError, match="Permission denied$"):
        check_file(tmp_path / "a")
