"""Paths that commands read and write, and directories for output."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nmt.errors import NmtError
from nmt.files.paths import (
    can_be_read_again,
    is_stream,
    not_writable,
    output_directory,
    real_path,
    require_directory,
    similar_path,
)


def test_a_circle_of_links_stays_as_it_is(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert real_path(tmp_path / "a").parent == tmp_path
    assert real_path(tmp_path / "link") == tmp_path / "file"


def test_pipes_and_devices_can_be_read_only_once(tmp_path):
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    streams = [tmp_path / "pipe", Path("/dev/null")]
    others = [tmp_path / "file", tmp_path, tmp_path / "missing"]
    assert all(map(is_stream, streams)) and not any(map(is_stream, others))
    assert can_be_read_again([str(path) for path in others]) is True
    for path in (*map(str, streams), "-"):
        assert can_be_read_again([str(tmp_path / "file"), path]) is False


def test_a_mistyped_name_finds_the_most_similar_one_of_its_kind(tmp_path):
    for name in ("text.en", "test.en", "other"):
        (tmp_path / name).touch()
    (tmp_path / "tex.en").mkdir()
    assert similar_path(tmp_path / "texd.en", Path.is_file) == tmp_path / "text.en"
    assert similar_path(tmp_path / "texd.en", Path.is_dir) == tmp_path / "tex.en"
    assert similar_path(tmp_path / "unlike", Path.is_file) is None
    assert similar_path(tmp_path / "missing" / "text.en", Path.is_file) is None


def test_a_directory_that_stays_empty_is_removed_if_it_was_missing(tmp_path):
    (tmp_path / "old").mkdir()
    new = tmp_path / "parent" / "new"
    for directory in (tmp_path / "old", new):
        with output_directory(directory) as path:
            assert path.is_dir() and path == directory
    assert not new.exists() and (tmp_path / "old").is_dir()
    with pytest.raises(KeyboardInterrupt), output_directory(new):
        raise KeyboardInterrupt
    assert not new.exists()
    with output_directory(new) as path:
        (path / "file").touch()
    assert (new / "file").exists()
    with output_directory(tmp_path / "moved") as path:
        path.rename(tmp_path / "elsewhere")
    assert (tmp_path / "elsewhere").is_dir()


def test_an_output_needs_a_directory_that_can_be_written(tmp_path, monkeypatch):
    require_directory(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NmtError, match="file: is a file; make a directory first"):
        require_directory(tmp_path / "file")
    with pytest.raises(NmtError, match="none: no such directory; make a directory first"):
        require_directory(tmp_path / "none")
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(NmtError, match=f"^{tmp_path}: Permission denied: choose a directory with write permission$"):
        require_directory(tmp_path)


def test_the_error_of_a_path_names_its_reason():
    assert str(not_writable(Path("a"), OSError(28, "No space left"))) == (
        "a: No space left: choose a directory with write permission"
    )
