"""A training stopped at any change of the disk, or met by an error there: the same command ends with the same run.

`NMT_FAULT_STATES` says how many of the states, and of the errors, are drawn; a failure names the one to try again.
"""

from __future__ import annotations

import errno
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import copy_task
import disk
import pytest
from commands import environment, nmt
from same_runs import require_same

pytestmark = pytest.mark.slow

COUNT = int(os.environ.get("NMT_FAULT_STATES", "6"))
COMMAND = "train --config config.yaml --name run --directory {}"
ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EMFILE, disk.SHORT, disk.HALF_AND_KILL)


@dataclass
class Traced:
    """A training from start to end, and the changes that it made.

    Attributes:
        place: working directory, with the configuration.
        run: the finished run.
    """

    place: Path
    run: Path
    changes: list[disk.Change]


@pytest.fixture(scope="module")
def traced(library, tmp_path_factory) -> Traced:
    place = tmp_path_factory.mktemp("training")
    copy_task.write_corpus(place, train=120, validation=10)
    training = {"passes": 2, "deterministic": True, "log_every": 1, "checkpoints": {"every": 3, "keep": 2}}
    settings = copy_task.merged(copy_task.fields(place), {"training": training})
    (place / "config.yaml").write_text(json.dumps(settings))
    (root := place / "whole").mkdir()
    variables = disk.watched(library, root, place / "record")
    done = train(place, root, variables)
    assert done.returncode == 0, done.stderr
    return Traced(place, root / "run", disk.read_changes(place / "record"))


def train(place: Path, root: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nmt", *COMMAND.format(root).split()]
    return subprocess.run(command, cwd=place, env=environment() | variables, capture_output=True, text=True)


def drawn(traced: Traced) -> Iterator[tuple[int, str, disk.Files]]:
    """Some of the different states, spread over the training."""
    found = list(disk.states({}, traced.changes))
    yield from random.Random(1).sample(found, min(COUNT, len(found)))


def test_a_training_goes_on_after_any_stop_with_the_same_results(traced, tmp_path):
    for number, kind, state in drawn(traced):
        root = tmp_path / f"{number}-{kind}"
        disk.restore(state, root)
        nmt(COMMAND.format(root), traced.place)
        require_same(root / "run", traced.run)
        shutil.rmtree(root)


def test_a_training_that_meets_an_error_says_so_in_lines_and_goes_on_later(traced, library, tmp_path):
    draw = random.Random(2)
    for number in range(COUNT):
        at, fault = draw.randint(1, len(traced.changes)), ERRORS[number % len(ERRORS)]
        (root := tmp_path / f"{at}-{fault}").mkdir()
        met = train(traced.place, root, disk.watched(library, root, at=at, fault=fault))
        case = f"change {at}, fault {fault}: {met.stderr}"
        assert "Traceback" not in met.stderr, case
        assert met.returncode in ((-9,) if fault == disk.HALF_AND_KILL else (0, 2)), case
        assert met.returncode or fault == disk.SHORT or re.search("nmt: ", met.stderr), case
        nmt(COMMAND.format(root), traced.place)
        require_same(root / "run", traced.run)
        shutil.rmtree(root)
