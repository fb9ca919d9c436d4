"""Trainings killed at random moments: their end equals the training that nothing disturbed, to the bit."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import copy_task
import yaml
from campaigns import Campaign, Missed, Point, Workshop
from forking import REPOSITORY
from same_runs import require_same

KILLS = 3
"""Kills of one training, one after the other."""

EXACT = {
    "passes": 3,
    "deterministic": True,
    "log_every": 1,
    "batch_tokens": 100,
    "validate_every": 4,
    "checkpoints": {"every": 3},
    "precision": "float32",
    "live_view": False,
}
TINY = {
    "units": 8,
    "embedding": 8,
    "attention": {"units": 8},
    "transformer": {"heads": 2, "feed_forward": 16, "encoder_layers": 1, "decoder_layers": 1},
}
EXTRAS: dict[str, dict[str, Any]] = {
    "": {},
    "guided": {"training": {"guided": {"links": "train.align"}}},
    "accumulating": {"training": {"accumulate": 2}},
    "float16": {"training": {"precision": "mixed_float16"}},
    "guided+accumulating+float16": {
        "training": {"guided": {"links": "train.align"}, "accumulate": 2, "precision": "mixed_float16"}
    },
}
"""Changes of a training, by name."""


def _variants() -> dict[str, dict[str, Any]]:
    """The architectures of the demo's comparison, with tiny widths."""
    content = yaml.safe_load((REPOSITORY / "data" / "demo" / "variants.yaml").read_text())
    return {name: _without_schedule(changes or {}) for name, changes in content["variants"].items()}


def _without_schedule(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if name != "training"}


def cases() -> list[tuple[str, str, str]]:
    """Variant, extra and backend of each training."""
    all_of_tensorflow = [(variant, extra, "tensorflow") for variant in _variants() for extra in EXTRAS]
    without_attention = {("none", extra) for extra in EXTRAS if "guided" in extra}
    jax = [(variant, "", "jax") for variant in ("additive", "luong", "transformer", "mixed", "lstm")]
    jax += [(variant, extra, "jax") for variant in ("additive", "transformer") for extra in EXTRAS if extra]
    return [case for case in all_of_tensorflow if case[:2] not in without_attention] + jax


class Undisturbed:
    """A training that nothing disturbs."""

    def __init__(self, workshop: Workshop, case: tuple[str, str, str]) -> None:
        variant, extra, backend = case
        self.forks, name = workshop.forks(backend), "-".join(filter(None, case))
        self.place = workshop.folder(f"undisturbed-{name}")
        copy_task.write_corpus(self.place, train=80, validation=6)
        settings = copy_task.merged(copy_task.fields(Path(".")), {"training": EXACT, "model": TINY})
        for changes in (_variants()[variant], EXTRAS[extra]):
            settings = copy_task.merged(settings, changes)
        del settings["directory"]
        (self.place / "config.yaml").write_text(json.dumps(settings))
        start = time.monotonic()
        self.train("whole")
        self.seconds = time.monotonic() - start

    def train(self, name: str, kill_after: float = 0) -> int:
        """Trains, or goes on with, a run of this name; returns the exit code."""
        words = ["train", "--config", "config.yaml", "--name", "run", "--directory", name]
        ended = self.forks.run(words, self.place, kill_after=kill_after)
        assert "Traceback" not in ended.stderr, ended.stderr
        assert kill_after or ended.returncode == 0, ended.stderr
        return ended.returncode

    def check(self, moments: list[float], place: Path) -> None:
        """Kills the training at these shares of its time, goes on, and compares.

        Raises:
            Missed: each kill came before the run was set up, or after its end.
        """
        shutil.rmtree(self.place / "killed", ignore_errors=True)
        run, hits = self.place / "killed" / "run", 0
        for moment in moments:
            if self.train("killed", kill_after=0.3 + moment * self.seconds) == 0:
                break
            hits += (run / "config.json").exists()
        self.train("killed")
        require_same(run, self.place / "whole" / "run")
        if not hits:
            raise Missed


def kills(workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """All cases in random order, again and again, each time with other moments."""
    undisturbed: dict[tuple[str, str, str], Undisturbed] = {}

    def check(case: tuple[str, str, str], moments: list[float], place: Path) -> None:
        if case not in undisturbed:
            undisturbed[case] = Undisturbed(workshop, case)
        undisturbed[case].check(moments, place)

    for number in range(1000):
        order = cases()
        draw.shuffle(order)
        for case in order:
            moments = [draw.random() for _ in range(KILLS)]
            yield Point(" ".join(filter(None, (*case, str(number)))), partial(check, case, moments))


CAMPAIGNS = [Campaign("kills", "random kills of trainings", kills, 200, 8)]
