"""A trained aligner: sentence pairs in, alignments out."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nmt.aligning.aligned_pair import AlignedPair, align_words
from nmt.aligning.batches import make_pair_batch, similar_batches
from nmt.aligning.cooccurrence import Cooccurrence
from nmt.aligning.directory import WEIGHTS, AlignerDirectory, is_aligner, is_unfinished, open_directory
from nmt.aligning.hidden_markov import Posterior
from nmt.aligning.learning import learn
from nmt.aligning.model import AlignmentModel
from nmt.aligning.preparation import prepare
from nmt.aligning.units import Units, word_posterior, word_support
from nmt.batches.arrays import Sequences
from nmt.config import CorpusConfig, PairsConfig
from nmt.config.aligner import AlignerConfig
from nmt.errors import NmtError
from nmt.files.locking import locked
from nmt.files.paths import output_directory
from nmt.progress import report
from nmt.run.errors import RunError
from nmt.run.pack_storage import storage_of
from nmt.text.tokenizer import SegmentedSentence, cut_words

WINDOW_PAIRS, WINDOW_CELLS = 2048, 2**21
"""Pairs that are sorted by length together, and cells of their alignments: memory depends on these alone."""

Sentence = str | Sequence[str]
"""A sentence, or its words."""
Segmented = tuple[SegmentedSentence, SegmentedSentence]


class Aligner:
    """Aligns the words of sentence pairs.

    Args:
        config: settings, with the languages and kinds of words that the text decided.
        units: of source and target.
        cooccurrence: the pairs of words that the model knows.
        model: the learned model.
        directory: where the aligner was read from, or the file in a run.

    Example:
        >>> text = nmt.PairsConfig(source="data/demo/test.en", target="data/demo/test.fr")
        >>> aligner = nmt.Aligner.train(text, "saved_models/small-aligner")
        >>> (pair,) = aligner.align([("It is hot .", "Il fait chaud .")])
        >>> (3, 3) in pair.links
        True
    """

    def __init__(
        self,
        config: AlignerConfig,
        units: tuple[Units, Units],
        cooccurrence: Cooccurrence,
        model: AlignmentModel,
        directory: Path,
    ) -> None:
        self.config, self.units, self.directory = config, units, directory
        self.cooccurrence, self.model = cooccurrence, model

    @classmethod
    def load(cls, directory: str | Path) -> Aligner:
        """Loads an aligner, or the aligner of a run, a pack or an export.

        An aligner whose training is unfinished (`is_unfinished`) aligns with the model of its newest epoch.

        Raises:
            NmtError: the path holds no aligner, or a file is damaged.
        """
        from nmt.aligning.run_aligner import load_run_aligner

        path = Path(directory)
        if path.exists() and not is_aligner(path) and (found := load_run_aligner(storage_of(path))):
            return found
        return cls._opened(open_directory(path))

    @classmethod
    def _opened(cls, made: AlignerDirectory) -> Aligner:
        """The aligner in a directory of its own."""
        cooccurrence, weights = made.cooccurrence(), made.weights()
        try:
            model = AlignmentModel.from_arrays(weights, made.config.empty_share, cooccurrence)
        except (KeyError, ValueError):
            raise RunError(
                f"{made.path / WEIGHTS}: damaged, or of another version of nmt: train the aligner again"
            ) from None
        return cls(made.config, made.units, cooccurrence, model, made.path)

    @classmethod
    def train(
        cls,
        pairs: PairsConfig,
        directory: str | Path,
        config: AlignerConfig | None = None,
        units: tuple[Units, Units] | None = None,
        say: Callable[[str], None] = report,
        interrupted: threading.Event | None = None,
        corpus: CorpusConfig | None = None,
    ) -> Aligner | None:
        """Trains an aligner on the pairs, or resumes its training; it needs no links.

        Args:
            pairs: the text.
            directory: keeps the aligner; created if missing.
            config: settings; None: the defaults.
            units: vocabularies of a run, whose pieces are aligned in place of words.
            say: takes lines for the user.
            interrupted: ends the training after the current batch when it is set, and the preparation before it, which
                leaves nothing.
            corpus: treatment of rows that are no pair; None: as by default.

        Returns:
            The aligner; None after an interruption. The same call resumes.

        Raises:
            NmtError: see `prepare` and `learn`.
            KeyboardInterrupt: the preparation was interrupted.
        """
        config = config or AlignerConfig()
        taken = NmtError(f"another process trains the aligner in {directory}: wait for it, or end it")
        with output_directory(Path(directory)) as path, locked(path, taken):
            made = prepare(path, pairs, config, say, units, corpus, interrupted)
            return cls._opened(made) if learn(made, interrupted) else None

    @property
    def is_unfinished(self) -> bool:
        """Whether the training has not come to its end; the same command that began it resumes it."""
        return is_unfinished(self.directory)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the settings and of the learned model."""
        found = hashlib.sha256(repr(self.config).encode() + self.cooccurrence.keys.tobytes())
        for array in self.model.to_arrays().values():
            found.update(np.ascontiguousarray(array).tobytes())
        return found.hexdigest()

    def align(self, pairs: Iterable[tuple[Sentence, Sentence]]) -> Iterator[AlignedPair]:
        """The alignment of each pair, in order; a pair with an empty side has no links.

        Pairs are read a window ahead, so memory does not grow with their number.

        Args:
            pairs: sentences. Words beyond `max_words` are left out of the alignment, which then has `cut` set. Of a
                sentence given as its words all words are aligned.
        """
        for window in _windows(map(self._segmented, pairs)):
            yield from self._align_window(window)

    def _segmented(self, pair: tuple[Sentence, Sentence]) -> Segmented:
        source, target = (
            cut_words(units.segment(sentence), self.config.max_words)
            if isinstance(sentence, str)
            else units.segment_words(sentence)
            for units, sentence in zip(self.units, pair, strict=True)
        )
        return source, target

    def _align_window(self, window: list[Segmented]) -> Iterator[AlignedPair]:
        source, target = (Sequences.of([pair[side].ids for pair in window]) for side in (0, 1))
        readable = np.flatnonzero((source.lengths > 0) & (target.lengths > 0))
        found: list[AlignedPair | None] = [None] * len(window)
        for rows in similar_batches(source.lengths, target.lengths, readable, self.config.batch_tokens):
            batch = make_pair_batch(source, target, rows, self.cooccurrence)
            forward, backward = map(_with_empty, self.model.posteriors(batch, self._ordered, self.config.rounds))
            supported = self.model.supported(batch)
            for number, row in enumerate(rows):
                pair = window[row]
                source_length, target_length = (len(side.ids) for side in pair)
                found[row] = self._aligned(
                    pair,
                    forward[number, :target_length, : source_length + 1],
                    backward[number, :source_length, : target_length + 1],
                    [by[number, :target_length, :source_length] for by in supported],
                )
        for pair, alignment in zip(window, found, strict=True):
            alignment = alignment or _unaligned(pair)
            yield replace(alignment, cut=True) if any(side.cut for side in pair) else alignment

    def _aligned(
        self, pair: Segmented, forward: np.ndarray, backward: np.ndarray, supported: Sequence[np.ndarray]
    ) -> AlignedPair:
        source, target = pair
        first, second = (word_support(each, source, target) for each in supported)
        return align_words(
            source.words,
            target.words,
            word_posterior(forward, source, target),
            word_posterior(backward, target, source),
            (first, second),
            self.config.symmetrize,
        )

    @property
    def _ordered(self) -> bool:
        return self.config.jump_epochs + self.config.fertility_epochs > 0


def _with_empty(found: Posterior) -> NDArray[np.float32]:
    """A posterior as one array, [sentences, words, 1 + generating words]; the empty word first."""
    return np.concatenate([found.empty[..., None], found.words], axis=2).astype(np.float32)


def _windows(pairs: Iterable[Segmented]) -> Iterator[list[Segmented]]:
    """Consecutive lists of pairs, with a limited number of pairs and of cells of their alignments."""
    window: list[Segmented] = []
    cells = 0
    for pair in pairs:
        window.append(pair)
        cells += len(pair[0].ids) * len(pair[1].ids)
        if len(window) >= WINDOW_PAIRS or cells >= WINDOW_CELLS:
            yield window
            window, cells = [], 0
    if window:
        yield window


def _unaligned(pair: Segmented) -> AlignedPair:
    """A pair with a side without units: each target word comes from nothing."""
    source, target = (side.words for side in pair)
    forward = np.zeros((len(target), 1 + len(source)), np.float32)
    backward = np.zeros((len(source), 1 + len(target)), np.float32)
    forward[:, 0] = backward[:, 0] = 1
    nothing = np.zeros((len(target), len(source)), bool)
    return align_words(source, target, forward, backward, (nothing, nothing), "union")
