"""Commands stopped at any change of the disk, or met by an error there: the same command ends with the same files."""

from __future__ import annotations

import errno
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import copy_task
import disk
from campaigns import Campaign, Point, Workshop
from forking import Ended
from same_runs import require_same

from nmt.errors import NmtError
from nmt.run.directory import Run

ERRORS = {
    **{name: getattr(errno, name) for name in ("ENOSPC", "EIO", "EDQUOT", "EINTR", "EMFILE")},
    "short": disk.SHORT,
    "half-and-kill": disk.HALF_AND_KILL,
}

SMALL = {"units": 8, "embedding": 8, "attention": {"units": 8}}
TRAINING = {
    "passes": 2,
    "deterministic": True,
    "log_every": 1,
    "batch_tokens": 300,
    "checkpoints": {"every": 2, "keep": 2},
}


class Command(NamedTuple):
    """A command that writes files.

    Attributes:
        words: its arguments.
        refuses: the message with which it refuses once its result is there; empty: it can be repeated.
        reader: reads the directory, and succeeds or raises `NmtError` in every state.
    """

    words: str
    refuses: str = ""
    reader: Callable[[Path], object] | None = None


def _read_run(directory: Path) -> None:
    """Reads all that a server or another command reads of the runs in a directory."""
    for path in (directory / "run", directory / "made"):
        if (path / "config.json").exists():
            run = Run.open(path)
            if run.has_weights:
                run.weights()


COMMANDS = {
    "train": Command("train --config config.yaml --name made --directory .", reader=_read_run),
    "translate": Command("translate --model run --input in.source --output out.txt --alignments out.links --resume"),
    "align": Command(
        "align --model run --source in.source --target in.target --output aligned --limit 2 --format html"
    ),
    "tune": Command("tune --model run --source in.source --target in.target --save --beam-size 2", reader=_read_run),
    "distil": Command(
        "distil --model run --source in.source --target in.target --output-source d.source --output-target d.target "
        "--resume"
    ),
    "back-translate": Command(
        "back-translate --model run --source in.source --output-source b.source --output-target b.target --resume"
    ),
    "short-list": Command(
        "translate --model run --input in.source --output short.txt --short-list 10", reader=_read_run
    ),
    "aligner": Command(
        "aligner --source in.source --target in.target --output aligner --lexicon-epochs 2 --jump-epochs 1 "
        "--fertility-epochs 1 --links out.links"
    ),
    "export": Command("export --model run --output export", "already exists"),
    "pack": Command("pack --model run --output model.nmt"),
    "clean": Command(
        "clean --source train.source --target train.target --output-source c.source --output-target c.target"
    ),
    "hold-out": Command(
        "hold-out --source train.source --target train.target --output-source h.source --output-target h.target "
        "--rest-source r.source --rest-target r.target --pairs 10"
    ),
}


def base(workshop: Workshop) -> Path:
    """A directory with text, a configuration and a small trained run."""
    place = workshop.place / "base"
    if (place / "run").exists():
        return place
    place = workshop.folder("base")
    copy_task.write_corpus(place, train=60, validation=6)
    for side in ("source", "target"):
        lines = (place / f"train.{side}").read_text().splitlines()
        copy_task.write_lines(place / f"in.{side}", lines[:20])
    fields = copy_task.fields(Path("."))
    settings = copy_task.merged(fields, {"model": SMALL, "training": TRAINING})
    del settings["directory"]
    (place / "config.yaml").write_text(json.dumps(settings))
    _require_done(run(workshop, "train --config config.yaml --name run --directory .", place))
    return place


def run(workshop: Workshop, words: str, place: Path, **fault: Any) -> Ended:
    """Runs `nmt WORDS` in a directory, with a fault of `Forks.run`."""
    return workshop.forks().run(words.split(), place, **fault)


def _require_done(ended: Ended) -> None:
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr


class Traced:
    """A command from start to end: the files before, the changes, and the directory afterwards."""

    def __init__(self, workshop: Workshop, name: str) -> None:
        self.workshop, self.name, self.command = workshop, name, COMMANDS[name]
        self.before = disk.snapshot(base(workshop))
        record = workshop.folder(f"record-{name}") / "record"
        self.end = workshop.place / f"end-{name}"
        shutil.rmtree(self.end, ignore_errors=True)
        disk.restore(self.before, self.end)
        _require_done(run(workshop, self.command.words, self.end, root=self.end, record=record))
        self.changes = disk.read_changes(record)
        assert self.changes, "the command changed nothing"

    def require_end(self, place: Path) -> None:
        """Requires the files of the command that nothing disturbed."""
        if self.name == "train":
            require_same(place / "made", self.end / "made")
            return
        found, expected = (read_files(directory) for directory in (place, self.end))
        assert found.keys() == expected.keys(), sorted(found.keys() ^ expected.keys())
        assert [name for name in expected if found[name] != expected[name]] == []

    def goes_on(self, place: Path) -> None:
        """The same command ends well, and so does a command that finds the result there already."""
        ended = run(self.workshop, self.command.words, place)
        assert "Traceback" not in ended.stderr, ended.stderr
        if not (ended.returncode == 2 and self.command.refuses and self.command.refuses in ended.stderr):
            _require_done(ended)
        self.require_end(place)

    def read(self, place: Path) -> None:
        """A reader finds a usable directory, or says in a line what is wrong."""
        if self.command.reader:
            try:
                self.command.reader(place)
            except NmtError as error:
                assert "\n" not in str(error)

    def stop(self, state: disk.Files, place: Path) -> None:
        """Goes on from the state that a stop has left."""
        disk.restore(state, place / "root")
        self.read(place / "root")
        self.goes_on(place / "root")

    def error(self, at: int, fault: str, place: Path) -> None:
        """Meets an error, says so in lines, and goes on later."""
        disk.restore(self.before, root := place / "root")
        met = run(self.workshop, self.command.words, root, root=root, at=at, fault=ERRORS[fault])
        assert "Traceback" not in met.stderr, met.stderr
        assert met.returncode in ((-9, 0) if fault == "half-and-kill" else (0, 2)), met
        assert met.returncode != 2 or re.search("nmt: ", met.stderr), met
        self.read(root)
        self.goes_on(root)


def read_files(directory: Path) -> disk.Files:
    """Files but for hidden ones, the cache, and times in their content."""
    return {
        name: content
        for name, content in disk.snapshot(directory).items()
        if not any(part.startswith(".") for part in Path(name).parts)
    }


def stops(name: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """The different states that a kill or a power loss can leave, in random order."""
    traced = Traced(workshop, name)
    found = list(disk.states(traced.before, traced.changes))
    draw.shuffle(found)
    for number, kind, state in found:
        yield Point(f"change {number} {kind}", partial(traced.stop, state))


def errors(name: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Each error at each change, in random order."""
    traced = Traced(workshop, name)
    points = [(at, fault) for at in range(1, len(traced.changes) + 1) for fault in ERRORS]
    draw.shuffle(points)
    for at, fault in points:
        yield Point(f"change {at} {fault}", partial(traced.error, at, fault))


CAMPAIGNS = [
    Campaign(f"{name}-{what.__name__}", about.format(name), partial(what, name), 100 if name == "train" else 40)
    for what, about in ((stops, "nmt {}: kills and power losses"), (errors, "nmt {}: errors of the disk"))
    for name in COMMANDS
]
