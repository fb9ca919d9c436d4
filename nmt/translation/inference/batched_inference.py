"""Ids in batches: each batch is searched or scored by a model of any kind, and the results come in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from nmt import search as searching
from nmt.backend import ops
from nmt.backend.machine import batches_at_once, require_memory
from nmt.batches.arrays import Sequences, make_batch
from nmt.batches.plan import cut_by_tokens, sort_by_length
from nmt.config import SearchConfig
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.inference.ensemble import IMPOSSIBLE_PIECES, Ensemble
from nmt.translation.inference.protocol import NO_CONSTRAINT, Hypothesis, PieceConstraint, Report
from nmt.translation.inference.search_batch import make_hypothesis, make_search_batch
from nmt.translation.inference.search_programs import ProgramSettings, SearchPrograms
from nmt.translation.inference.side_by_side import compute_side_by_side, token_budget
from nmt.translation.short_list import BatchLists, ShortList


class BatchedInference:
    """Search and scoring of batches; see `protocol.Inference`. A subclass says how a batch is scored.

    Args:
        ensemble: the models.
        joins: target pieces that continue the word before them, bool [pieces]; None: no piece does.
        opens: target pieces that a word may follow without a space, bool [pieces]; None: no piece does.
        compiles: whether searches are compiled, see `SearchPrograms`.
        at_once: number of batches that are computed at once, see `compute_side_by_side`.
    """

    score_batch: Callable[..., tuple[Any, Any]]
    """(source, target in, target out) -> log-probabilities of the target's pieces and attention weights."""
    score_batch_seen: Callable[..., Any]
    """(source, seen, target in, target out) -> log-probabilities; see `Ensemble.score_seen`."""

    def __init__(
        self,
        ensemble: Ensemble,
        joins: Sequence[bool] | None,
        opens: Sequence[bool] | None,
        compiles: bool,
        at_once: int = 0,
    ) -> None:
        self.ensemble, self.at_once = ensemble, at_once
        none = np.zeros(ensemble.models[0].target_size, bool)
        joined, opened = (none if kind is None else np.asarray(kind) for kind in (joins, opens))
        self.programs = SearchPrograms(ensemble, joined, opened, compiles)

    @property
    def batches_at_once(self) -> int:
        """The number of batches that are computed side by side."""
        return self.at_once or batches_at_once()

    def translate(
        self, sources: Sequence[Sequence[int]], search: SearchConfig, short_list: ShortList | None = None
    ) -> list[Hypothesis]:
        """The best hypothesis of each source, in order."""
        return [found[0] for found in self.find(sources, search, short_list=short_list)]

    def find(
        self,
        sources: Sequence[Sequence[int]],
        search: SearchConfig,
        nbest: int = 1,
        constraints: Sequence[PieceConstraint] | None = None,
        suppressed: Sequence[int] = (),
        sentence_ids: Sequence[int] | np.ndarray | None = None,
        short_list: ShortList | None = None,
        report: Report | None = None,
    ) -> list[list[Hypothesis]]:
        """See `protocol.Inference.find`. Sentences of similar length share a batch, within `search.batch_tokens`."""
        packed = Sequences.of(sources)
        lengths = packed.lengths + 1
        ids = np.arange(len(packed)) if sentence_ids is None else np.asarray(sentence_ids)
        settings = self.programs.settings(search, nbest, *_kinds(constraints), suppressed)
        single = settings._replace(single=self.programs.any_shape and settings.slots == 1)
        program, program_of_one = self.programs.program(settings), self.programs.program(single)
        found: list[list[Hypothesis]] = [[]] * len(packed)

        def find_batch(rows: np.ndarray) -> None:
            of_rows = [constraints[row] for row in rows] if constraints is not None else [NO_CONSTRAINT] * len(rows)
            lists = _lists(short_list, search.short_list, packed, rows, of_rows, settings)
            batch = make_search_batch(packed, rows, search, nbest, of_rows, ids[rows], lists)
            _require_memory(len(rows) * settings.slots, batch.source.shape[1], len(batch.steps))
            result = program_of_one(batch) if len(rows) == 1 else program(batch)
            arrays = searching.SearchResult(*(np.asarray(ops.convert_to_numpy(values)) for values in result))
            for row, index in enumerate(rows):
                found[index] = [
                    make_hypothesis(arrays, row, slot, int(lengths[index]))
                    for slot in range(nbest)
                    if slot == 0 or arrays.log_probabilities[row, slot] > searching.IMPOSSIBLE / 2
                ]
            if report is not None:
                report(len(rows))

        order = sort_by_length(lengths, lengths, np.arange(len(packed)))
        budget = token_budget(lengths, settings.slots, search.batch_tokens, self.at_once)
        compute_side_by_side(find_batch, cut_by_tokens(lengths, order, budget), self.at_once)
        return found

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int = 4000
    ) -> list[Hypothesis]:
        """See `protocol.Inference.score`."""
        source, target = Sequences.of(sources), Sequences.of(targets)
        scored: list[Hypothesis | None] = [None] * len(target)

        def score_batch(rows: np.ndarray) -> None:
            _require_memory(len(rows), *(int(side.lengths[rows].max(initial=0)) + 1 for side in (source, target)))
            values, weights = map(ops.convert_to_numpy, self.score_batch(*make_batch(source, target, rows)))
            for row, index in enumerate(rows):
                steps, positions = int(target.lengths[index]) + 1, int(source.lengths[index]) + 1
                total = float(values[row].sum())
                attention = weights[row, :steps, :positions].copy()
                scored[index] = Hypothesis(
                    list(targets[index]), total, total, attention, True, values[row, :steps].copy()
                )

        compute_side_by_side(score_batch, _pair_batches(source, target, batch_tokens), self.at_once)
        return scored  # type: ignore[return-value]

    def erase(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        erased: Sequence[Sequence[Collection[int]]],
        method: ErasureMethod = "word",
        batch_tokens: int = 4000,
    ) -> list[np.ndarray]:
        """See `protocol.ErasingInference.erase`. Sources of similar length share a batch, whatever their pair is."""
        # The lists below have a copy of the source for each erasure.
        require_memory(8 * sum(len(sources[pair]) * len(sets) for pair, sets in enumerate(erased)))
        flat = [(pair, set(positions)) for pair, sets in enumerate(erased) for positions in sets]
        source = Sequences.of(
            [
                [piece for at, piece in enumerate(sources[pair]) if method != "word" or at not in positions]
                for pair, positions in flat
            ]
        )
        target = Sequences.of([targets[pair] for pair, _ in flat])
        found: list[np.ndarray] = [np.zeros(0, np.float32)] * len(flat)

        def score_batch(rows: np.ndarray) -> None:
            batch = make_batch(source, target, rows)
            seen = np.ones(batch.source.shape, bool)
            if method == "attention":
                for row, index in enumerate(rows):
                    seen[row, list(flat[index][1])] = False
            values = ops.convert_to_numpy(self.score_batch_seen(batch.source, seen, batch.target_in, batch.target_out))
            for row, index in enumerate(rows):
                found[index] = values[row, : target.lengths[index] + 1]

        compute_side_by_side(score_batch, _pair_batches(source, target, batch_tokens), self.at_once)
        rest = iter(found)
        return [
            np.array([next(rest) for _ in sets], np.float32).reshape(len(sets), len(targets[pair]) + 1)
            for pair, sets in enumerate(erased)
        ]


