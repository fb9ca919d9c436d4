"""Writers of files stopped at each change of the disk: the next call ends with the files of an undisturbed one."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import disk
import pytest
import writer_faults
from writers import LEAVES_PARTS, WRITERS

QUICK = ("outputs", "run")
"""Writers of the tests that are not slow."""
IN_PLACE = ("corpus", "prepared")
"""Writers of directories: a last file, and not the names of the others, says that all are complete."""


def named(writers: Iterable[str]) -> list[Any]:
    """Parameters for tests of these writers."""
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in writers]


STEADY = [name for name in WRITERS if name not in LEAVES_PARTS]
"""Writers whose temporary names are always the same."""


@pytest.fixture(scope="module", params=named(WRITERS))
def traced(request, library, tmp_path_factory) -> tuple[str, list[disk.Change], disk.Files]:
    """A writer, its changes and the files that it leaves undisturbed."""
    return request.param, *writer_faults.trace(request.param, library, tmp_path_factory.mktemp(request.param))


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
        writer_faults.require_end(writer, directory, files, f"{number} {kind}")
        count += 1
    assert count > len(changes) // 2


@pytest.mark.parametrize("traced", named(name for name in STEADY if name not in IN_PLACE), indirect=True)
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


@pytest.mark.parametrize("traced", QUICK, indirect=True)
@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO, disk.HALF_AND_KILL, disk.SHORT])
def test_a_writer_goes_on_after_a_real_fault(traced, library, fault, tmp_path):
    """A process meets the fault, and the next call goes on. The campaign writer-errors has the other writers."""
    writer, changes, files = traced
    at = len(changes) // 2
    writer_faults.meet(writer, files, library, at, fault, tmp_path)


@pytest.mark.parametrize("traced", named(name for name in STEADY if name != "prepared"), indirect=True)
def test_a_killed_writer_leaves_the_state_of_the_record(traced, library, tmp_path):
    writer, changes, _ = traced
    at = int(len(changes) * 0.8)
    writer_faults.run_writer(writer, tmp_path, disk.watched(library, tmp_path, at=at, fault=disk.KILL))
    assert disk.snapshot(tmp_path) == next(state for number, _, state in _kills(changes) if number == at - 1)


def _kills(changes: list[disk.Change]):
    replayed = disk.Disk({})
    for number, change in enumerate(changes, 1):
        replayed.follow(change)
        yield number, "kill", replayed.left_by_kill()
