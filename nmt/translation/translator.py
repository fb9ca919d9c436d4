"""Strings through a trained run, or several: translate them, or score and align given pairs."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Literal

import numpy as np
from keras.ops import convert_to_numpy

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.alignment.pieces_to_words import word_alignment
from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.alignment.word_alignment import WordAlignment
from nmt.backend.machine import configure_runtime
from nmt.backend.precision import decide_precision
from nmt.config import Precision, SearchConfig
from nmt.errors import NmtError
from nmt.network.model import Seq2Seq
from nmt.network.weights import assign_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.errors import CorpusError
from nmt.text.pieces import EOS, UNK, UNKNOWN_SURFACE
from nmt.text.tokenizer import SegmentedSentence, cut_words
from nmt.translation.inference import Averaging, Demand, Hypothesis, Inference, longest_translations, windows
from nmt.translation.short_list import ShortList

WINDOW = 500
"""Sentences that are sorted by length together; results come a window at a time."""

EMPTY = Hypothesis([], 0.0, 0.0, np.zeros((0, 1), np.float32), True, np.zeros(0, np.float32))
"""Of a sentence with nothing to translate."""


@dataclass(frozen=True)
class Translation:
    """A source sentence, its translation (searched for, or given), and which source words each word came from."""

    source: str
    text: str
    log_probability: float
    """Of the target's pieces and its end, in nats."""
    score: float
    """What the search ranked by; of a given translation its log-probability."""
    alignment: WordAlignment
    truncated: bool = False
    """Whether the source was longer than `search.max_source` pieces and was cut there, or a given target where the
    longest translation of such a source would end."""
    pieces: tuple[str, ...] = ()
    """The target's pieces as SentencePiece writes them, and `</s>` where the sentence ended by itself."""
    piece_log_probabilities: tuple[float, ...] = ()
    """Of each of them, in nats."""


@dataclass(frozen=True)
class Constraint:
    """What the translation of a sentence must hold."""

    prefix: str = ""
    """What it begins with; its last word may go on."""
    phrases: tuple[str, ...] = ()
    """What appears in it, whole words, in any order."""


