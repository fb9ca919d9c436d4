"""Every stop, and every error at every change, of the writers that need neither Keras nor TensorFlow."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import disk
from campaigns import Campaign, Point, Workshop, alternating
from command_faults import ERRORS
from commands import environment
from writers import LEAVES_PARTS, TIMES, WRITERS

PROGRAM = str(Path(__file__).with_name("writers.py"))


def run_writer(writer: str, directory: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs a writer in a process of its own."""
    command = [sys.executable, PROGRAM, writer, str(directory)]
    return subprocess.run(command, env=environment() | variables, capture_output=True, text=True)


def trace(writer: str, library: Path, place: Path) -> tuple[list[disk.Change], disk.Files]:
    """The changes of a writer that nothing disturbs, and the files that it leaves."""
    (root := place / "root").mkdir()
    done = run_writer(writer, root, disk.watched(library, root, place / "record"))
    assert done.returncode == 0, done.stderr
    return disk.read_changes(place / "record"), disk.snapshot(root)


def require_end(writer: str, directory: Path, files: disk.Files, stop: str) -> None:
    """Requires the files of an undisturbed writer; a stop before the last deletion may keep an older checkpoint."""
    found = disk.snapshot(directory)
    assert [path for path in files if found.get(path, 0) != files[path] and Path(path).name != TIMES] == [], stop
    more = found.keys() - files.keys()
    if writer in LEAVES_PARTS:
        more = {path for path in more if not any(part.endswith(".part") for part in Path(path).parts)}
    assert len(more) <= 1 and all(path.startswith("checkpoints/0") for path in more), stop


def meet(writer: str, files: disk.Files, library: Path, at: int, fault: int, place: Path) -> None:
    """A process meets a fault; the next call goes on."""
    (root := place / "root").mkdir()
    done = run_writer(writer, root, disk.watched(library, root, at=at, fault=fault))
    assert done.returncode in ((-9,) if fault in (disk.KILL, disk.HALF_AND_KILL) else (0, 1)), done.stderr
    WRITERS[writer](root)
    require_end(writer, root, files, f"{at} {fault}")


def errors(workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Every error at every change of every writer, in random order. Writers and errors alternate."""
    by_writer = {}
    for place, writer in enumerate(WRITERS):
        changes, files = trace(writer, workshop.library, workshop.folder(f"trace-{writer}"))
        points = [
            Point(f"{writer} change {at} {name}", partial(meet, writer, files, workshop.library, at, fault))
            for at in range(1, len(changes) + 1)
            for name, fault in ERRORS.items()
        ]
        draw.shuffle(points)
        by_writer[writer] = alternating(points, lambda point: point.name.rsplit(" ", 1)[-1], place)
    yield from alternating(chain(*by_writer.values()), lambda point: point.name.split(" ", 1)[0])


CAMPAIGNS = [Campaign("writer-errors", "writers: errors of the disk at every change", errors, 10_000, 6)]
