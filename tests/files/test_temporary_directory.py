"""A name of a directory for temporary files, where no such directory can be written."""

from __future__ import annotations

import tempfile

import pytest

from nmt.files.temporary_directory import some_temporary_directory


def test_some_temporary_directory_has_a_name_where_none_can_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    with some_temporary_directory():
        assert tempfile.gettempdir() == "/"
    pytest.raises(FileNotFoundError, tempfile.gettempdir)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path)])
    with some_temporary_directory():
        assert tempfile.gettempdir() == str(tmp_path)
    assert tempfile.gettempdir() == str(tmp_path)
