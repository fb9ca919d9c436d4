"""Compiled searches, one for each combination of settings that the graph reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from nmt import search
from nmt.backend import ops
from nmt.backend.capabilities import dynamic_shapes
from nmt.backend.compiling import compile_function
from nmt.config import SearchConfig
from nmt.text.pieces import EOS, PAD
from nmt.translation.inference.ensemble import Ensemble
from nmt.translation.inference.search_batch import SearchBatch

KEPT = 32
"""Programs that are kept, the most recently used ones. Compiling one takes seconds, keeping it takes megabytes."""


TERM_BONUS = 2.0
"""Nats for a term of a glossary in the translation, beyond the probability of the word that it replaces."""

SearchProgram = Callable[[SearchBatch], Any]


class ProgramSettings(NamedTuple):
    """The settings that the graph of a search is compiled for; `program_settings` makes them."""

    search: SearchConfig
    """The search; fields that the graph does not read have their defaults."""
    slots: int
    """Hypotheses of a sentence."""
    nbest: int
    """Hypotheses that the user asks for; 0: as many as the batch says."""
    constrained: bool
    """Whether some pieces must occur."""
    preferring: bool
    """Whether some terms should occur."""
    suppressed: tuple[int, ...]
    single: bool
    """Whether the program takes one hypothesis of one sentence, which needs no reordering of rows."""


def program_settings(
    config: SearchConfig,
    nbest: int = 1,
    constrained: bool = False,
    preferring: bool = False,
    suppressed: Sequence[int] = (),
) -> ProgramSettings:
    """The settings of a search as its graph reads them.

    Fields that only select the contents of a batch are reset to their defaults, so that all their values share a
    program. Ratios of lengths and short lists become arrays: the graph reads whether they are on.
    """
    read = _as_read(config, constrained or preferring)
    sampling = config.method == "sample"
    slots = nbest if sampling else config.beam_size
    return ProgramSettings(read, slots, nbest, constrained, preferring, tuple(suppressed), single=False)


@lru_cache(maxsize=256)  # making and checking a configuration takes as long as a step of a search
def _as_read(config: SearchConfig, constrained: bool) -> SearchConfig:
    """The search with defaults in place of the fields that its graph does not read."""
    sampling = config.method == "sample"
    unread = ["beam_size", "max_length_ratio", "suppress", "seed", "copy_unknown", "max_source", "batch_tokens"]
    unread += ["split_sentences"]
    if sampling or constrained:
        unread += ["diversity", "prune"]
    if not sampling:
        unread += ["temperature", "top_k", "top_p"]
    defaults = SearchConfig()
    return replace(
        config,
        **{name: getattr(defaults, name) for name in unread},
        min_length_ratio=float(config.min_length_ratio > 0),
        short_list=int(config.short_list > 0),
    )


class SearchPrograms:
    """The compiled searches of an ensemble; the least recently used ones are dropped. Threads may share it.

    Args:
        ensemble: the models.
        joins: target pieces that continue the word before them, bool [pieces].
        opens: target pieces that a word may follow without a space, bool [pieces].
        compiles: whether Keras computes, so that searches are compiled; otherwise they run over NumPy arrays.
    """

    def __init__(self, ensemble: Ensemble, joins: np.ndarray, opens: np.ndarray, compiles: bool = True) -> None:
        self._ensemble, self._joins, self._opens, self._compiles = ensemble, joins, opens, compiles
        self._compiled = lru_cache(maxsize=KEPT)(self._compile)
        self._lock = Lock()

    def __len__(self) -> int:
        return self._compiled.cache_info().currsize

    def settings(
        self, search: SearchConfig, nbest: int, constrained: bool, preferring: bool, suppressed: Sequence[int]
    ) -> ProgramSettings:
        """`program_settings`, where a beam has one program for any `nbest` if the compiler takes any shape."""
        settings = program_settings(search, nbest, constrained, preferring, suppressed)
        one_for_all = self.any_shape and search.method == "beam" and search.beam_size > 1
        return settings._replace(nbest=0) if one_for_all else settings

    def program(self, settings: ProgramSettings) -> SearchProgram:
        """The program for these settings; it is traced when it is first called."""
        with self._lock:
            return self._compiled(settings)

    def _compile(self, settings: ProgramSettings) -> SearchProgram:
        function = partial(self._search, settings)
        return compile_function(function, self._ensemble.weights) if self._compiles else function

    @property
    def any_shape(self) -> bool:
        """Whether the number of rows may change within a search."""
        return not self._compiles or dynamic_shapes()

    def _search(self, settings: ProgramSettings, batch: SearchBatch) -> search.SearchResult:
        nbest = settings.nbest or batch.nbest
        longest, positions = ops.shape(batch.steps)[0], ops.shape(batch.source)[1]
        states, fixed = self._ensemble.start(batch.source, longest)
        step: search.Step = self._ensemble.step
        if settings.search.short_list:
            step, fixed = self._ensemble.step_among(batch.lists.pieces), (*fixed, batch.lists.allowed)
        method = self._method(settings, batch, nbest)
        found = search.search(step, states, batch.limits, longest, positions, method, fixed=fixed)
        return search.SearchResult(*(values[:, :nbest] for values in found))

    def _method(self, settings: ProgramSettings, batch: SearchBatch, nbest: Any) -> search.SearchMethod:
        """The settings as a search over the tensors of a batch."""
        config, sampling = settings.search, settings.search.method == "sample"
        restrictions: list[search.Restriction] = []
        if settings.suppressed:
            restrictions.append(search.SuppressedPieces(np.isin(np.arange(len(self._joins)), settings.suppressed)))
        if config.min_length_ratio:
            restrictions.append(search.MinimumLength(batch.least))
        if config.no_repeat_ngram:
            restrictions.append(search.NoRepeatedNgram(config.no_repeat_ngram))
        select: search.Select = partial(
            search.select_most_probable, diversity=config.diversity, margin=config.prune, nbest=nbest
        )
        required, preferred = self._phrases(settings, batch)
        restrictions += [restriction for restriction in (required, preferred) if restriction]
        if required:
            restrictions.append(search.ForcedPrefix(batch.prefix))
        if required or preferred:
            select = search.PhraseSelection(required, preferred)
        if sampling:
            select = search.Sampling(batch.seeds, config.temperature, config.top_k, config.top_p)
        words = ops.logical_and(batch.source != PAD, batch.source != EOS)
        compact = self.any_shape and not settings.single
        scoring = search.Scoring(config.length_penalty, config.normalization, config.coverage_penalty, words)
        return search.SearchMethod(
            settings.slots, select, tuple(restrictions), scoring, nbest, sampling, compact, preferred
        )

    def _phrases(
        self, settings: ProgramSettings, batch: SearchBatch
    ) -> tuple[search.Constraints | None, search.PreferredPhrases | None]:
        """The phrases that must occur, and the terms that should occur."""
        required, preferred = None, None
        if settings.constrained:
            required = search.Constraints(search.PhraseTracker(*batch.required, self._joins, self._opens), batch.limits)
        if settings.preferring:
            tracker = search.PhraseTracker(*batch.preferred, self._joins, self._opens)
            preferred = search.PreferredPhrases(tracker, *batch.places, TERM_BONUS)
        return required, preferred
