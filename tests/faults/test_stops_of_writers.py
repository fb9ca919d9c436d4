"""Writers of files stopped at each change of the disk: the next call ends with the files of an undisturbed one."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import disk
import pytest
from commands import environment
from writers import WRITERS

PROGRAM = str(Path(__file__).with_name("writers.py"))


def run(writer: str, directory: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROGRAM, writer, str(directory)]
    return subprocess.run(command, env=environment() | variables, capture_output=True, text=True)


@pytest.fixture(scope="module", params=WRITERS)
def traced(request, library, tmp_path_factory) -> tuple[str, list[disk.Change], disk.Files]:
    """A writer, its changes and the files that it leaves undisturbed."""
    place = tmp_path_factory.mktemp(request.param)
    (root := place / "root").mkdir()
    done = run(request.param, root, disk.watched(library, root, place / "record"))
    assert done.returncode == 0, done.stderr
    return request.param, disk.read_changes(place / "record"), disk.snapshot(root)


def require_end(directory: Path, files: disk.Files, stop: str) -> None:
    """Requires the files of an undisturbed writer; a stop before the last deletion may keep an older checkpoint."""
    found = disk.snapshot(directory)
    more = found.keys() - files.keys()
    assert {path: found[path] for path in files} == files, stop
    assert len(more) <= 1 and all(path.startswith("checkpoints/0") for path in more), stop


def test_the_record_leads_to_the_files_of_the_writer(traced):
    _, changes, files = traced
    replayed = disk.Disk({})
    for change in changes:
        replayed.follow(change)
    assert replayed.left_by_kill() == files


def test_a_writer_goes_on_after_any_stop(traced, tmp_path):
    """The states of all kills, and of power losses that lose contents or names."""
    writer, changes, files = traced
    count = 0
    for number, kind, state in disk.states({}, changes):
        directory = tmp_path / f"{number}-{kind}"
        disk.restore(state, directory)
        WRITERS[writer](directory)
        require_end(directory, files, f"{number} {kind}")
        count += 1
    assert count > len(changes) // 2


def test_files_under_their_final_names_are_whole_after_any_stop(traced):
    """Hidden names end with .part; a reader of the others finds the content of some moment between two writes."""
    writer, changes, files = traced
    known: dict[str, set[bytes]] = {}
    replayed = disk.Disk({})
    for change in changes:
        replayed.follow(change)
        if change.kind == "rename":
            for path, content in replayed.left_by_kill().items():
                if content is not None and not path.endswith(".part"):
                    known.setdefault(path, set()).add(content)
    for number, kind, state in disk.states({}, changes):
        for path, content in state.items():
            if content is not None and not Path(path).name.startswith("."):
                assert content in known[path], (number, kind, path)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO, disk.KILL, disk.HALF_AND_KILL, disk.SHORT])
def test_a_writer_goes_on_after_a_real_fault(traced, library, fault, tmp_path):
    """A process meets the fault; what it leaves is what the record says, and the next call goes on."""
    writer, changes, files = traced
    at = len(changes) // 2
    tmp_path = tmp_path / "root"
    tmp_path.mkdir()
    done = run(writer, tmp_path, disk.watched(library, tmp_path, at=at, fault=fault))
    assert done.returncode in ((-9,) if fault in (disk.KILL, disk.HALF_AND_KILL) else (0, 1)), done.stderr
    if fault == disk.KILL:
        expected = next(state for number, kind, state in _kills(changes) if number == at - 1)
        assert disk.snapshot(tmp_path) == expected
    WRITERS[writer](tmp_path)
    require_end(tmp_path, files, f"{at} {fault}")


def _kills(changes: list[disk.Change]):
    replayed = disk.Disk({})
    for number, change in enumerate(changes, 1):
        replayed.follow(change)
        yield number, "kill", replayed.left_by_kill()
