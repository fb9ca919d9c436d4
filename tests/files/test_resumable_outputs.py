"""Outputs that grow line by line survive interruptions and full disks."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from nmt.errors import NmtError
from nmt.files.resumable_outputs import ResumableOutputs, can_be_resumed


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


def test_plain_files_can_be_resumed(tmp_path: Path):
    good = [str(tmp_path / "a"), str(tmp_path / "b")]
    Path(good[1]).touch()
    assert can_be_resumed(good) is True
    for path in ("-", "a.gz", str(tmp_path), "/dev/null"):
        assert can_be_resumed([*good, path]) is False


def test_names_as_long_as_a_file_system_allows_can_be_resumed(tmp_path: Path):
    paths = [str(tmp_path / ("a" * 254 + str(number))) for number in (1, 2)]
    interrupt_after(paths, 2)
    finish(paths)
    assert [Path(path).read_text() for path in paths] == ["line\nline\nlast\n"] * 2
    assert len(list(tmp_path.iterdir())) == 2


def test_only_complete_blocks_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """A block of two input lines with three output lines each has six lines."""
    paths = [str(tmp_path / "out"), str(tmp_path / "second")]

    def opened(resume: bool) -> ResumableOutputs:
        return ResumableOutputs(paths, resume, block=2, per_line=3)

    with pytest.raises(KeyboardInterrupt), opened(False).open("same") as files:
        files[0].write("line\n" * 17)
        files[1].write("line\n" * 12 + "cut")
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "nmt: 4 lines are kept; repeat the command with --resume to continue there\n"
    with pytest.raises(NmtError, match="an interrupted command left 4 lines: continue with --resume"):
        opened(False)
    outputs = opened(True)
    assert outputs.done == 4
    with outputs.open("same") as files:
        for file in files:
            file.write("last\n")
    assert [Path(path).read_text() for path in paths] == ["line\n" * 12 + "last\n"] * 2
    assert capsys.readouterr().err == ""


def test_an_interruption_in_the_first_block_keeps_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    paths = [str(tmp_path / "out"), str(tmp_path / "second")]
    with pytest.raises(KeyboardInterrupt), ResumableOutputs(paths, True, block=2).open("same") as files:
        assert capsys.readouterr().err == f"nmt: {paths[0]}: there is nothing to resume: starting at line 1\n"
        files[0].write("line\n" * 2)
        files[1].write("line\n")
        raise KeyboardInterrupt
    assert capsys.readouterr().err == "nmt: nothing is kept: lines are kept in blocks of 2\n"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="broken"), ResumableOutputs(paths, False, block=2).open("same"):
        raise ValueError("broken")
    assert capsys.readouterr().err == "" and list(tmp_path.iterdir()) == []


def test_the_kept_lines_of_a_command_with_other_files_are_refused(tmp_path: Path):
    paths = [str(tmp_path / "out"), str(tmp_path / "second")]
    interrupt_after(paths[1:], 1)
    for resume in (False, True):
        with pytest.raises(NmtError, match=r"\.second\.part: .* but its other files are missing: repeat that"):
            ResumableOutputs(paths, resume, block=1)
        ResumableOutputs(paths, resume, block=2)
    interrupt_after(paths[:1], 1)
    with pytest.raises(NmtError, match="outputs or other flags were different"):
        finish(paths)
    finish(paths[:1])
    finish(paths[1:])
    assert [Path(path).read_text() for path in paths] == ["line\nlast\n"] * 2


def test_two_processes_do_not_write_one_file(tmp_path):
    """A second command is refused while the first one writes, whether it begins or resumes."""
    first, second = (ResumableOutputs([str(tmp_path / "out")], resume=again, block=1) for again in (False, True))
    with first.open("same") as files:
        files[0].write("one\n")
        files[0].flush()
        late = ResumableOutputs([str(tmp_path / "out")], resume=True, block=1)
        for other in (second, late):
            with pytest.raises(NmtError, match="out: another process is writing this file"), other.open("same"):
                pass
        files[0].write("two\n")
    assert (tmp_path / "out").read_text() == "one\ntwo\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_output_is_resumed_only_beside_the_files_it_began_with(tmp_path):
    """It is kept as it is, whether the second command has one output more or one less."""
    one, both = ([str(tmp_path / name) for name in names] for names in (("out",), ("out", "links")))
    for first, then in ((one, both), (both, one)):
        with pytest.raises(KeyboardInterrupt), ResumableOutputs(first, resume=False, block=1).open("same") as files:
            for file in files:
                file.write("line\n")
            raise KeyboardInterrupt
        before = {path.name: path.read_text() for path in tmp_path.iterdir()}
        with (
            pytest.raises(NmtError, match="command left (1 line, but its model|this file, but its other)"),
            ResumableOutputs(then, resume=True, block=1).open("same"),
        ):
            pass
        assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before
        for path in tmp_path.iterdir():
            path.unlink()


def test_two_processes_do_not_write_the_same_files(tmp_path: Path):
    paths = [str(tmp_path / "out"), str(tmp_path / "second")]
    with ResumableOutputs(paths, False, block=1).open("same") as files:
        second = ResumableOutputs(paths, False, block=1)
        with pytest.raises(NmtError, match="out: another process is writing this file: wait"), second.open("same"):
            pytest.fail("begins to write")
        for file in files:
            file.write("line\n")
    assert [Path(path).read_text() for path in paths] == ["line\n"] * 2


def test_a_missing_directory_is_refused_before_the_work(tmp_path: Path):
    with pytest.raises(NmtError, match="none: no such directory"):
        ResumableOutputs([str(tmp_path / "out"), str(tmp_path / "none" / "second")], False, block=1)


def test_a_final_file_that_somebody_changed_is_not_resumed(tmp_path: Path):
    paths = [str(tmp_path / name) for name in ("out", "second", "third")]
    run(["-c", KILLED_WHILE_RENAMING, "1", *paths], tmp_path)
    Path(paths[0]).write_text("mine\n")
    with pytest.raises(NmtError, match="its other files are missing"):
        ResumableOutputs(paths, resume=True, block=1)
    assert Path(paths[0]).read_text() == "mine\n"


def test_many_lines_are_counted(tmp_path: Path):
    """More than one read of the file has them."""
    paths = [str(tmp_path / "out")]
    outputs = ResumableOutputs(paths, False, block=1)
    with pytest.raises(KeyboardInterrupt), outputs.open("same") as files:
        files[0].write(("x" * 1023 + "\n") * 2000)
        raise KeyboardInterrupt
    assert ResumableOutputs(paths, True, block=1).done == 2000
