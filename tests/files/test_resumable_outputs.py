"""Outputs that grow line by line survive interruptions and full disks."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from nmt.errors import NmtError
from nmt.files.resumable_outputs import ResumableOutputs


def interrupt_after(paths: list[str], lines: int, identity: str = "same") -> None:
    outputs = ResumableOutputs(paths, resume=False, block=1)
    with pytest.raises(KeyboardInterrupt), outputs.open(identity) as files:
        for file in files:
            file.write("line\n" * lines)
        raise KeyboardInterrupt


def finish(paths: list[str], identity: str = "same") -> None:
    outputs = ResumableOutputs(paths, resume=True, block=1)
    with outputs.open(identity) as files:
        for file in files:
            file.write("last\n")


FULL_DISK = """
import resource, sys
from nmt.files.resumable_outputs import ResumableOutputs
outputs = ResumableOutputs(sys.argv[1:], resume=True, block=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (15, 15))
try:
    with outputs.open("same, but longer than the disk has room for") as files:
        print("opened")
except ValueError as error:
    print(error)
"""


def test_a_full_disk_at_the_start_leaves_the_output_resumable(tmp_path: Path):
    """The identity is written again when a command resumes. A full disk at that moment must not damage it."""
    paths, identity = [str(tmp_path / "out")], "same, but longer than the disk has room for"
    interrupt_after(paths, 2, identity)
    refused = run(["-c", FULL_DISK, *paths], tmp_path)
    assert "out: File too large: choose a directory" in refused.stdout, refused
    assert "2 lines are kept" in refused.stderr
    finish(paths, identity)
    assert (tmp_path / "out").read_text() == "line\nline\nlast\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_symbolic_link_stays_a_link(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "out")
    paths = [str(tmp_path / "link"), str(tmp_path / "second")]
    interrupt_after(paths, 1)
    finish(paths)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out").read_text() == (tmp_path / "second").read_text() == "line\nlast\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out", "second"]


KILLED_WHILE_RENAMING = """
import os, sys
from nmt.files.resumable_outputs import ResumableOutputs
rename, names = os.replace, []
def rename_or_die(source, target):
    names.append(str(target).endswith(("out", "second", "third")))
    if sum(names) > int(sys.argv[1]):
        os._exit(9)
    rename(source, target)
os.replace = rename_or_die
with ResumableOutputs(sys.argv[2:], resume=False, block=1).open("same") as files:
    for file in files:
        file.write("line\\n" * 3)
"""


@pytest.mark.parametrize("renamed", [0, 1, 2])
def test_a_kill_between_two_renames_can_be_resumed(renamed: int, tmp_path: Path):
    paths = [str(tmp_path / name) for name in ("out", "second", "third")]
    assert run(["-c", KILLED_WHILE_RENAMING, str(renamed), *paths], tmp_path).returncode == 9
    assert sum(Path(path).exists() for path in paths) == renamed
    with pytest.raises(NmtError, match="left 3 lines: continue with --resume, or delete"):
        ResumableOutputs(paths, resume=False, block=1)
    with (
        pytest.raises(NmtError, match="were different, or another version of nmt"),
        ResumableOutputs(paths, True, 1).open("another"),
    ):
        pass
    assert sum(Path(path).exists() for path in paths) == renamed
    finish(paths)
    assert [Path(path).read_text() for path in paths] == ["line\nline\nline\nlast\n"] * 3
    assert len(list(tmp_path.iterdir())) == 3


def test_the_advice_after_a_kill_between_two_renames_starts_again(tmp_path: Path):
    paths = [str(tmp_path / name) for name in ("out", "second", "third")]
    run(["-c", KILLED_WHILE_RENAMING, "1", *paths], tmp_path)
    with pytest.raises(NmtError) as caught:
        ResumableOutputs(paths, resume=False, block=1)
    for word in str(caught.value).split():
        if word.endswith(".part"):
            Path(word).unlink()
    with ResumableOutputs(paths, resume=False, block=1).open("another") as files:
        for file in files:
            file.write("new\n")
    assert [Path(path).read_text() for path in paths] == ["new\n"] * 3
    assert len(list(tmp_path.iterdir())) == 3


def test_complete_files_are_on_the_disk_before_they_have_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    outputs = ResumableOutputs([str(tmp_path / "out")], resume=False, block=1)
    with pytest.raises(OSError, match="No space left") as caught, outputs.open("same") as files:
        files[0].write("line\n")
        monkeypatch.setattr("os.fsync", no_space)
    assert caught.value.filename == str(tmp_path / "out")
    monkeypatch.undo()
    finish([str(tmp_path / "out")])
    assert (tmp_path / "out").read_text() == "line\nlast\n"
