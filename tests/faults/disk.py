"""The changes that a program makes on the disk, recorded and made to fail, and the states that a stop of it can leave.

A library that is loaded before all others records each change below a directory (`changes.c`). From the record every
state is rebuilt that the death of the process leaves (all changes up to a point), or that a power loss leaves: contents
that were not synced are lost, or names that were not synced are as before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KILL, HALF_AND_KILL, SHORT = 0, -1, -2
"""Faults besides error numbers: SIGKILL, a write of half the bytes and SIGKILL, and such a write alone."""

OPEN = "open"
"""Kind of an open for reading."""

Files = dict[str, bytes | None]
"""Content by path; None for a directory."""


@dataclass(frozen=True)
class Change:
    """A change of the disk.

    Attributes:
        kind: create, truncate, write, rename, unlink, mkdir, rmdir or fsync; `OPEN`.
        path: relative to the directory that is watched.
        second: the new path of a rename.
        offset: where a write begins, or the length that a truncation leaves.
        content: the bytes of a write.
    """

    kind: str
    path: str
    second: str = ""
    offset: int = 0
    content: bytes = b""


def build(directory: Path) -> Path | None:
    """Compiles the library; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = directory / "changes.so"
    source = Path(__file__).with_name("changes.c")
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return library


def watched(
    library: Path, root: Path, record: Path | None = None, at: int = 0, fault: int = 0, reads: bool = False
) -> dict[str, str]:
    """Environment variables for a process whose changes below `root` are recorded, or fail at the change `at`.

    With `reads` its open number `at` for reading fails in place of its change. The record has both.
    """
    found = {"LD_PRELOAD": str(library), "FAULTS_ROOT": str(root.resolve()), "FAULTS_AT": str(at)}
    found |= {"FAULTS_ERROR": str(fault), "FAULTS_READS": str(int(reads))}
    return found | ({"FAULTS_TRACE": str(record)} if record else {})


def read_changes(record: Path) -> list[Change]:
    """The changes in a file that the library wrote."""
    return [change for change in _read_record(record) if change.kind != OPEN]


def read_opens(record: Path) -> list[Change]:
    """The opens for reading in a file that the library wrote."""
    return [change for change in _read_record(record) if change.kind == OPEN]


def _read_record(record: Path) -> list[Change]:
    changes = []
    with open(record, "rb") as file:
        while head := file.readline():
            kind, path, second, offset, length = os.fsdecode(head.rstrip(b"\n")).split("\t")
            changes.append(Change(kind, path, second, int(offset), file.read(int(length))))
    return changes


@dataclass
class _File:
    """A file's content, and the part of it that a power loss leaves."""

    content: bytearray = field(default_factory=bytearray)
    synced: bytes = b""


class Disk:
    """A directory tree in memory that follows recorded changes."""

    def __init__(self, files: Files) -> None:
        self._names: dict[str, _File | None] = {
            path: None if content is None else _File(bytearray(content), content) for path, content in files.items()
        }
        self._synced_names = dict(self._names)

    def follow(self, change: Change) -> None:
        """Makes a change."""
        path, names = change.path, self._names
        match change.kind:
            case "create":
                names[path] = _File()
            case "mkdir":
                names[path] = None
            case "unlink" | "rmdir":
                del names[path]
            case "rename":
                names[change.second] = names.pop(path)
                for inner in [name for name in names if name.startswith(f"{path}/")]:
                    names[change.second + inner[len(path) :]] = names.pop(inner)
            case "fsync":
                self._sync(path)
            case "truncate":
                _resize(self._file(path).content, change.offset)
            case "write":
                content = self._file(path).content
                _resize(content, max(len(content), change.offset))
                content[change.offset : change.offset + len(change.content)] = change.content
            case kind:
                raise AssertionError(kind)

    def _file(self, path: str) -> _File:
        file = self._names[path]
        assert file is not None, path
        return file

    def _sync(self, path: str) -> None:
        """A file's content, or the names in a directory, survive a power loss from now on."""
        if path in self._names and (file := self._names[path]) is not None:
            file.synced = bytes(file.content)
            return
        inside = {name for name in {*self._names, *self._synced_names} if os.path.dirname(name) == path}
        for name in inside:
            if name in self._names:
                self._synced_names[name] = self._names[name]
            else:
                self._synced_names.pop(name)

    def left_by_kill(self) -> Files:
        """The death of the process loses nothing of the changes up to now."""
        return {path: None if file is None else bytes(file.content) for path, file in self._names.items()}

    def left_without_contents(self) -> Files:
        """A power loss that keeps all names, and of each file the content of its last sync."""
        return {path: None if file is None else file.synced for path, file in self._names.items()}

    def left_without_names(self) -> Files:
        """A power loss that keeps in each directory the names of its last sync, and the contents of these files."""
        names = self._synced_names
        kept = {path: None if file is None else bytes(file.content) for path, file in names.items()}
        return {path: content for path, content in kept.items() if _reachable(path, kept)}


def _reachable(path: str, files: Files) -> bool:
    parents = [str(parent) for parent in Path(path).parents][:-1]
    return all(parent in files for parent in parents)


def _resize(content: bytearray, length: int) -> None:
    del content[length:]
    content.extend(bytes(length - len(content)))


def states(before: Files, changes: Sequence[Change]) -> Iterator[tuple[int, str, Files]]:
    """Each different state that a stop can leave: number of changes made, kind of the stop, files."""
    seen: set[int] = set()
    disk = Disk(before)
    for number in range(len(changes) + 1):
        if number:
            disk.follow(changes[number - 1])
        for kind in ("kill", "without_contents", "without_names"):
            files = getattr(disk, f"left_by_{kind}" if kind == "kill" else f"left_{kind}")()
            mark = hash(frozenset(files.items()))
            if mark not in seen:
                seen.add(mark)
                yield number, kind, files


def snapshot(directory: Path, leave_out: Iterable[str] = ()) -> Files:
    """Every file and directory below a directory, without some folders."""
    outside = tuple(leave_out)
    return {
        name: None if path.is_dir() else path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if not (name := str(path.relative_to(directory))).startswith(outside or "\0")
    }


def restore(files: Files, directory: Path) -> None:
    """Writes a state into an empty directory."""
    directory.mkdir(parents=True)
    for path, content in sorted(files.items()):
        place = directory / path
        if content is None:
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