class Translator:
    """A trained model with its vocabularies, or an ensemble of several over the same vocabularies.

    Args:
        run: opened run directory.
        models: its model, with the weights to use, and more models over the same pieces.
        averaging: of the models' distributions.
    """

    def __init__(self, run: Run, *models: Seq2Seq, averaging: Averaging = "probability") -> None:
        self.run, self.config = run, run.config
        self.inference = Inference(*models, averaging=averaging, joins=run.target.joins)

    @classmethod
    def load(
        cls,
        directory: str | Path,
        *others: str | Path,
        averaging: Averaging = "probability",
        checkpoints: int = 0,
        precision: Precision = "float32",
    ) -> Translator:
        """The best weights of a run, or an ensemble of several runs.

        Where TensorFlow has not computed yet in this process, its threads are shared out, so that batches are
        translated side by side, and it keeps its memory (`machine.configure_runtime`).

        Args:
            directory: the run, whose configuration decides the search.
            others: more runs with the same vocabularies.
            averaging: of the runs' distributions at each step.
            checkpoints: not the best weights but the mean of those of this many newest checkpoints; 0: the best.
            precision: of the matrix products. What they multiply by is kept in it, so that no step converts it.

        Raises:
            RunError: a directory that is not a trained run, vocabularies that differ, or too few checkpoints.
        """
        configure_runtime()
        runs = [Run.open(place) for place in (directory, *others)]
        for other in runs[1:]:
            if (other.source, other.target) != (runs[0].source, runs[0].target):
                raise RunError(
                    f"{other.directory} has other vocabularies than {runs[0].directory}: an ensemble needs the same; "
                    "train both on the same text with the same vocabulary settings"
                )
        decided = decide_precision(precision)
        models = [_model(run, checkpoints, decided) for run in runs]
        return cls(runs[0], *models, averaging=averaging)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of vocabularies and weights, in hexadecimal: what else than the search decides a translation."""
        digest = hashlib.sha256((self.run.source.fingerprint + self.run.target.fingerprint).encode())
        for model in self.inference.models:
            for variable in model.trainable_variables:
                digest.update(np.asarray(convert_to_numpy(variable.value)).tobytes())
        return digest.hexdigest()

    def embeddings(self, side: Literal["source", "target"]) -> np.ndarray:
        """The embeddings of a side's pieces as they were trained (rounded, where they were loaded in half precision),
        float32 [pieces, width], before the model multiplies them by sqrt(width); both sides' are the same where all are
        tied. Of an ensemble, its first model's."""
        model = self.inference.models[0]
        layer = model.source_embedding if side == "source" else model.target_embedding
        return np.array(convert_to_numpy(layer.embeddings), np.float32)

    def prepare(self, search: SearchConfig) -> None:
        """Has ready what this search needs besides the model: its short list, learned where the run has none yet.

        Raises:
            NmtError: it cannot be had, or see `require_pieces`.
        """
        self.require_pieces(search)
        if search.short_list and self.inference.short_list is None:
            self.inference.short_list = ShortList.of_run(self.run)

    def require_pieces(self, search: SearchConfig) -> None:
        """Refuses a search that suppresses what the target vocabulary does not have.

        Raises:
            NmtError: names the piece.
        """
        for piece in search.suppress:
            self._piece(piece)

    def translate(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        linking: Linking = DEFAULT_LINKING,
    ) -> Iterator[Translation]:
        """Translations in the order of the sentences, one for each; a blank sentence's is blank.

        The sentences may come from a stream: they are read a window of 500 at a time.

        Args:
            sentences: source sentences.
            search: how to search; None: as the run's configuration says.
            constraints: what each translation must hold, one for each sentence.
            lexicon: with `search.copy_unknown`, what stands for a source word instead of itself.
            linking: how alignments are read off the attention.
        """
        found = self.translate_nbest(sentences, search, 1, constraints, lexicon, linking=linking)
        return (translations[0] for translations in found)

    def watch(self, report: Callable[[int], None]) -> None:
        """`report` is told of so many more sentences whenever some are translated, long before they come out in their
        order; by several threads."""
        self.inference.report = report

    def translate_nbest(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        nbest: int = 5,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        first: int = 0,
        linking: Linking = DEFAULT_LINKING,
    ) -> Iterator[list[Translation]]:
        """The best translations of each sentence, best first, or with `search.method` sample so many draws.

        There can be fewer than asked for where no more are possible, and a blank sentence has one, blank.

        Args:
            nbest: how many; at most the beam size.
            first: number of the first sentence, which its samples depend on.

        Raises:
            NmtError: more translations than the beam holds, a constraint that cannot be met, or a suppressed piece
                that the vocabulary does not have.
        """
        config = search or self.config.search
        if config.method == "beam" and nbest > config.beam_size:
            raise NmtError(
                f"{nbest} translations of each sentence from a beam of {config.beam_size}: raise beam_size "
                f"(--beam-size) to {nbest}"
            )
        self.prepare(config)
        suppressed = [self._piece(piece) for piece in config.suppress]
        asked = repeat(None) if constraints is None else constraints
        pairs = zip(sentences, asked, strict=False) if constraints is None else zip_longest(sentences, asked)
        for number, window in enumerate(windows(pairs, WINDOW)):
            if constraints is not None and any(None in pair for pair in window):
                raise NmtError("there are more sentences than lines of what their translations must hold, or fewer")
            begin = first + number * WINDOW
            sources = [self.run.source.segment(sentence) for sentence, _ in window]
            full = [row for row, source in enumerate(sources) if source.ids]
            read = [sources[row].ids[: config.max_source] for row in full]
            demands = None
            if constraints is not None:
                demands = [self._demand(window[row][1], begin + row, config.method) for row in full]
            numbers = np.array(full, np.int64) + begin
            found = iter(self.inference.find(read, config, nbest, demands, suppressed, numbers))
            for source in sources:
                hypotheses = next(found) if source.ids else [EMPTY]
                yield [self._found(source, hypothesis, config, lexicon, linking) for hypothesis in hypotheses]

    def _piece(self, piece: str) -> int:
        index = self.run.target.index(piece)
        if index is None or index == EOS:
            raise NmtError(f"search.suppress: '{piece}' is no piece of the target vocabulary that can be left out")
        return index

    @property
    def longest_target(self) -> int:
        """Pieces of the longest translation of the longest source."""
        return int(longest_translations(self.config.search, self.config.search.max_source))

    def pieces_to_hold(self, text: str, where: str) -> list[int]:
        """Pieces of a text that a translation is to hold.

        Args:
            where: the text stands; for the message.

        Raises:
            NmtError: the target's vocabulary lacks some of its characters.
        """
        (ids,) = self.run.target.encode([text])
        if UNK in ids:
            raise NmtError(
                f"{where}: '{text}' has characters that the target vocabulary does not have, so no translation can "
                "hold it; leave it out"
            )
        return ids

    def _demand(self, constraint: Constraint | None, row: int, method: str) -> Demand:
        texts = [constraint.prefix, *constraint.phrases] if constraint else [""]
        if texts[1:] and method != "beam":
            raise NmtError(
                "phrases that must be in the translations are for a beam, and method is sample: leave one out"
            )
        where = f"line {row + 1} of what must be in the translations"
        prefix, *phrases = (self.pieces_to_hold(text, where) for text in texts)
        return Demand(prefix, [ids for ids in phrases if ids])

    def _found(
        self,
        source: SegmentedSentence,
        hypothesis: Hypothesis,
        config: SearchConfig,
        lexicon: Mapping[str, str] | None,
        linking: Linking,
    ) -> Translation:
        target = self.run.target.join(hypothesis.ids)
        translation = self._translation(source, target, hypothesis, config.max_source, linking)
        if config.copy_unknown and UNK in hypothesis.ids:
            return _with_copies(translation, target, lexicon or {})
        return translation

    def align(
        self, sources: Iterable[str], targets: Iterable[str], linking: Linking = DEFAULT_LINKING
    ) -> Iterator[Translation]:
        """Given pairs, with their log-probability and their alignment under teacher forcing, in order.

        A pair with a blank side has no links and log-probability 0. Of a source that is longer than the model takes the
        beginning is read, and likewise of a target that is longer than any translation would be: no links lead to the
        rest, whose log-probability is not counted.

        Raises:
            CorpusError: one side has more sentences than the other.
        """
        limit, longest = self.config.search.max_source, self.longest_target
        for window in windows(zip_longest(sources, targets), WINDOW):
            if any(None in pair for pair in window):
                raise CorpusError("one side has more sentences than the other: give as many targets as sources")
            pairs = [(self.run.source.segment(source), self.run.target.segment(target)) for source, target in window]
            full = [(source.ids[:limit], target.ids[:longest]) for source, target in pairs if source.ids and target.ids]
            scored = iter(self.inference.score([source for source, _ in full], [target for _, target in full]))
            for source, target in pairs:
                hypothesis = next(scored) if source.ids and target.ids else EMPTY
                yield self._translation(source, target, hypothesis, limit, linking)

    def _translation(
        self, source: SegmentedSentence, target: SegmentedSentence, hypothesis: Hypothesis, limit: int, linking: Linking
    ) -> Translation:
        """The result for one sentence: soft attention between pieces becomes attention between words."""
        values = hypothesis.piece_log_probabilities
        ended = [EOS] * (len(values) - len(hypothesis.ids))
        return Translation(
            source=source.text,
            text=target.text,
            log_probability=hypothesis.log_probability,
            score=hypothesis.score,
            alignment=_alignment(source, target, hypothesis, limit, linking),
            truncated=len(source.ids) > limit or 0 < len(hypothesis.ids) < len(target.ids),
            pieces=tuple(self.run.target.pieces([*hypothesis.ids, *ended])),
            piece_log_probabilities=tuple(values.tolist()),
        )