def _kinds(constraints: Sequence[PieceConstraint] | None) -> tuple[bool, bool]:
    """Whether some pieces must occur, and whether some terms should occur."""
    if constraints is None:
        return False, False
    preferring = any(constraint.terms for constraint in constraints)
    return not preferring or any(constraint.is_hard for constraint in constraints), preferring


def _pair_batches(source: Sequences, target: Sequences, batch_tokens: int) -> list[np.ndarray]:
    """Indices of the pairs of each batch, the longest pairs first."""
    costs = np.maximum(source.lengths, target.lengths) + 1
    order = sort_by_length(source.lengths, target.lengths, np.arange(len(costs)))
    return cut_by_tokens(costs, order, batch_tokens)


def _require_memory(rows: int, positions: int, steps: int) -> None:
    """Refuses a batch whose attention weights alone, float32 and copied once, need more memory than there is."""
    require_memory(2 * 4 * rows * positions * steps)


def _lists(
    table: ShortList | None,
    count: int,
    packed: Sequences,
    rows: np.ndarray,
    constraints: Sequence[PieceConstraint],
    settings: ProgramSettings,
) -> BatchLists:
    """The short lists of a batch; empty if `count`, the setting `short_list`, is 0."""
    if not count:
        return BatchLists(np.zeros(0, np.int32), np.zeros((len(rows), 0), bool))
    if table is None:
        raise ValueError("the search uses short lists: give the table that they are made from, short_list")
    needed = [
        [*one.prefix, *(piece for forms in one.forms for form in forms for piece in form.pieces)] for one in constraints
    ]
    # The search looks at whole blocks of pieces: the lists have enough of them.
    blocks = searching.most_candidates(settings.slots, settings.preferring, len(IMPOSSIBLE_PIECES))
    return table.of(packed, rows, count, needed, searching.MINIMUM_BLOCK * blocks)
