"""Strings through a trained model: translations of requests, and scores and alignments of given pairs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice, repeat, zip_longest
from pathlib import Path
from typing import Any, Literal

import numpy as np

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking
from nmt.batches.windows import windows
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.evaluation.bleu_tokenizer import tokenizer_of_run
from nmt.run.directory import Run
from nmt.text.errors import CorpusError
from nmt.text.languages import Words
from nmt.text.markup import MarkupKind, plain_text
from nmt.text.pieces import UNK
from nmt.text.profile import TextProfile
from nmt.text.tokenizer import SegmentedSentence, cut_words
from nmt.translation.aligner_links import PairAligner, linked, with_aligner_links
from nmt.translation.glossary import Glossary
from nmt.translation.inference.protocol import EmbeddingInference, Hypothesis, Inference, Report
from nmt.translation.inference.search_batch import longest_translations
from nmt.translation.lazy import Lazy
from nmt.translation.markup.transfer import MarkupTransfer
from nmt.translation.minimum_bayes_risk import most_agreed, sentence_utility
from nmt.translation.paragraphs import LineReport, join_translations
from nmt.translation.request import Constraint, Lexicon, TranslationRequest
from nmt.translation.request_search import RequestSearch
from nmt.translation.result import EMPTY_HYPOTHESIS, Translation, TranslationList, make_translation
from nmt.translation.source_text import SourceText
from nmt.translation.unknown_words import copy_unknown_words

__all__ = ["Constraint", "Translation", "TranslationRequest", "Translator"]


class Translator:
    """A trained model with its vocabularies. Several threads may use one translator.

    Args:
        run: an opened run; its vocabularies and search settings are used.
        inference: search and scoring of the model, or of an ensemble over these vocabularies.
        profile: the training text's, for `SourceText`.

    Example:
        >>> translator = nmt.Translator.load("saved_models/demo")
        >>> [found.source for found in translator.translate(["It is hot .", "The garden is empty ."])]
        ['It is hot .', 'The garden is empty .']
    """

    chunk_size = 500
    """Sentences that are read, sorted by length and translated together."""

    aligner: PairAligner | None = None
    """The word aligner that makes the links of translations and pairs, as a run with an aligner has it. With None, the
    links follow from attention."""

    def __init__(self, run: Run, inference: Inference, profile: TextProfile | None = None) -> None:
        self.run, self.config, self.inference, self.profile = run, run.config, inference, profile
        self.source_text = SourceText(run, profile)
        self._search = RequestSearch(run, inference)
        self._markup = MarkupTransfer(run, profile)
        self._tokenize = tokenizer_of_run(self.config)

    @classmethod
    def load(cls, directory: str | Path, *others: str | Path, **options: Any) -> Translator:
        """The translator of a run, or of an ensemble of several runs; see `loading.load_translator`.

        Args:
            directory: the run.
            others: more runs with equal vocabularies.
            options: `averaging`, `checkpoints`, `precision`, `aligner`.

        Raises:
            RunError: a directory that is not a trained run, different vocabularies, or too few checkpoints.
        """
        from nmt.translation.loading import load_translator

        return load_translator(directory, *others, **options)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, settings and vocabularies, which decide translations besides requests."""
        parts = [self.run.source.fingerprint, self.run.target.fingerprint, self.inference.fingerprint]
        parts += [self.source_text.fingerprint] if self.profile else []
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
        self._search.prepare(search)

    def answer(
        self,
        requests: Iterable[TranslationRequest],
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
    ) -> Iterator[list[Translation]]:
        """Yields the translations of each request, best first, in the order of the requests.

        The markup of a request is no part of the search, and comes back in its translations.

        Requests with equal search settings share batches. A list is shorter than requested if no more translations are
        possible. A blank sentence has one blank translation.

        Args:
            requests: may be a stream; `chunk_size` are read at a time.
            linking: how hard links follow from attention.
            report: called whenever a batch is complete, long before its sentences are yielded in order.

        Raises:
            NmtError: a constraint or a piece to suppress that the target vocabulary cannot spell, or a tokenizer that
                `minimum_bayes_risk` with BLEU needs and that is not installed.
        """

        return self._markup.around(requests, lambda plain: self._answer_text(plain, linking, report))

    def _answer_text(
        self, requests: Iterable[TranslationRequest], linking: Linking, report: Report | None
    ) -> Iterator[list[Translation]]:
        """The translations of requests without markup, in order."""
        words = self.run.source.words, self.run.target.words
        for chunk in windows(requests, self.chunk_size):
            require_utilities(chunk, self._tokenize)
            parts = [self.source_text.sentences(request) for request in chunk]
            sentences = list(chain.from_iterable(parts))
            lines = report if report is None else LineReport(report, len(chunk), len(sentences))
            searched = self._answer_together(sentences, linking, lines)
            found = with_aligner_links(self.aligner, searched, self.chunk_size, [one.aligned for one in sentences])
            for request, of_request in zip(chunk, parts, strict=True):
                yield _joined(request, list(islice(found, len(of_request))), words)

    def _answer_together(
        self, requests: Sequence[TranslationRequest], linking: Linking, report: Report | None
    ) -> Iterator[list[Translation]]:
        """The translations of each request, all searched for before the first is yielded."""
        sources = [cut_words(self.source_text.segment(one.text), one.search.max_source) for one in requests]
        found = self._search.find(requests, sources, report)
        for request, source, hypotheses in zip(requests, sources, found, strict=True):
            translations = [_translation(self, request, source, one, linking) for one in hypotheses]
            yield chosen(request, translations, self._tokenize)

    def translate_one(self, sentence: str, search: SearchConfig | None = None, **options: Any) -> Translation:
        """The translation of one sentence; see `translate` for the options."""
        return self.translate([sentence], search, **options)[0]

    def translate(
        self,
        sentences: str | Iterable[str],
        search: SearchConfig | None = None,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
        glossary: Glossary | None = None,
        markup: MarkupKind | None = None,
    ) -> Lazy[Translation]:
        """One translation for each sentence, in order; see `translate_nbest` for the arguments.

        The translations are computed as they are read: iterate over them, take one by its index, or make a list.
        """
        found = self.translate_nbest(sentences, search, 1, constraints, lexicon, 0, linking, report, glossary, markup)
        return Lazy((translations[0] for translations in found), "translations")

    def translate_nbest(
        self,
        sentences: str | Iterable[str],
        search: SearchConfig | None = None,
        nbest: int = 5,
        constraints: Iterable[Constraint] | None = None,
        lexicon: Mapping[str, str] | None = None,
        first: int = 0,
        linking: Linking = DEFAULT_LINKING,
        report: Report | None = None,
        glossary: Glossary | None = None,
        markup: MarkupKind | None = None,
    ) -> Lazy[list[Translation]]:
        """The best translations of each sentence, best first; with `search.method` sample, as many samples.

        Args:
            sentences: source sentences, which may be a stream; a string is one sentence.
            search: search settings; None: the run's own.
            nbest: number of translations, at most the beam size.
            constraints: one for each sentence.
            lexicon: with `search.copy_unknown`, the one word to write for a source word.
            first: index of the first sentence; samples depend on the index of their sentence.
            linking: how hard links follow from attention.
            report: see `answer`.
            glossary: terms and their translations.
            markup: the kind of tags and placeholders in the sentences, which are put back at their words; None: the
                sentences are plain text.

        Raises:
            NmtError: at the call: more translations than the beam holds, or an unknown piece to suppress. While
                iterating: a constraint that the vocabulary cannot spell, or too few or too many constraints.
        """
        config = search or self.config.search
        words = Lexicon(lexicon or {}) if config.copy_unknown else {}
        shared: dict[str, Any] = {"nbest": nbest, "lexicon": words, "markup": markup}
        TranslationRequest("", config, **shared)  # refuses impossible settings now, before the first sentence is read
        self.prepare(config)
        requests = _requests(_several(sentences), constraints, config, first, shared, glossary)
        return Lazy(self.answer(requests, linking, report), "lists of translations")

    def align(
        self, sources: str | Iterable[str], targets: str | Iterable[str], linking: Linking = DEFAULT_LINKING
    ) -> Lazy[Translation]:
        """Given pairs with their log-probability and their alignment under teacher forcing, in order.

        A pair with a blank side has no links and log-probability 0. A source beyond `search.max_source` is cut, and so
        is a target beyond the longest translation: the rest has no attention, no links and no log-probability.

        Raises:
            CorpusError: while iterating: one side has more sentences than the other.
        """
        found = ([pair] for pair in _align(self, _several(sources), _several(targets), linking))
        linked = with_aligner_links(self.aligner, found, self.chunk_size)
        return Lazy((pair for (pair,) in linked), "aligned pairs")


