"""Strings through a trained model: translations of requests, and scores and alignments of given pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, repeat, zip_longest
from pathlib import Path
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.batches.windows import windows
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.run.directory import Run
from nmt.text.errors import CorpusError
from nmt.text.pieces import UNK
from nmt.text.tokenizer import SegmentedSentence, cut_words
from nmt.translation.inference.protocol import (
    EmbeddingInference,
    Hypothesis,
    Inference,
    PieceConstraint,
    Report,
)
from nmt.translation.inference.search_batch import longest_translations
from nmt.translation.minimum_bayes_risk import most_agreed
from nmt.translation.request import Constraint, TranslationRequest
from nmt.translation.required_text import piece_constraint, suppressed_pieces
from nmt.translation.result import EMPTY_HYPOTHESIS, Translation, make_translation
from nmt.translation.short_list import ShortList
from nmt.translation.unknown_words import copy_unknown_words

__all__ = ["Constraint", "Translation", "TranslationRequest", "Translator"]


class SharedSearch(NamedTuple):
    """The settings that sentences must share to share batches."""

    search: SearchConfig
    candidates: int
    constrained: bool


class Translator:
    """A trained model with its vocabularies. Several threads may use one translator.

    Args:
        run: an opened run; its vocabularies and search settings are used.
        inference: search and scoring of the model, or of an ensemble over these vocabularies.
    """

    chunk_size = 500
    """Sentences that are read, sorted by length and translated together."""

    def __init__(self, run: Run, inference: Inference) -> None:
        self.run, self.config, self.inference = run, run.config, inference
        self._short_list: ShortList | None = None
        self._lock = Lock()

    @classmethod
    def load(cls, directory: str | Path, *others: str | Path, **options: Any) -> Translator:
        """The translator of a run, or of an ensemble of several runs; see `loading.load_translator`.

        Args:
            directory: the run.
            others: more runs with equal vocabularies.
            options: `averaging`, `checkpoints`, `precision`.

        Raises:
            RunError: a directory that is not a trained run, different vocabularies, or too few checkpoints.
        """
        from nmt.translation.loading import load_translator

        return load_translator(directory, *others, **options)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the vocabularies and the weights, in hexadecimal. With the requests it decides translations."""
        parts = self.run.source.fingerprint, self.run.target.fingerprint, self.inference.fingerprint
        return hashlib.sha256("".join(parts).encode()).hexdigest()

    @property
    def longest_target(self) -> int:
        """Pieces of the longest translation of the longest source."""
        return int(longest_translations(self.config.search, self.config.search.max_source))

    def embeddings(self, side: Literal["source", "target"]) -> np.ndarray:
        """The trained embeddings of a side's pieces, float32 [pieces, width]; see `ModelInference.embeddings`.

        Raises:
            NmtError: the inference does not show its embeddings.
        """
        if not isinstance(self.inference, EmbeddingInference):
            raise NmtError("this model does not show its embeddings: load the run that it was exported from")
        return self.inference.embeddings(side)

    def prepare(self, search: SearchConfig) -> None:
        """Checks a search before the first sentence, and loads or learns its short list.

        Raises:
            NmtError: an unknown piece to suppress, or a short list that cannot be learned.
        """
        suppressed_pieces(search, self.run.target)
        self._short_list_for(search)

    def answer(
        self,
        requests: Iterable[TranslationRequest],
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
    ) -> Iterator[list[Translation]]:
        """Yields the translations of each request, best first, in the order of the requests.

        Requests with equal search settings share batches. A list is shorter than requested if no more translations are
        possible. A blank sentence has one blank translation.

        Args:
            requests: may be a stream; `chunk_size` are read at a time.
            linking: how hard links follow from attention.
            report: called whenever a batch is complete, long before its sentences are yielded in order.

        Raises:
            NmtError: a constraint or a piece to suppress that the target vocabulary cannot spell.
        """
        for chunk in windows(requests, self.chunk_size):
            sources = [cut_words(self.run.source.segment(one.text), one.search.max_source) for one in chunk]
            found = self._find(chunk, sources, report)
            for request, source, hypotheses in zip(chunk, sources, found, strict=True):
                translations = [self._translation(request, source, one, linking) for one in hypotheses]
                yield chosen(request, translations, tokenizer_of_run(self.config))

    def translate(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
    ) -> Iterator[Translation]:
        """Yields one translation for each sentence, in order; see `translate_nbest` for the arguments."""
        found = self.translate_nbest(sentences, search, 1, constraints, lexicon, linking=linking, report=report)
        return (translations[0] for translations in found)

    def translate_nbest(
        self,
        sentences: Iterable[str],
        search: SearchConfig | None = None,
        nbest: int = 5,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        first: int = 0,
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
    ) -> Iterator[list[Translation]]:
        """Yields the best translations of each sentence, best first; with `search.method` sample, as many samples.

        Args:
            sentences: source sentences; may be a stream.
            search: search settings; None: the run's own.
            nbest: number of translations, at most the beam size.
            constraints: one for each sentence.
            lexicon: with `search.copy_unknown`, the word to write for a source word.
            first: index of the first sentence; samples depend on the index of their sentence.
            linking: how hard links follow from attention.
            report: see `answer`.

        Raises:
            NmtError: at the call: more translations than the beam holds, or an unknown piece to suppress. While
                iterating: a constraint that the vocabulary cannot spell, or too few or too many constraints.
        """
        config = search or self.config.search
        shared: dict[str, Any] = {"nbest": nbest, "lexicon": (lexicon or {}) if config.copy_unknown else {}}
        TranslationRequest("", config, **shared)  # refuses impossible settings now, before the first sentence is read
        self.prepare(config)
        return self.answer(_requests(sentences, constraints, config, first, shared), linking, report)

    def align(
        self, sources: Iterable[str], targets: Iterable[str], linking: Linking = DEFAULT_LINKING
    ) -> Iterator[Translation]:
        """Yields given pairs with their log-probability and their alignment under teacher forcing, in order.

        A pair with a blank side has no links and log-probability 0. A source beyond `search.max_source` is cut, and so
        is a target beyond the longest translation: the rest has no attention, no links and no log-probability.

        Raises:
            CorpusError: one side has more sentences than the other.
        """
        limit, longest = self.config.search.max_source, self.longest_target
        for chunk in windows(zip_longest(sources, targets), self.chunk_size):
            if any(None in pair for pair in chunk):
                raise CorpusError("one side has more sentences than the other: give as many targets as sources")
            read = [cut_words(self.run.source.segment(source), limit) for source, _ in chunk]
            written = [cut_words(self.run.target.segment(target), longest) for _, target in chunk]
            full = [(s.ids, t.ids) for s, t in zip(read, written, strict=True) if s.ids and t.ids]
            scored = iter(self.inference.score([source for source, _ in full], [target for _, target in full]))
            for source, target in zip(read, written, strict=True):
                hypothesis = next(scored) if source.ids and target.ids else EMPTY_HYPOTHESIS
                yield make_translation(source, target, hypothesis, self.run.target, linking)

    def _find(
        self, requests: Sequence[TranslationRequest], sources: Sequence[SegmentedSentence], report: Report | None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each request; requests that share a search are searched together."""
        found = [[EMPTY_HYPOTHESIS] for _ in requests]
        constraints: dict[int, PieceConstraint] = {}
        groups: dict[SharedSearch, list[int]] = {}
        for row, (request, source) in enumerate(zip(requests, sources, strict=True)):
            if source.ids:
                constraints[row] = piece_constraint(request, self.run.target)
                constrained = any(constraints[row])
                groups.setdefault(SharedSearch(request.search, request.candidates, constrained), []).append(row)
        for (search, candidates, constrained), rows in groups.items():
            hypotheses = self.inference.find(
                [sources[row].ids for row in rows],
                search,
                candidates,
                [constraints[row] for row in rows] if constrained else None,
                suppressed_pieces(search, self.run.target),
                np.array([requests[row].sentence_id for row in rows], np.int64),
                self._short_list_for(search),
                report,
            )
            for row, of_sentence in zip(rows, hypotheses, strict=True):
                found[row] = of_sentence
        return found

    def _short_list_for(self, search: SearchConfig) -> ShortList | None:
        if not search.short_list:
            return None
        with self._lock:
            if self._short_list is None:
                self._short_list = ShortList.of_run(self.run)
            return self._short_list

    def _translation(
        self, request: TranslationRequest, source: SegmentedSentence, hypothesis: Hypothesis, linking: Linking
    ) -> Translation:
        target = self.run.target.join(hypothesis.ids)
        translation = make_translation(source, target, hypothesis, self.run.target, linking)
        if request.search.copy_unknown and UNK in hypothesis.ids:
            return copy_unknown_words(translation, target, request.lexicon)
        return translation


def chosen(request: TranslationRequest, candidates: list[Translation], tokenize: str = "13a") -> list[Translation]:
    """The candidates that answer a request: all of them, or the one with the least Bayes risk.

    Args:
        tokenize: sacreBLEU's tokenizer, where BLEU is the utility.
    """
    if request.minimum_bayes_risk is None or len(candidates) == 1:
        return candidates
    return [most_agreed(candidates, request.minimum_bayes_risk, request.search.method == "sample", tokenize)]


def _requests(
    sentences: Iterable[str],
    constraints: Iterable[Constraint] | None,
    search: SearchConfig,
    first: int,
    shared: Mapping[str, Any],
) -> Iterator[TranslationRequest]:
    """One request for each sentence."""
    free = Constraint()
    pairs = zip(sentences, repeat(free), strict=False) if constraints is None else zip_longest(sentences, constraints)
    for sentence_id, (sentence, constraint) in zip(count(first), pairs, strict=False):
        if sentence is None or constraint is None:
            raise NmtError("sentences and constraints differ in number: give one constraint for each sentence")
        yield TranslationRequest(
            sentence, search, constraint.prefix, constraint.phrases, sentence_id=sentence_id, **shared
        )
