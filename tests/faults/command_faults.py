"""Commands that stop or meet an error at any change of the disk: repeated, they end with equal files."""

from __future__ import annotations

import errno
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import copy_task
import disk
from campaigns import Campaign, Point, Workshop, alternating
from forking import Ended
from same_runs import require_same

from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.prepared_manifest import read_prepared

REFUSED = {name: getattr(errno, name) for name in ("EMFILE", "EIO")}
"""Errors of an open for reading."""

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
        makes: a run, which is compared by its weights in place of its files.
        without: folders and files that are deleted before the command.
        setup: a command that must have run before.
        varying: names of files whose content may differ.
    """

    words: str
    refuses: str = ""
    reader: Callable[[Path], object] | None = None
    makes: str = ""
    without: tuple[str, ...] = ()
    setup: str = ""
    varying: tuple[str, ...] = ()


def _read_run(directory: Path) -> None:
    """Reads all that a server or another command reads of the runs in a directory."""
    for path in (directory / name for name in ("run", "made", "cold")):
        if (path / "config.json").exists():
            run = Run.open(path)
            if run.has_weights:
                run.weights()


OTHER = (
    "train --config config.yaml --name other --directory . --model.architecture transformer "
    "--model.transformer.heads 2 --model.words_in_readout false --vocabulary.size 50 --training.seed 5 "
    "--training.passes 1"
)
"""A run that CTranslate2 can compute."""
SWEEP = "sweep --space space.yaml --output search --trials 1"
COMPARE = "compare --variants variants.yaml --output compared"

COMMANDS = {
    "train": Command("train --config config.yaml --name made --directory .", reader=_read_run, makes="made"),
    "train-cold": Command(
        "train --config config.yaml --name cold --directory .", reader=_read_run, makes="cold", without=(".cache",)
    ),
    "prepare": Command(
        "prepare --output prepared --processes 1 --corpus.train.source train.source --corpus.train.target train.target "
        "--corpus.held_out 5 --vocabulary.type word --vocabulary.size 60",
        reader=lambda directory: read_prepared(directory / "prepared"),
    ),
    "translate": Command("translate --model run --input in.source --output out.txt --alignments out.links --resume"),
    "translate-whole": Command("translate --model run --input in.source --output whole.txt --alignments whole.links"),
    "evaluate": Command(
        "evaluate --model run --source in.source --target in.target --output scored.txt --json scores.json"
    ),
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
    # A model card leaves out the numbers that cannot be read.
    "export": Command("export --model run --output export", "already exists", varying=("README.md", "manifest.json")),
    "pack": Command("pack --model run --output model.nmt"),
    "clean": Command(
        "clean --source train.source --target train.target --output-source c.source --output-target c.target"
    ),
    "hold-out": Command(
        "hold-out --source train.source --target train.target --output-source h.source --output-target h.target "
        "--rest-source r.source --rest-target r.target --pairs 10"
    ),
    "sweep-report": Command(SWEEP, without=("search/trials.csv", "search/trials.png", "search/best.yaml"), setup=SWEEP),
    "compare-report": Command(f"{COMPARE} --report-only", without=("compared/report.md",), setup=COMPARE),
}
MIXED = [name for name, command in COMMANDS.items() if not command.setup]
"""Commands that need nothing but the base directory."""


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
    (place / "space.yaml").write_text(json.dumps({"config": "config.yaml", "space": {"model.units": {"choices": [8]}}}))
    variants = {"config": "config.yaml", "test": {side: f"in.{side}" for side in ("source", "target")}, "seeds": 1}
    (place / "variants.yaml").write_text(json.dumps(variants | {"variants": {"small": {}}}))
    _require_done(run(workshop, "train --config config.yaml --name run --directory .", place))
    return place


def two_runs(workshop: Workshop) -> Path:
    """The base directory with a second run of other weights, another vocabulary and another architecture."""
    place = workshop.place / "base-two"
    if not place.exists():
        disk.restore(disk.snapshot(base(workshop)), place)
        _require_done(run(workshop, OTHER, place))
    return place


def files_before(workshop: Workshop, command: Command) -> disk.Files:
    """The base directory, made ready for a command."""
    if not command.setup:
        return _without(disk.snapshot(base(workshop)), command.without)
    place = workshop.place / f"base-{command.setup.split()[0]}"
    if not place.exists():
        disk.restore(disk.snapshot(base(workshop)), place)
        _require_done(run(workshop, command.setup, place))
    return _without(disk.snapshot(place), command.without)


def _without(files: disk.Files, names: Sequence[str]) -> disk.Files:
    """The files that have none of these names, and lie in no folder of such a name."""
    return {path: content for path, content in files.items() if not any(f"{path}/".startswith(f"{n}/") for n in names)}


def run(workshop: Workshop, words: str, place: Path, **fault: Any) -> Ended:
    """Runs `nmt WORDS` in a directory, with a fault of `Forks.run`."""
    return workshop.forks().run(words.split(), place, **fault)


def _require_done(ended: Ended) -> None:
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr, ended.stderr


class Traced:
    """A command from start to end: the files before, changes and opens for reading, and the directory afterwards.

    Args:
        workshop: runs it.
        name: of the command.
    """

    def __init__(self, workshop: Workshop, name: str) -> None:
        self.workshop, self.command = workshop, COMMANDS[name]
        self.before = files_before(workshop, self.command)
        record = workshop.folder(f"record-{name}") / "record"
        self.end = workshop.place / f"end-{name}"
        shutil.rmtree(self.end, ignore_errors=True)
        disk.restore(self.before, self.end)
        _require_done(run(workshop, self.command.words, self.end, root=self.end, record=record))
        self.changes, self.opens = disk.read_changes(record), disk.read_opens(record)
        assert self.changes, "the command changed nothing"

    def require_end(self, place: Path) -> None:
        """Requires the files of the command that nothing disturbed."""
        if made := self.command.makes:
            require_same(place / made, self.end / made)
            return
        found, expected = (read_files(directory) for directory in (place, self.end))
        assert found.keys() == expected.keys(), sorted(found.keys() ^ expected.keys())
        different = [
            name for name in expected if found[name] != expected[name] and Path(name).name not in self.command.varying
        ]
        assert not different, f"different: {different}"

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

    def error(self, at: int, fault: int, reads: bool, place: Path) -> None:
        """Meets an error, says so in lines, and goes on later.

        Args:
            at: number of the change, or with `reads` of the open, that fails.
            fault: see `disk.watched`.
            reads: an open for reading fails, not a change.
            place: an empty directory.
        """
        disk.restore(self.before, root := place / "root")
        met = run(self.workshop, self.command.words, root, root=root, at=at, fault=fault, reads=reads)
        assert "Traceback" not in met.stderr, met.stderr
        assert met.returncode in ((-9, 0) if fault == disk.HALF_AND_KILL else (0, 2)), met
        assert met.returncode != 2 or re.search("nmt: ", met.stderr), met
        assert "standard output" not in met.stderr, met.stderr  # no fault is there: a file's name was lost
        if disk.snapshot(root) != self.before:  # else the next command would be the undisturbed one again
            self.read(root)
            self.goes_on(root)


def traced(workshop: Workshop, name: str) -> Traced:
    """The command, run once for all its campaigns."""
    if f"traced {name}" not in workshop.shared:
        workshop.shared[f"traced {name}"] = Traced(workshop, name)
    found: Traced = workshop.shared[f"traced {name}"]
    return found


TIMES = {"inputs.json", "study.log"}
"""Files that hold the times of other files, or of trials."""
DATE = re.compile(rb"\d{4}-\d\d-\d\d")
"""The date of a report, which changes at midnight."""


def read_files(directory: Path) -> disk.Files:
    """Files but for hidden ones, the cache, and times in their content."""
    return {
        name: DATE.sub(b"", content) if name.endswith("report.md") else content
        for name, content in disk.snapshot(directory).items()
        if not any(part.startswith(".") or part in TIMES for part in Path(name).parts)
    }


def stops(name: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """The different states that a kill or a power loss can leave, in random order."""
    command = traced(workshop, name)
    found = list(disk.states(command.before, command.changes))
    draw.shuffle(found)
    for number, kind, state in alternating(found, lambda point: point[1], _number(name)):
        yield Point(f"change {number} {kind}", partial(command.stop, state))


def errors(name: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Each error at each change, in random order."""
    return _errors_at_events(name, workshop, draw, ERRORS, reads=False)


