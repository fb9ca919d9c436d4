"""Errors of files that are written name the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt.files.named_files import MessageFile, open_bytes, open_text

FULL = Path("/dev/full")


@pytest.mark.parametrize(("shown", "name"), [(None, "/dev/full"), (Path("final"), "final")])
def test_a_full_disk_is_an_error_that_names_the_file(shown, name):
    with pytest.raises(OSError, match="No space left") as caught, open_bytes(FULL, "w", shown) as file:
        file.write(b"text")
    assert caught.value.filename == name


def test_text_is_written_as_utf_8(tmp_path):
    with open_text(tmp_path / "text", "w") as file:
        file.write("ü\n")
    with open_text(tmp_path / "text", "a") as file:
        assert file.write("ä") == 1
    assert (tmp_path / "text").read_bytes() == "ü\nä".encode()


def test_messages_that_cannot_be_written_are_dropped(tmp_path):
    with open(FULL, "w") as stream:
        file = MessageFile(stream)
        assert file.write(b"four") == 4
        assert file.write(memoryview(b"12345678").cast("i")) == 8
        file.close()
        assert not stream.closed
    with open(tmp_path / "text", "w") as stream, MessageFile(stream) as file:
        assert file.write(b"four") == 4
        file.close()
        stream.write("!")
    assert (tmp_path / "text").read_text() == "four!"
