"""The search for the translations of several requests at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

import numpy as np

from nmt.config import SearchConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.inference.protocol import Hypothesis, Inference, PieceConstraint, PieceTerm, Report
from nmt.translation.request import TranslationRequest
from nmt.translation.required_text import has_terms, piece_constraint, suppressed_pieces
from nmt.translation.result import EMPTY_HYPOTHESIS
from nmt.translation.short_list import ShortList
from nmt.translation.term_places import place_terms

LEAST_BEAM = 5
"""Hypotheses of a search with required terms."""


class SharedSearch(NamedTuple):
    """The settings that sentences must share to share batches."""

    search: SearchConfig
    candidates: int
    constrained: tuple[bool, bool]
    """Whether some pieces must occur, and whether some terms should."""


class RequestSearch:
    """Finds the hypotheses of requests. Several threads may use one search.

    Args:
        run: its target vocabulary spells constraints; its short list is learned once.
        inference: searches the model.
    """

    def __init__(self, run: Run, inference: Inference) -> None:
        self._run, self._inference = run, inference
        self._short_list: ShortList | None = None
        self._lock = Lock()

    def prepare(self, search: SearchConfig) -> None:
        """Checks a search before the first sentence, and loads or learns its short list.

        Raises:
            NmtError: an unknown piece to suppress, or a short list that cannot be learned.
        """
        suppressed_pieces(search, self._run.target)
        self._short_list_for(search)

    def find(
        self, requests: Sequence[TranslationRequest], sources: Sequence[SegmentedSentence], report: Report | None
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each request.

        For sentences with terms, a greedy search without the terms shows the word that each term should replace. The
        search itself prefers the terms there. Required terms that are still missing are demanded by a third search. A
        beam with required terms is parted into banks, which costs quality, so it has `LEAST_BEAM` hypotheses or more:
        greedy search would write a term as soon as it may.
        """
        found = [[EMPTY_HYPOTHESIS] for _ in requests]
        constraints = {
            row: piece_constraint(request, self._run.target, source=source)
            for row, (request, source) in enumerate(zip(requests, sources, strict=True))
            if source.ids
        }
        with_terms = {row: constraint for row, constraint in constraints.items() if constraint.terms}
        if with_terms:
            greedy = [_greedy(request) if row in with_terms else request for row, request in enumerate(requests)]
            free = {row: constraint._replace(terms=()) for row, constraint in with_terms.items()}
            self._search(greedy, sources, free, found, None)
        for row, constraint in with_terms.items():
            terms = self._placed(constraint.terms, sources[row], found[row][0])
            constraints[row] = with_terms[row] = constraint._replace(terms=terms)
        preferring = {row: constraint._replace(require_terms=False) for row, constraint in constraints.items()}
        self._search(requests, sources, preferring, found, report)
        lacking = {
            row: constraint
            for row, constraint in with_terms.items()
            if constraint.require_terms and not self._all_have(found[row], constraint.terms)
        }
        wide = [_with_wide_beam(request) if row in lacking else request for row, request in enumerate(requests)]
        self._search(wide, sources, lacking, found, None)
        return found

    def _placed(
        self, terms: Sequence[PieceTerm], source: SegmentedSentence, hypothesis: Hypothesis
    ) -> Sequence[PieceTerm]:
        """The terms with the places that a translation shows."""
        if not hypothesis.ids:
            return terms
        return place_terms(terms, hypothesis, source, self._run.target.join(hypothesis.ids))

    def _search(
        self,
        requests: Sequence[TranslationRequest],
        sources: Sequence[SegmentedSentence],
        constraints: Mapping[int, PieceConstraint],
        found: list[list[Hypothesis]],
        report: Report | None,
    ) -> None:
        """Writes the hypotheses of some rows into `found`; rows that share a search are searched together.

        Args:
            constraints: one for each row to search.
        """
        groups: dict[SharedSearch, list[int]] = {}
        for row, constraint in constraints.items():
            kinds = constraint.is_hard, bool(constraint.terms)
            groups.setdefault(SharedSearch(requests[row].search, requests[row].candidates, kinds), []).append(row)
        for (search, candidates, constrained), rows in groups.items():
            hypotheses = self._inference.find(
                [sources[row].ids for row in rows],
                search,
                candidates,
                [constraints[row] for row in rows] if any(constrained) else None,
                suppressed_pieces(search, self._run.target),
                np.array([requests[row].sentence_id for row in rows], np.int64),
                self._short_list_for(search),
                report,
            )
            for row, of_sentence in zip(rows, hypotheses, strict=True):
                found[row] = of_sentence

    def _all_have(self, hypotheses: Sequence[Hypothesis], terms: Sequence[PieceTerm]) -> bool:
        texts = self._run.target.decode([hypothesis.ids for hypothesis in hypotheses])
        return all(has_terms(text, terms) for text in texts)

    def _short_list_for(self, search: SearchConfig) -> ShortList | None:
        if not search.short_list:
            return None
        with self._lock:
            if self._short_list is None:
                self._short_list = ShortList.of_run(self._run)
            return self._short_list


def _greedy(request: TranslationRequest) -> TranslationRequest:
    """The request of one translation by greedy search."""
    search = replace(request.search, method="beam", beam_size=1)
    return replace(request, search=search, nbest=1, minimum_bayes_risk=None)


def _with_wide_beam(request: TranslationRequest) -> TranslationRequest:
    """The request with a beam that has room for required terms."""
    if request.search.method != "beam" or request.search.beam_size >= LEAST_BEAM:
        return request
    return replace(request, search=replace(request.search, beam_size=LEAST_BEAM))
