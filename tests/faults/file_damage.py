"""Damaged files of runs, packs, exports and aligners: refused, or without effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from campaigns import Campaign, Point, Workshop
from command_faults import base
from corruptions import Damaged, damages, make_aligner, make_runs

from nmt.run.directory import Run
from nmt.run.text_profile import load_profile

TOGETHER = 50
"""Damages of one file that are one point."""


def _exports(place: Path, workshop: Workshop) -> Damaged:
    """An export of the small run, and one in another precision."""
    for precision in ("float32", "int8"):
        words = f"export --model run --output {place}/{precision} --precision {precision}".split()
        assert workshop.forks().run(words, base(workshop)).returncode == 0
    path = place / "float32"
    files = tuple(sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()))
    return Damaged("export", path, tuple(name for name in files if name != "README.md"), _loaded_export, place / "int8")


def _loaded_export(path: Path) -> Any:
    from nmt.translation.inference.exported_model import ExportedModel

    run = Run.open(path)
    model = ExportedModel(path, run.target.size)
    return run.config, run.source.fingerprint, load_profile(path), model.export, model.fingerprint


def corruptions(what: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Every file with every kind of damage, a thousand times, in random order."""
    place = workshop.folder(f"damaged-{what}")
    damaged = {
        "run": lambda: make_runs(place)[0],
        "pack": lambda: make_runs(place)[1],
        "export": lambda: _exports(place, workshop),
        "aligner": lambda: make_aligner(place),
    }[what]()
    kinds = [(damaged, damaged.load(damaged.path))]
    if damaged.path.is_dir():
        kinds.append((damaged.without_manifest(place / "old"), None))
    for number in range(1000 // TOGETHER):
        points = [point for one, whole in kinds for point in damages(one, whole, TOGETHER)]
        draw.shuffle(points)
        for name, attempt in points:
            yield Point(f"{name} {number}", partial(_check, attempt, f"{name} {number}"))


def _check(attempt: Callable[[random.Random], int], seed: str, place: Path) -> None:
    attempt(random.Random(seed))


CAMPAIGNS = [
    Campaign(f"damage-{what}", f"damaged files of {what}s, {TOGETHER} a point", partial(corruptions, what), 10_000)
    for what in ("run", "pack", "export", "aligner")
]
