"""A run in a few numbers, read from its files without Keras: what it translates, how far it is, how good, how large."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np

from nmt.aligning.directory import is_aligner
from nmt.config import RunConfig
from nmt.config.fields import settings_of
from nmt.errors import NmtError
from nmt.run.arrays import load_array, read_shapes
from nmt.run.directory import BEST, CHECKPOINTS, Run
from nmt.run.errors import PACK, RunError
from nmt.run.exported import export_kind, is_export
from nmt.run.history import history_numbers
from nmt.run.training_pairs import training_pairs
from nmt.training.state import STATE, TrainingState

_UNSAID = ("name", "directory")
"""Settings that say nothing about a run."""


@dataclass(frozen=True)
class RunSummary:
    """A run in a few numbers; None where its files do not say."""

    run: Run
    pairs: int | None
    """Training pairs."""
    parameters: int | None
    """Numbers in the best weights."""
    state: TrainingState | None
    """The training, from the newest checkpoint."""
    best_bleu: float | None
    """Best validation BLEU of greedy search."""
    best_loss: float | None
    """Lowest validation loss in nats per piece."""
    sizes: dict[str, int]
    """Bytes by group of files; see `file_sizes`."""
    changed: float
    """Time of the last change to its weights or settings, in seconds since 1970."""

    @classmethod
    def of(cls, directory: Path) -> RunSummary:
        """Reads a run directory or a pack, also while the run is in training.

        Raises:
            RunError: this is not a run, or it is damaged.
        """
        run = Run.open(directory)
        shapes = _weight_shapes(run)
        losses, bleus = (list(_column(run, f"validation_{metric}")) for metric in ("loss", "bleu"))
        files = [run.directory, run.directory / "config.json", run.best, *run.checkpoints()]
        return cls(
            run,
            pairs=_pairs(run),
            parameters=sum(map(math.prod, shapes.values())) if shapes else None,
            state=_state(run),
            best_bleu=max(bleus, default=None),
            best_loss=min(losses, default=None),
            sizes=file_sizes(run.directory),
            changed=max((found.st_mtime for found in map(_file_status, files) if found), default=0.0),
        )

    @property
    def is_export(self) -> bool:
        """Whether this is an exported run, which has no weights of its own."""
        return is_export(self.run.directory)

    @property
    def progress(self) -> str:
        """How far the training is, in words."""
        if self.run.is_pack:
            return "a pack, which has no training to resume"
        if self.is_export:
            return f"an export: {export_kind(self.run.directory) or 'damaged'}"
        if self.state is None:
            return "trained elsewhere" if self.run.has_weights else "not trained yet"
        if self.state.stopped_early:
            return "finished early"
        return "finished" if self.state.pass_index >= self.run.config.training.passes else "unfinished"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(self.sizes.values())

    def changes(self) -> dict[str, object]:
        """The settings that differ from the defaults, by dotted names."""
        config = self.run.config
        values = {setting.name: attrgetter(setting.name)(config) for setting in settings_of(RunConfig)}
        defaults = {setting.name: setting.default for setting in settings_of(RunConfig)}
        return {name: value for name, value in values.items() if value != defaults[name] and name not in _UNSAID}


def file_sizes(directory: Path) -> dict[str, int]:
    """Bytes of the files below a run directory: best weights, checkpoints, training text, and everything else.

    A pack is one file. Files that vanish meanwhile and folders that cannot be read do not count.
    """
    if pack := _file_status(directory):
        return {"pack": pack.st_size}
    groups = {BEST: "best weights", CHECKPOINTS: "checkpoints", "corpus": "training text"}
    sizes = dict.fromkeys([*groups.values(), "other files"], 0)
    for folder, _, names in os.walk(directory):
        for path in (Path(folder, name) for name in names):
            if found := _file_status(path):
                sizes[groups.get(path.relative_to(directory).parts[0], "other files")] += found.st_size
    return sizes


def find_runs(directory: Path, say: Callable[[str], None]) -> Iterator[Path]:
    """The run directories and packs in a directory and in the folders below it, by name; no hidden ones, no aligners.

    Args:
        say: takes a line on each folder that cannot be read; its runs are left out.
    """
    try:
        with os.scandir(directory) as entries:
            names = sorted(each.name for each in entries if _may_be_run(each))
    except OSError as error:
        say(f"{directory}: {error.strerror}")
        return
    for place in (directory / name for name in names):
        if place.suffix == PACK or _file_status(place / "config.json"):
            if not is_aligner(place):
                yield place
        elif not place.is_symlink():  # links may lead in a circle
            yield from find_runs(place, say)


def _may_be_run(entry: os.DirEntry[str]) -> bool:
    """Whether this is a folder, or a pack by its name."""
    return not entry.name.startswith(".") and (os.path.isdir(entry) or entry.name.endswith(PACK))


def _file_status(path: Path) -> os.stat_result | None:
    """Size and time of a file; None if there is no file, or it cannot be reached."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _weight_shapes(run: Run) -> dict[str, tuple[int, ...]]:
    """The shapes of the best weights by name; empty without weights."""
    if not run.has_weights:
        return {}
    with run.storage.peek(BEST) as file:
        return read_shapes(file)


def _column(run: Run, name: str) -> Iterator[float]:
    """The finite numbers in a column of history.csv, which may be missing or changed by hand."""
    try:
        rows = run.read_history()
    except RunError:
        return
    for row in rows:
        yield from (value for value in history_numbers(row, name) or () if math.isfinite(value))


def _pairs(run: Run) -> int | None:
    """The number of training pairs; the copy of the pairs, or the prepared corpus, may have been deleted."""
    if run.config.corpus.prepared:
        try:
            return len(training_pairs(run.directory, run.config))
        except NmtError:
            return None
    lengths = _file_status(run.directory / "corpus" / "source.lengths")
    return lengths.st_size // np.dtype(np.int32).itemsize if lengths else None


def _state(run: Run) -> TrainingState | None:
    """The training state in the newest checkpoint; None without a readable one."""
    try:
        return TrainingState.from_json(str(load_array(run.checkpoints()[-1], STATE)))
    except (IndexError, RunError, ValueError, TypeError, RecursionError):
        return None
