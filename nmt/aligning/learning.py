"""The training of an aligner by expectation maximisation. It resumes at any batch and ends with an equal model."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt.aligning import fertility
from nmt.aligning.batches import PairBatch, make_pair_batch, planned_batches
from nmt.aligning.directory import CHECKPOINT, CORPUS, WEIGHTS, AlignerDirectory
from nmt.aligning.model import NAMES, AlignmentModel, Counts, Statistics
from nmt.aligning.stems import StemPrior, stem_priors
from nmt.aligning.vocabulary import WordVocabulary
from nmt.batches.background import in_background
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.errors import NmtError
from nmt.progress import StatusLine, counted, duration
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.errors import RunError

PLAIN_EPOCHS = 2
"""First epochs without the sparse prior, which would decide between translations before they are known."""
SAVED_EVERY = 300.0
"""Seconds between two checkpoints within an epoch."""
AHEAD = 4
"""Finished batches that wait at most."""
STATE = "state"
"""The name of the state among the arrays of a checkpoint."""
COUNTED = ("cells", "empty", "jumps", "fertilities")


@dataclass
class State:
    """How far a training has come."""

    epoch: int = 0
    """Finished epochs."""
    batch: int = 0
    """Finished batches of the current epoch."""


def learn(made: AlignerDirectory, interrupted: threading.Event | None = None) -> bool:
    """Trains an aligner to its end, or to an interruption, from its newest checkpoint on.

    Args:
        made: a directory that `prepare` set up.
        interrupted: ends the training after the current batch when it is set.

    Returns:
        Whether the training is finished.

    Raises:
        NmtError: a damaged checkpoint or corpus.
    """
    if (made.path / WEIGHTS).exists() and not (made.path / CHECKPOINT).exists():
        return True
    return Learning(made).run(interrupted or threading.Event())


class Learning:
    """A training: the pairs, the model, and the counts of the current epoch.

    Args:
        made: settings, units and pairs.
    """

    def __init__(self, made: AlignerDirectory) -> None:
        self.made, self.config = made, made.config
        self.corpus, self.cooccurrence = EncodedCorpus(made.path / CORPUS), made.cooccurrence()
        sizes = [units.size for units in made.units]
        self.corpus.require_ids(*sizes)
        self.batches = sum(1 for _ in self._rows())
        frequencies = [_frequencies(ids, size) for ids, size in zip(self._ids, sizes, strict=True)]
        stems = self._stems(frequencies)
        self.statistics = [
            Statistics(by, np.bincount(by, minlength=size), generated, stem)
            for by, size, generated, stem in zip(
                map(self.cooccurrence.words, (0, 1)), sizes, reversed(frequencies), stems, strict=True
            )
        ]
        self.state, self.status = State(), StatusLine()
        self.model = AlignmentModel.untrained(self.statistics, self.config.empty_share)
        self.counts = self._no_counts()
        self._restore()
        self._pairs_done, self._started = 0, time.perf_counter()

    def _stems(self, frequencies: Sequence[NDArray[np.float64]]) -> Sequence[StemPrior | None]:
        """The stems of both directions; None for pieces, which are parts of words themselves."""
        source, target = self.made.units
        if not (self.config.stem_weight and isinstance(source, WordVocabulary) and isinstance(target, WordVocabulary)):
            return None, None
        letters = self.config.stem_letters
        return stem_priors(self.cooccurrence, (source.stems(letters), target.stems(letters)), frequencies)

    @property
    def _ids(self) -> tuple[np.ndarray, np.ndarray]:
        return self.corpus.source.ids, self.corpus.target.ids

    @property
    def checkpoint(self) -> Path:
        """The file of the newest checkpoint."""
        return self.made.path / CHECKPOINT

    def run(self, interrupted: threading.Event) -> bool:
        """Trains; returns whether the training is finished."""
        resumed = f"; resuming in epoch {self.state.epoch + 1}" if self.checkpoint.exists() else ""
        self.status.print(
            f"aligner: {counted(len(self.corpus), 'pair')}, {len(self.cooccurrence):,} pairs of words, "
            f"{counted(self.config.epochs, 'epoch')}{resumed}"
        )
        self._started = time.perf_counter()
        while self.state.epoch < self.config.epochs:
            if not self._epoch(interrupted):
                self._save()
                self.status.print(
                    f"interrupted in epoch {self.state.epoch + 1}; the same command resumes the training of "
                    f"{self.made.path}"
                )
                return False
        self.status.print(
            f"aligner: trained in {duration(time.perf_counter() - self._started)}, {self._speed:.0f} pairs/s"
        )
        self.made.save_weights(self.model.to_arrays())  # a stop may have come between the checkpoint and the weights
        self.checkpoint.unlink(missing_ok=True)
        return True

    @property
    def ordered(self) -> bool:
        """Whether jumps count in the current epoch."""
        return self.state.epoch >= self.config.lexicon_epochs

    def _epoch(self, interrupted: threading.Event) -> bool:
        """Trains the rest of an epoch; False if it was interrupted."""
        saved = time.perf_counter()
        for batch in in_background(self._left(), AHEAD):
            found = self.model.posteriors(batch, self.ordered, self.config.rounds)
            for counts, sides, posterior in zip(self.counts, (batch, batch.reversed()), found, strict=True):
                counts.add(sides, posterior)
            self.state.batch += 1
            self._pairs_done += len(batch.source)
            self.status.show(self._line)
            if interrupted.is_set():
                return False
            if time.perf_counter() - saved > SAVED_EVERY:
                self._save()
                saved = time.perf_counter()
        self._maximise()
        self.state = State(self.state.epoch + 1)
        self.counts = self._no_counts()
        self._save()  # before the weights, which alone mean a finished training
        self.made.save_weights(self.model.to_arrays())
        return True

    def _maximise(self) -> None:
        """The M step: the model that fits the counts of the epoch."""
        concentration = self.config.concentration if self.state.epoch >= PLAIN_EPOCHS else 0.0
        for number, (model, counts) in enumerate(zip(self.model.directions, self.counts, strict=True)):
            model.update(counts, self.statistics[number], self.config, concentration)

    def _no_counts(self) -> tuple[Counts, Counts]:
        """Counts of an epoch that begins."""
        fertile = self.state.epoch >= self.config.lexicon_epochs + self.config.jump_epochs
        sizes = [units.size for units in self.made.units]
        first, second = (
            Counts(
                np.zeros(len(self.cooccurrence)),
                np.zeros(generated),
                fertilities=np.zeros((generating * fertile, fertility.MOST)),
            )
            for generating, generated in (sizes, reversed(sizes))
        )
        return first, second

    def _rows(self) -> Iterator[NDArray[np.int64]]:
        return planned_batches(self.corpus.source, self.corpus.target, self.config.batch_tokens, self.config.window)

    def _left(self) -> Iterator[PairBatch]:
        """The batches of the current epoch that are left."""
        for rows in islice(self._rows(), self.state.batch, None):
            yield make_pair_batch(self.corpus.source, self.corpus.target, rows, self.cooccurrence)

    @property
    def _speed(self) -> float:
        """Pairs read in a second."""
        return self._pairs_done / max(time.perf_counter() - self._started, 1e-9)

    def _line(self) -> str:
        part = self.state.batch / self.batches
        left = (self.config.epochs - self.state.epoch - part) * len(self.corpus) / max(self._speed, 1e-9)
        return (
            f"aligner: epoch {self.state.epoch + 1}/{self.config.epochs}, {100 * part:.0f} %, "
            f"{self._speed:.0f} pairs/s, {duration(left)} left"
        )

    def _save(self) -> None:
        counts = {
            f"counts.{name}.{value}": getattr(each, value)
            for name, each in zip(NAMES, self.counts, strict=True)
            for value in COUNTED
        }
        state = {STATE: np.array(json.dumps(asdict(self.state)))}
        save_arrays(self.checkpoint, self.model.to_arrays() | counts | state)

    def _restore(self) -> None:
        """Takes model, counts and state from the checkpoint, if there is one.

        Raises:
            NmtError: the checkpoint is damaged.
        """
        if not self.checkpoint.exists():
            return
        try:
            arrays = load_arrays(self.checkpoint)
            self.state = State(**json.loads(str(arrays.pop(STATE))))
            self.model = AlignmentModel.from_arrays(arrays, self.config.empty_share, self.cooccurrence)
            first, second = (Counts(*(arrays[f"counts.{name}.{value}"] for value in COUNTED)) for name in NAMES)
            self.counts = first, second
        except (RunError, KeyError, TypeError, ValueError):
            raise NmtError(
                f"{self.checkpoint}: damaged: delete it and {self.made.path / WEIGHTS}, and the training begins again"
            ) from None


def _frequencies(ids: np.ndarray, size: int) -> NDArray[np.float64]:
    """The share of each id in the text, smoothed, [size]; read in parts, because the ids may be on disk."""
    total = np.ones(size)
    for begin in range(0, len(ids), 2**20):
        total += np.bincount(ids[begin : begin + 2**20], minlength=size)
    return total / total.sum()