def _align(
    translator: Translator, sources: Iterable[str], targets: Iterable[str], linking: Linking
) -> Iterator[Translation]:
    """The pairs of `Translator.align`."""
    run, longest = translator.run, translator.longest_target
    limit = translator.config.search.max_source
    for chunk in windows(zip_longest(sources, targets), translator.chunk_size):
        if any(None in pair for pair in chunk):
            raise CorpusError("one side has more sentences than the other: give as many targets as sources")
        read = [cut_words(translator.source_text.segment(source), limit) for source, _ in chunk]
        written = [cut_words(run.target.segment(target), longest) for _, target in chunk]
        full = [(s.ids, t.ids) for s, t in zip(read, written, strict=True) if s.ids and t.ids]
        scored = iter(translator.inference.score([source for source, _ in full], [target for _, target in full]))
        for source, target in zip(read, written, strict=True):
            hypothesis = next(scored) if source.ids and target.ids else EMPTY_HYPOTHESIS
            yield make_translation(source, target, hypothesis, run.target, linking)


def _translation(
    translator: Translator,
    request: TranslationRequest,
    source: SegmentedSentence,
    hypothesis: Hypothesis,
    linking: Linking,
) -> Translation:
    vocabulary = translator.run.target
    target = vocabulary.join(hypothesis.ids)
    translation = make_translation(source, target, hypothesis, vocabulary, linking)
    if not request.search.copy_unknown or UNK not in hypothesis.ids:
        return translation
    if translator.aligner is not None:
        (translation,) = linked([translation], translator.aligner)
    return copy_unknown_words(translation, target, request.lexicon)