def opens(name: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Each refusal of each open for reading, in random order."""
    return _errors_at_events(name, workshop, draw, REFUSED, reads=True)


def _errors_at_events(
    name: str, workshop: Workshop, draw: random.Random, faults: Mapping[str, int], reads: bool
) -> Iterator[Point]:
    command = traced(workshop, name)
    events = command.opens if reads else command.changes
    points = [(at, fault) for at in range(1, len(events) + 1) for fault in faults]
    draw.shuffle(points)
    for at, fault in alternating(points, lambda point: point[1], _number(name)):
        yield Point(f"{'open' if reads else 'change'} {at} {fault}", partial(command.error, at, faults[fault], reads))


def _number(name: str) -> int:
    """Place of a command among all: the kind of fault with which its campaigns begin."""
    return list(COMMANDS).index(name)


MANY = {"train": 100, "train-cold": 100, "prepare": 100}
"""Points of commands that make many changes; of the others 40."""

CAMPAIGNS = [
    Campaign(
        f"{name}-{what.__name__}", about.format(name), partial(what, name), MANY.get(name, 40), MANY.get(name, 40) / 40
    )
    for what, about in (
        (stops, "nmt {}: kills and power losses"),
        (errors, "nmt {}: errors of the disk"),
        (opens, "nmt {}: refused opens for reading"),
    )
    for name in COMMANDS
]
