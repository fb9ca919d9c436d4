"""A server whose model is replaced: in every state of its files it keeps the old model, or loads a whole new one."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import disk
import fake_translator
from campaigns import Campaign, Point, Workshop, alternating
from command_faults import run, two_runs
from commands import environment

from nmt.cli.serve import load_model
from nmt.run.directory import BEST, SHORT_LIST, Run
from nmt.serving.models import ServedModel

Model = tuple[str, ...]
"""Sums of all that a server takes from the files of a model: settings, vocabularies, weights, short list."""


class Replacement(NamedTuple):
    """How the files of a model are replaced.

    Attributes:
        served: the directory or pack that the server answers with.
        words: a command of nmt, or Python statements behind `python`.
        atomic: whether each state is a whole model. Otherwise a state may be refused.
        loads: whether the server loads the new files. It writes short lists itself, and does not watch them.
    """

    served: str
    words: str
    atomic: bool = True
    loads: bool = True


REPLACEMENTS = {
    "tune": Replacement("run", "tune --model run --source in.source --target in.target --save --beam-size 2"),
    "short-list": Replacement(
        "run", "translate --model run --input in.source --output short.txt --short-list 10", loads=False
    ),
    "train": Replacement(
        "run", "train --config config.yaml --name run --directory . --training.passes 3 --training.validate_every 3"
    ),
    "pack": Replacement("model.nmt", "pack --model other --output model.nmt"),
    "copied": Replacement(
        "run", "python import shutil; shutil.rmtree('run'); shutil.copytree('other', 'run')", atomic=False
    ),
    "renamed": Replacement("run", "python import os; os.rename('run', 'old'); os.rename('other', 'run')", atomic=False),
}


def model_at(path: Path) -> Model:
    """The model of a run directory or pack."""
    opened = Run.open(path)
    arrays = [opened.weights(), opened.load_short_list() if opened.storage.exists(SHORT_LIST) else {}]
    sums = [hashlib.sha256(b"".join(part[name].tobytes() for name in sorted(part))).hexdigest() for part in arrays]
    return (str(opened.config.search), opened.source.fingerprint, opened.target.fingerprint, *sums)


def two_models(workshop: Workshop) -> Path:
    """Two runs, and a pack of the first one."""
    place = workshop.place / "base-reloads"
    if not place.exists():
        disk.restore(disk.snapshot(two_runs(workshop)), place)
        ended = run(workshop, "pack --model run --output model.nmt", place)
        assert ended.returncode == 0, ended.stderr
    return place


class Replaced:
    """A replacement, its changes, and the models that are whole.

    Args:
        workshop: runs it.
        name: of `REPLACEMENTS`.
    """

    def __init__(self, workshop: Workshop, name: str) -> None:
        self.how = REPLACEMENTS[name]
        self.before = disk.snapshot(two_models(workshop))
        record = workshop.folder(f"record-replaced-{name}") / "record"
        shutil.rmtree(place := workshop.place / f"replaced-{name}", ignore_errors=True)
        disk.restore(self.before, place)
        old = model_at(place / self.how.served)
        self._replace(workshop, place, record)
        self.changes = disk.read_changes(record)
        self.new = model_at(place / self.how.served)
        assert self.new != old, "nothing was replaced"
        self.whole = {old, self.new, *self._between(place)}
        """The models that a server may answer with."""

    def _replace(self, workshop: Workshop, place: Path, record: Path) -> None:
        program, _, statements = self.how.words.partition(" ")
        if program != "python":
            ended = run(workshop, self.how.words, place, root=place, record=record)
            assert ended.returncode == 0, ended.stderr
            return
        variables = environment() | disk.watched(workshop.library, place, record)
        subprocess.run([sys.executable, "-c", statements], cwd=place, env=variables, check=True)

    def _between(self, place: Path) -> Iterator[Model]:
        """The models that a training makes one after the other: each time that it has replaced the best weights."""
        replayed, best = disk.Disk(self.before), f"{self.how.served}/{BEST}"
        for change in self.changes:
            replayed.follow(change)
            if self.how.atomic and change.kind == "rename" and change.second == best:
                shutil.rmtree(place)
                disk.restore(replayed.left_by_kill(), place)
                yield model_at(place / self.how.served)

    def check(self, number: int, kind: str, state: disk.Files, place: Path) -> None:
        """A server that runs meets the state that a kill of the writer leaves; a power loss ends the server too."""
        disk.restore(self.before if kind == "kill" else state, root := place / "root")
        server = Server(root / self.how.served)
        if kind != "kill":
            server.model.load()
            self._require(server)
            return
        server.begin()
        put(state, root)
        server.look()
        assert server.model.state == "ready" and server.loaded in self.whole, "the server mixes two models"
        if self.how.loads and number == len(self.changes):
            assert server.loaded == self.new, "the server has not loaded the new model"

    def _require(self, server: Server) -> None:
        """Requires a whole model, or where a state may be half of two models a refusal."""
        if self.how.atomic:
            assert server.model.state == "ready", "the server does not start with what the power loss has left"
        assert server.loaded is None or server.loaded in self.whole, "the server mixes two models"


class Server:
    """A served model that is loaded as `nmt serve` loads it, but never computes.

    Args:
        path: of the run or pack.
    """

    def __init__(self, path: Path) -> None:
        self.loaded: Model | None = None
        """The newest model that was loaded."""
        self.model = ServedModel("model", path, self._load)
        self._builds = True

    def _load(self, path: Path) -> fake_translator.Translator:
        if self._builds:
            load_model(path, precision="float32")
        self.loaded = model_at(path)
        return fake_translator.Translator()

    def begin(self) -> None:
        """Loads the old model, without its network, which takes seconds."""
        self._builds = False
        self.model.load()
        self._builds = True

    def look(self) -> None:
        """Two looks at the files: they have settled at the second one."""
        for _ in range(2):
            self.model.load_if_replaced()


def put(files: disk.Files, directory: Path) -> None:
    """Makes a directory equal to a state, and leaves equal files alone."""
    found = disk.snapshot(directory)
    for path in sorted(found.keys() - files.keys(), reverse=True):
        (directory / path).rmdir() if found[path] is None else (directory / path).unlink()
    for path, content in sorted(files.items()):
        if content is None:
            (directory / path).mkdir(exist_ok=True)
        elif found.get(path) != content:
            (directory / path).write_bytes(content)


def reloads(name: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Each state of a replacement, in random order."""
    replaced = Replaced(workshop, name)
    states = list(disk.states(replaced.before, replaced.changes))
    draw.shuffle(states)
    for number, kind, state in alternating(states, lambda point: point[1], list(REPLACEMENTS).index(name)):
        yield Point(f"change {number} {kind}", partial(replaced.check, number, kind, state))


CAMPAIGNS = [
    Campaign(f"reload-{name}", f"a served model is replaced ({name}): kills, power losses", partial(reloads, name), 40)
    for name in REPLACEMENTS
]
