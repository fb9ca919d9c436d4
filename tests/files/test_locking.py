"""A lock keeps a file or directory to one process."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys

import pytest

from nmt.files.locking import locked, owner_ended

TAKEN = ValueError("taken")

HOLD = """
import os, sys
from pathlib import Path
from nmt.files.locking import locked
with locked(Path(sys.argv[1]), None):
    print("locked", flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), 9)
"""


def test_a_lock_ends_with_its_process(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as one:
        assert one.stdout.readline() == b"locked\n"
        assert owner_ended(tmp_path) is False
        with pytest.raises(ValueError, match="taken"), locked(tmp_path, TAKEN):
            pytest.fail("two processes have the lock")
        one.stdin.close()
        one.wait()
    assert owner_ended(tmp_path) is True
    with locked(tmp_path, TAKEN):
        pass


@pytest.mark.parametrize("error", [TAKEN, None])
def test_a_lock_ends_with_its_block(error, tmp_path):
    for _ in range(2):
        with locked(tmp_path, error):
            assert owner_ended(tmp_path) is False
            with pytest.raises(ValueError, match="taken"), locked(tmp_path, TAKEN):
                pytest.fail("two blocks have the lock")
        assert owner_ended(tmp_path) is True


def test_a_lock_without_an_error_is_waited_for(tmp_path, monkeypatch):
    """The holder releases the lock when the second block begins to wait."""
    lock, holder, released = fcntl.flock, os.open(tmp_path, os.O_RDONLY), []

    def release_and_lock(handle: int, flags: int) -> None:
        if not flags & fcntl.LOCK_NB:
            os.close(holder)
            released.append(holder)
        lock(handle, flags)

    lock(holder, fcntl.LOCK_EX)
    monkeypatch.setattr(fcntl, "flock", release_and_lock)
    with locked(tmp_path, None):
        assert released and not owner_ended(tmp_path)


def test_a_file_system_without_locks_locks_nothing(tmp_path, monkeypatch):
    def no_locks(handle: int, flags: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with locked(tmp_path, TAKEN), locked(tmp_path, None):
        assert owner_ended(tmp_path) is False


def test_a_system_without_locks_locks_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with locked(tmp_path, TAKEN), locked(tmp_path, None):
        assert owner_ended(tmp_path) is False


def test_nobody_owns_a_file_that_is_gone(tmp_path):
    assert owner_ended(tmp_path / "none") is False


def test_locks_leave_no_file_open(tmp_path):
    opened = len(os.listdir("/proc/self/fd"))
    with locked(tmp_path, TAKEN), pytest.raises(ValueError, match="taken"), locked(tmp_path, TAKEN):
        pass
    owner_ended(tmp_path)
    assert len(os.listdir("/proc/self/fd")) <= opened