def _model(run: Run, checkpoints: int, precision: str) -> Seq2Seq:
    # Dropout and its rates do not matter here, and neither does the precision of training.
    # Nothing is trained here: weights need no more digits than products take.
    model = Seq2Seq(run.config.model, run.source.size, run.target.size, dtype=precision.removeprefix("mixed_"))
    model.build()
    if checkpoints:
        arrays = run.averaged_checkpoints(checkpoints, (weight.path for weight in model.trainable_variables))
        assign_arrays(model.trainable_variables, arrays, str(run.directory))
    else:
        assign_arrays(model.trainable_variables, run.weights(), str(run.best))
    return model


def _alignment(
    source: SegmentedSentence, target: SegmentedSentence, hypothesis: Hypothesis, limit: int, linking: Linking
) -> WordAlignment:
    if hypothesis is EMPTY or not target.words:
        shape = len(target.words), len(source.words)
        weights, rest = np.zeros(shape, np.float32), np.zeros(shape[0], np.float32)
        return WordAlignment(tuple(source.words), tuple(target.words), weights, rest)
    return word_alignment(hypothesis.weights, cut_words(source, limit), cut_words(target, len(hypothesis.ids)), linking)


def _with_copies(translation: Translation, target: SegmentedSentence, lexicon: Mapping[str, str]) -> Translation:
    """Unknown pieces replaced by the source word that their word attends to most, or by its entry in the lexicon
    (Luong et al. 2015, "Addressing the Rare Word Problem", section 3.3)."""
    alignment, words = translation.alignment, list(translation.alignment.target)
    unknown = {word for word, index in zip(target.word_of_piece, target.ids, strict=True) if index == UNK}
    for t in unknown:
        if alignment.weights[t].any():
            source = alignment.source[int(alignment.weights[t].argmax())]
            bare = _bare(source)
            copy = lexicon.get(source, lexicon.get(bare, bare))
            head, rest = words[t].partition(UNKNOWN_SURFACE)[0], words[t].rpartition(UNKNOWN_SURFACE)[2]
            # What is copied is a whole word: letters right before and behind the unknown piece are of its place.
            words[t] = re.sub(r"\w*$", "", head) + copy + re.sub(r"^\w*", "", rest)
    return replace(translation, text=" ".join(words), alignment=replace(alignment, target=tuple(words)))


def _bare(word: str) -> str:
    """The word without punctuation around it, which the translation has of its own."""
    letters = [place for place, character in enumerate(word) if character.isalnum()]
    return word[letters[0] : letters[-1] + 1] if letters else word


def symmetrized(
    pairs: Iterable[Translation],
    reverse: Translator,
    method: Symmetrization = "grow-diag-final-and",
    linking: Linking = DEFAULT_LINKING,
) -> Iterator[Translation]:
    """The same pairs, their links made from those of both directions; weights stay those of the first.

    Args:
        pairs: translations or aligned pairs of the source-target model; may be a stream.
        reverse: the model of the opposite direction, which aligns each pair turned around.
        method: see `links.symmetrize`.
        linking: how the opposite direction's links are read off its attention.
    """
    for window in windows(pairs, WINDOW):
        turned = reverse.align([pair.text for pair in window], [pair.source for pair in window], linking)
        for pair, back in zip(window, turned, strict=True):
            backward = frozenset((s, t) for t, s in back.alignment.links)
            links = symmetrize(pair.alignment.links, backward, method)
            yield replace(pair, alignment=replace(pair.alignment, links=links))
