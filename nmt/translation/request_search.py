"""The search for the translations of several requests at once."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import NamedTuple

import numpy as np

from nmt.config import SearchConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import SegmentedSentence
from nmt.translation.inference.protocol import Hypothesis, Inference, PieceConstraint, Report
from nmt.translation.request import TranslationRequest
from nmt.translation.required_text import piece_constraint, suppressed_pieces
from nmt.translation.result import EMPTY_HYPOTHESIS
from nmt.translation.short_list import ShortList


class SharedSearch(NamedTuple):
    """The settings that sentences must share to share batches."""

    search: SearchConfig
    candidates: int
    constrained: bool


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
        """The hypotheses of each request; requests that share a search are searched together."""
        found = [[EMPTY_HYPOTHESIS] for _ in requests]
        constraints: dict[int, PieceConstraint] = {}
        groups: dict[SharedSearch, list[int]] = {}
        for row, (request, source) in enumerate(zip(requests, sources, strict=True)):
            if source.ids:
                constraints[row] = piece_constraint(request, self._run.target)
                constrained = any(constraints[row])
                groups.setdefault(SharedSearch(request.search, request.candidates, constrained), []).append(row)
        for (search, candidates, constrained), rows in groups.items():
            hypotheses = self._inference.find(
                [sources[row].ids for row in rows],
                search,
                candidates,
                [constraints[row] for row in rows] if constrained else None,
                suppressed_pieces(search, self._run.target),
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
                self._short_list = ShortList.of_run(self._run)
            return self._short_list
