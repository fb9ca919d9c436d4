"""Files appear under their names completely or not at all."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import run

from nmt.errors import NmtError
from nmt.files.atomic_writing import complete_directory, move_into_place, replacement_for, replacing, write_atomically
from nmt.files.outputs import open_output, open_outputs


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_files_appear_together_when_the_block_ends(tmp_path):
    places = [tmp_path / "a", tmp_path / "b"]
    with replacing(places) as temporaries:
        for temporary in temporaries:
            temporary.write_text("new")
            assert temporary.parent == tmp_path
        assert not any(place.exists() for place in places)
    assert names(tmp_path) == ["a", "b"]


@pytest.mark.parametrize("unique", [True, False])
def test_after_an_error_every_file_keeps_its_old_content(tmp_path, unique):
    places = [tmp_path / "a", tmp_path / "b"]
    places[0].write_text("old")

    def fail() -> None:
        with replacing(places, unique) as temporaries:
            temporaries[0].write_text("new")
            raise KeyboardInterrupt

    pytest.raises(KeyboardInterrupt, fail)
    assert names(tmp_path) == ["a"]
    assert places[0].read_text() == "old"


def test_a_replaced_file_keeps_its_permissions(tmp_path, monkeypatch):
    place = tmp_path / "private"
    place.write_text("old")
    place.chmod(0o600)
    write_atomically(place, b"new")
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("new", 0o600)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != place)  # everything is writable for root
    with pytest.raises(PermissionError, match="private"):
        write_atomically(place, b"newer")
    assert place.read_text() == "new" and names(tmp_path) == ["private"]


def test_all_contents_reach_the_disk_before_a_file_is_renamed(tmp_path, monkeypatch):
    """And the directory afterwards, because it holds the names."""
    steps: list[str] = []
    replace, sync = os.replace, os.fsync

    def watched_sync(descriptor: int) -> None:
        steps.append(f"sync {Path(os.readlink(f'/proc/self/fd/{descriptor}')).name.split('.')[1:2] or 'directory'}")
        sync(descriptor)

    def watched_replace(source: Path, target: Path) -> None:
        steps.append(f"rename {target.name}")
        replace(source, target)

    monkeypatch.setattr("os.fsync", watched_sync)
    monkeypatch.setattr("os.replace", watched_replace)
    with replacing([tmp_path / "a", tmp_path / "b"]) as temporaries:
        for temporary in temporaries:
            temporary.write_text("new")
    assert steps == ["sync ['a']", "sync ['b']", "rename a", "rename b", "sync directory"]


def test_a_directory_reaches_the_disk_with_all_that_is_in_it_before_its_name(tmp_path, monkeypatch):
    steps: list[str] = []
    sync, replace = os.fsync, os.replace

    def watched_sync(descriptor: int) -> None:
        steps.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name.split(".")[0])
        sync(descriptor)

    def watched_replace(source: Path, target: Path) -> None:
        steps.append(f"rename {target.name}")
        replace(source, target)

    monkeypatch.setattr("os.fsync", watched_sync)
    monkeypatch.setattr("os.replace", watched_replace)
    with complete_directory(tmp_path / "made", NmtError) as directory:
        (directory / "inner").mkdir()
        (directory / "inner" / "file").write_text("new")
    renamed = steps.index("rename made")
    assert {"inner", "file", ""} <= set(steps[:renamed])
    assert steps[renamed + 1] == tmp_path.name


def test_the_directory_of_a_killed_writer_is_removed_by_the_next_one(tmp_path):
    """Directories of writers that still work, of other names, and files stay."""
    place = tmp_path / "made.onnx"
    program = "import os, sys, pathlib\n"
    program += "from nmt.errors import NmtError\nfrom nmt.files.atomic_writing import complete_directory\n"
    program += "with complete_directory(pathlib.Path(sys.argv[1]), NmtError) as directory:\n"
    program += "    (directory / 'graph').write_text('half'); os.kill(os.getpid(), 9)\n"
    assert subprocess.run([sys.executable, "-c", program, str(place)]).returncode == -9
    (left,) = names(tmp_path)
    others = [".other.onnx.0123abcd.part", ".made.onnx.new.part"]
    for name in others:
        (tmp_path / name).mkdir()
    (tmp_path / ".made.onnx.01234567.part").write_text("a file")
    for name in names(tmp_path):
        os.utime(tmp_path / name, (0, 0))
    with complete_directory(place, NmtError) as at_work:
        os.utime(at_work, (0, 0))
        assert left not in names(tmp_path)
        with complete_directory(place, NmtError) as second:
            (second / "graph").write_text("whole")
        assert at_work.is_dir()
        (place / "graph").unlink()  # an empty directory gives way
    assert names(tmp_path) == sorted([*others, ".made.onnx.01234567.part", "made.onnx"])


@pytest.mark.parametrize("letter", ["a", "ö", "世", "🌍"])
def test_long_names_have_temporary_names_of_their_own(letter, tmp_path):
    """Also fixed ones, within the 255 bytes that a name may have."""
    long = letter * (240 // len(letter.encode()))
    places = [tmp_path / f"{long}-1", tmp_path / f"{long}-2"]
    for unique in (False, True):
        with replacing(places, unique) as temporaries:
            for number, temporary in enumerate(temporaries):
                temporary.write_text(str(number))
        assert [place.read_text() for place in places] == ["0", "1"]


def test_a_directory_with_files_is_not_replaced_and_an_empty_one_is(tmp_path):
    place = tmp_path / "above" / "made"
    with complete_directory(place, NmtError) as directory:
        (directory / "file").write_text("old")
    with (
        pytest.raises(NmtError, match=f"^{place}: already exists; name a new directory, or delete it first$"),
        complete_directory(place, NmtError),
    ):
        pytest.fail("begins to write")
    assert (place / "file").read_text() == "old"
    (place / "file").unlink()
    with pytest.raises(KeyboardInterrupt), complete_directory(place, NmtError) as directory:
        (directory / "file").write_text("half")
        raise KeyboardInterrupt
    assert names(place.parent) == ["made"] and names(place) == []
    with complete_directory(place, NmtError) as directory:
        (directory / "file").write_text("new")
    assert (place / "file").read_text() == "new"
    with pytest.raises(NmtError, match="already exists"), complete_directory(place / "file", NmtError):
        pytest.fail("begins to write over a file")


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(NmtError, match="inner cannot be written: (File exists|Not a directory); make room there"),
        complete_directory(tmp_path / "file" / "inner", NmtError),
    ):
        pytest.fail("begins to write")


def test_a_new_directory_without_a_lock_stays(tmp_path):
    """Its writer may be about to lock it."""
    new, old = tmp_path / ".made.00000000.part", tmp_path / ".made.11111111.part"
    for directory, age in ((new, -3600), (old, 3600)):
        directory.mkdir()
        os.utime(directory, (time.time() - age,) * 2)
    (tmp_path / ".made.22222222.part").symlink_to(tmp_path / "elsewhere")
    with complete_directory(tmp_path / "made", NmtError):
        pass
    assert names(tmp_path) == [".made.00000000.part", ".made.22222222.part", "made"]


def test_missing_directories_are_made(tmp_path):
    write_atomically(tmp_path / "a" / "b" / "file", b"new")
    with replacement_for(tmp_path / "c" / "d" / "file", NmtError) as temporary:
        temporary.write_text("new")
    for place in ("a/b/file", "c/d/file"):
        assert (tmp_path / place).read_text() == "new"


def test_a_replacement_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").write_text("old")
    with (
        pytest.raises(NmtError, match=r"inner cannot be written: (File exists|Not a directory); make room there"),
        replacement_for(tmp_path / "file" / "inner", NmtError),
    ):
        pytest.fail("begins to write")
    with replacement_for(Path("/dev/null"), NmtError) as device:
        assert device == Path("/dev/null")


def test_a_file_system_that_cannot_sync_directories_is_fine(tmp_path, monkeypatch):
    def sync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(22, "Invalid argument")

    monkeypatch.setattr("os.fsync", sync)
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"


def test_errors_name_the_final_file(tmp_path):
    (tmp_path / "directory").mkdir()
    with pytest.raises(IsADirectoryError) as caught:
        write_atomically(tmp_path / "directory", b"new")
    assert caught.value.filename == str(tmp_path / "directory")
    assert names(tmp_path) == ["directory"]


@pytest.mark.parametrize("name", ["n" * 250, "ü" * 120 + ".npz"])
def test_a_name_may_be_as_long_as_the_system_allows(tmp_path, name):
    write_atomically(tmp_path / name, b"1")
    with open_output(str(tmp_path / name)) as file:
        file.write("2")
    with replacement_for(tmp_path / name, NmtError) as temporary:
        temporary.write_text("3")
    assert (tmp_path / name).read_text() == "3"


def test_a_symbolic_link_stays_a_link(tmp_path):
    (tmp_path / "behind").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "behind" / "file")
    write_atomically(tmp_path / "link", b"1")
    assert (tmp_path / "behind" / "file").read_bytes() == b"1"
    with replacement_for(tmp_path / "link", NmtError) as temporary:
        temporary.write_text("2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "behind" / "file").read_text() == "2"
    assert names(tmp_path / "behind") == ["file"]


def test_the_file_of_a_killed_writer_does_not_pile_up(tmp_path):
    """The next writer of the path overwrites it."""
    program = """
