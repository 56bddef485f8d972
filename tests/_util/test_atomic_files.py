"""Files that are either finished or not there."""

from __future__ import annotations

import os

import pytest

from afcm._util.atomic_files import replace_file


def test_the_file_appears_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    with replace_file(path) as draft:
        draft.write_text("new")
        assert not path.exists()
        assert draft.parent == path.parent
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_what_is_flushed_may_be_written(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.write(descriptor, b"")))  # as Windows asks
    with replace_file(tmp_path / "a.txt") as draft:
        draft.write_text("new")
    assert flushed == [0]


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(OSError, match="full"):
        write_half(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def write_half(path):
    with replace_file(path) as draft:
        draft.write_text("half")
        raise OSError("disk full")


def test_rights_are_those_of_the_old_file_or_of_any_new_one(tmp_path):
    old, new, usual = tmp_path / "old", tmp_path / "new", tmp_path / "usual"
    old.write_text("")
    old.chmod(0o640)
    usual.write_text("")
    for path in (old, new):
        with replace_file(path) as draft:
            draft.write_text("x")
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode == usual.stat().st_mode


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "none" / "a"):
        pass
