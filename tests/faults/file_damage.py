"""Damaged files of runs, packs, exports, aligners, prepared corpora and the cache: refused, or without effect."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from campaigns import Campaign, Point, Workshop, alternating
from command_faults import base, two_runs
from corruptions import (
    Damaged,
    damages,
    files_of,
    make_aligner,
    make_cache,
    make_guided_runs,
    make_prepared,
    make_runs,
)

from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.manifest import MANIFEST
from nmt.run.text_profile import load_profile
from nmt.run.verification import verify
from nmt.web import runtime

TOGETHER = 50
"""Damages of one file that are one point."""


def _exports(place: Path, workshop: Workshop) -> Damaged:
    """An export of the small run, and one in another precision."""
    for precision in ("float32", "int8"):
        words = f"export --model run --output {place}/{precision} --precision {precision}".split()
        assert workshop.forks().run(words, base(workshop)).returncode == 0
    files = tuple(name for name in files_of(place / "float32") if name != "README.md")
    return Damaged("export", place / "float32", files, _loaded_export, place / "int8")


def _loaded_export(path: Path) -> Any:
    from nmt.translation.inference.exported_model import ExportedModel

    run = Run.open(path)
    model = ExportedModel(path, run.target.size)
    return run.config, run.source.fingerprint, load_profile(path), model.export, model.fingerprint


def _web_folders(place: Path, workshop: Workshop) -> Damaged:
    """A folder for browsers, and one in another precision, with other bytes in the place of ONNX Runtime."""
    from nmt.exporting.export import export_run

    made = {}
    for name, (inner, _) in runtime.FILES.items():
        (file := place / "package" / inner).parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(name.encode() * 100)
        made[name] = inner, hashlib.sha256(file.read_bytes()).hexdigest()
    run = Run.open(base(workshop) / "run")
    with patch.object(runtime, "FILES", made):
        for precision in ("float32", "int8"):
            export_run(run, place / precision, "web", precision, runtime=place / "package")
    return Damaged("web folder", place / "float32", files_of(place / "float32"), _verified, place / "int8")


def _ctranslate2_exports(place: Path, workshop: Workshop) -> Damaged:
    """An export for CTranslate2, and one in another precision."""
    for precision in ("float32", "int8"):
        words = f"export --model other --format ctranslate2 --output {place}/{precision} --precision {precision}"
        assert (ended := workshop.forks().run(words.split(), two_runs(workshop))).returncode == 0, ended.stderr
    return Damaged("CTranslate2 export", place / "float32", files_of(place / "float32"), _verified, place / "int8")


def _verified(path: Path) -> Any:
    """The files of an export that other programs read, which `nmt verify` compares."""
    found = verify(path)
    if found.problems:
        raise NmtError(found.problems[0])
    return Run.open(path).config, {name: (path / name).read_bytes() for name in found.files}


def corruptions(what: str, workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Every file with every kind of damage, a thousand times, in random order. The kinds alternate."""
    place = workshop.folder(f"damaged-{what}")
    damaged = {
        "run": lambda: make_runs(place)[0],
        "pack": lambda: make_runs(place)[1],
        "export": lambda: _exports(place, workshop),
        "aligner": lambda: make_aligner(place),
        "guided": lambda: make_guided_runs(place),
        "prepared": lambda: make_prepared(place),
        "cache": lambda: make_cache(place),
        "web": lambda: _web_folders(place, workshop),
        "ctranslate2": lambda: _ctranslate2_exports(place, workshop),
    }[what]()
    kinds = [(damaged, damaged.load(damaged.path))]
    if (damaged.path / MANIFEST).is_file() and what != "prepared":  # which opens with a manifest only
        kinds.append((damaged.without_manifest(place / "old"), None))
    for number in range(1000 // TOGETHER):
        points = [point for one, whole in kinds for point in damages(one, whole, TOGETHER)]
        draw.shuffle(points)
        for name, attempt in alternating(points, lambda point: point[0].rsplit(" ", 1)[-1]):
            yield Point(f"{name} {number}", partial(_check, attempt, f"{name} {number}"))


def _check(attempt: Callable[[random.Random], int], seed: str, place: Path) -> None:
    attempt(random.Random(seed))


KINDS = {
    "run": "runs",
    "pack": "packs",
    "export": "exports",
    "aligner": "aligners",
    "guided": "runs with links",
    "prepared": "prepared corpora",
    "cache": "cache entries",
    "web": "web folders",
    "ctranslate2": "CTranslate2 exports",
}
CAMPAIGNS = [
    Campaign(f"damage-{what}", f"damaged {files}, {TOGETHER} a point", partial(corruptions, what), 10_000)
    for what, files in KINDS.items()
]