import os, sys
from pathlib import Path
from nmt.files.atomic_writing import write_atomically
os.replace = lambda *_: os.kill(os.getpid(), 9)
write_atomically(Path(sys.argv[1]), b"new")
"""
    for _ in range(2):
        assert run(["-c", program, str(tmp_path / "a")], tmp_path).returncode == -9
        assert len(names(tmp_path)) == 1
    write_atomically(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a"]


def test_outputs_are_plain_compressed_and_devices(tmp_path):
    paths = [str(tmp_path / "a"), str(tmp_path / "b.gz"), "/dev/null"]
    with open_outputs(paths) as files:
        for file in files:
            file.write(b"line\n")
        assert [name for name in names(tmp_path) if not name.startswith(".")] == []
    assert (tmp_path / "a").read_text() == gzip.decompress((tmp_path / "b.gz").read_bytes()).decode() == "line\n"
    assert Path("/dev/null").is_char_device()


def test_a_pipe_is_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with open_output(str(tmp_path / "pipe")) as file:
        file.write("line\n")
    assert os.read(reader, 99) == b"line\n"
    os.close(reader)
    assert names(tmp_path) == ["pipe"]


def test_outputs_appear_together_or_after_an_error_none(tmp_path):
    paths = [str(tmp_path / "a"), str(tmp_path / "b.gz")]
    with pytest.raises(KeyboardInterrupt), open_outputs(paths) as files:
        for file in files:
            file.write(b"line\n")
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_equal_text_gives_equal_compressed_bytes(tmp_path, monkeypatch):
    for name, now in (("a.gz", 10**9), ("b.gz", 2 * 10**9)):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        with open_output(str(tmp_path / name)) as file:
            file.write("line\n")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_an_output_without_a_directory_is_refused_before_the_work(tmp_path):
    place = tmp_path / "old"
    place.write_text("old")
    for path, reason in (
        (tmp_path, "is a directory; name a file to write"),
        (tmp_path / "none" / "a", "none: no such directory; make a directory first"),
        (place / "a", "old: is a file; make a directory first"),
    ):
        with pytest.raises(NmtError, match=reason), open_outputs([str(place), str(path)]):
            pytest.fail("begins to write")
    assert names(tmp_path) == ["old"] and place.read_text() == "old"


def test_an_output_that_cannot_be_opened_is_one_line(tmp_path, monkeypatch):
    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("nmt.files.outputs.open_bytes", refused)
    with pytest.raises(NmtError, match="a: Permission denied: choose a directory"), open_output(str(tmp_path / "a")):
        pytest.fail("begins to write")


def test_standard_output_has_all_text_when_the_block_ends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("shown", "w", encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        with open_output("-") as file:
            file.write("one\n")
        assert Path("shown").read_text() == "one\n"
        with open_outputs(["-", "a"]) as files:
            for file in files:
                file.write(b"two\n")
        assert Path("shown").read_text() == "one\ntwo\n"
        stream.write("three\n")
    assert names(tmp_path) == ["a", "shown"]


def test_moving_into_place_can_leave_out_the_wait(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: pytest.fail("waits for the disk"))
    (tmp_path / "part").write_text("new")
    move_into_place([tmp_path / "part"], [tmp_path / "a"], durable=False)
    assert names(tmp_path) == ["a"]