def _joined(
    request: TranslationRequest, answers: list[list[Translation]], words: tuple[Words, Words]
) -> list[Translation]:
    """The answer to a request from the answers to its sentences."""
    if len(answers) == 1:
        return answers[0]
    return TranslationList([join_translations(request.text, [one for (one,) in answers], *words)])


def _several(sentences: str | Iterable[str]) -> Iterable[str]:
    """A string is one sentence, not a stream of characters."""
    return [sentences] if isinstance(sentences, str) else sentences


def require_utilities(requests: Iterable[TranslationRequest], tokenize: str) -> None:
    """Refuses requests whose Bayes risk cannot be computed, before any is translated.

    Args:
        tokenize: sacreBLEU's tokenizer, where BLEU is the utility.

    Raises:
        NmtError: the tokenizer is not installed.
    """
    for utility in {request.minimum_bayes_risk for request in requests} - {None}:
        sentence_utility(utility, tokenize)


def chosen(request: TranslationRequest, candidates: list[Translation], tokenize: str = "13a") -> TranslationList:
    """The candidates that answer a request: all different texts, best first, or the text with the least Bayes risk.

    Pieces can be cut in several ways into one text; its best way counts. Samples may repeat. With a glossary, only
    candidates that lack the fewest terms may have the least risk.

    Args:
        tokenize: sacreBLEU's tokenizer, where BLEU is the utility.
    """
    sampled = request.search.method == "sample"
    if request.minimum_bayes_risk is None or len(candidates) == 1:
        return TranslationList(candidates if sampled else _different(candidates))
    if request.terms:
        glossary = Glossary(request.terms)
        lacking = [len(glossary.missing(request.text, one.text)[1]) for one in candidates]
        candidates = [one for one, count in zip(candidates, lacking, strict=True) if count == min(lacking)]
    return TranslationList([most_agreed(candidates, request.minimum_bayes_risk, sampled, tokenize)])


def _different(candidates: Sequence[Translation]) -> list[Translation]:
    """The candidates, each text once, where it comes first."""
    of_text: dict[str, Translation] = {}
    for one in candidates:
        of_text.setdefault(one.text, one)
    return list(of_text.values())


def _requests(
    sentences: Iterable[str],
    constraints: Iterable[Constraint] | None,
    search: SearchConfig,
    first: int,
    shared: Mapping[str, Any],
    glossary: Glossary | None,
) -> Iterator[TranslationRequest]:
    """One request for each sentence."""
    free = Constraint()
    pairs = zip(sentences, repeat(free), strict=False) if constraints is None else zip_longest(sentences, constraints)
    for sentence_id, (sentence, constraint) in zip(count(first), pairs, strict=False):
        if sentence is None or constraint is None:
            raise NmtError("sentences and constraints differ in number: give one constraint for each sentence")
        more: dict[str, Any] = {}
        if glossary:
            kind = shared["markup"]
            terms = glossary.of(plain_text(sentence, kind) if kind else sentence)
            more = {"terms": terms, "glossary_mode": glossary.mode}
        yield TranslationRequest(
            sentence, search, constraint.prefix, constraint.phrases, sentence_id=sentence_id, **shared, **more
        )
