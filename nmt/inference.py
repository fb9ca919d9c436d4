"""Batches of ids through the compiled search and the compiled forward pass, for validation and translator alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from keras import ops

from nmt import search
from nmt.batching import Sequences, by_length, cut, make_batch, source_rows
from nmt.config import SearchConfig
from nmt.engine import compile_function
from nmt.erasure import Way
from nmt.losses import token_losses
from nmt.model import Seq2Seq
from nmt.tokenizer import BOS, PAD


class Hypothesis(NamedTuple):
    """A translation in pieces, or a given one that was scored."""

    ids: list[int]
    """Pieces, without end of sentence."""
    log_probability: float
    """Of all pieces, end of sentence included where it is there, in nats."""
    score: float
    """Log-probability over length penalty."""
    weights: np.ndarray
    """Attention, float32 [pieces (and end of sentence), source pieces + end of sentence]."""
    finished: bool
    """Whether the end of sentence was reached."""


def next_log_probabilities(logits: Any) -> Any:
    """Log-probabilities [rows, vocabulary] for the search: neither padding nor a second beginning can come next.

    Their mass (label smoothing leaves some) is not given to the others: scoring a hypothesis gives what search gave.
    """
    pieces = ops.arange(ops.shape(logits)[-1])
    never = ops.logical_or(pieces == PAD, pieces == BOS)
    return ops.where(never, search.IMPOSSIBLE, logits - ops.logsumexp(logits, axis=-1, keepdims=True))


class Inference:
    """A model's compiled search and scoring.

    Args:
        model: built model; its weights may change between calls.
    """

    def __init__(self, model: Seq2Seq) -> None:
        self.model = model
        self._searches: dict[tuple[int, float], Callable[..., Any]] = {}
        self._score = compile_function(self._score_batch)
        self._score_seen = compile_function(self._score_seen_batch)

    def translate(self, sources: Sequence[Sequence[int]], config: SearchConfig) -> list[Hypothesis]:
        """The best hypothesis of each source sentence (pieces without end of sentence), in order.

        Sentences of like length go together, as many as `config.batch_tokens` allows.
        """
        packed = Sequences.of(sources)
        lengths = packed.lengths + 1
        order = by_length(lengths, lengths, np.arange(len(packed)))
        found: list[Hypothesis | None] = [None] * len(packed)
        for rows in cut(lengths, order, config.batch_tokens // config.beam_size):
            batch = source_rows(packed, rows)
            limits = np.ceil(config.max_length_ratio * packed.lengths[rows] + 10).astype(np.int32)
            # Carries a length that is dynamic on TensorFlow, static on JAX.
            steps = np.empty((limits.max(), 0), np.int32)
            result = self._search(config.beam_size, config.length_penalty)(batch, limits, steps)
            arrays = search.Found(*(np.asarray(ops.convert_to_numpy(values)) for values in result))
            for row, index in enumerate(rows):
                found[index] = self._best(arrays, row, int(lengths[index]))
        return found  # type: ignore[return-value]

    @staticmethod
    def _best(found: search.Found, row: int, positions: int) -> Hypothesis:
        steps, finished = int(found.lengths[row, 0]), bool(found.finished[row, 0])
        return Hypothesis(
            ids=found.tokens[row, 0, : steps - finished].tolist(),
            log_probability=float(found.log_probabilities[row, 0]),
            score=float(found.scores[row, 0]),
            weights=found.records[row, 0, :steps, :positions].copy(),
            finished=finished,
        )

    def _search(self, slots: int, alpha: float) -> Callable[..., Any]:
        if (slots, alpha) not in self._searches:

            def run(source: Any, limits: Any, steps: Any) -> search.Found:
                state, encoded = self.model.start(source)
                encoded = search.repeat_rows(encoded, slots)

                def step(tokens: Any, state: Any) -> tuple[Any, Any, Any]:
                    logits, state = self.model.step(tokens, state, encoded)
                    return next_log_probabilities(logits), state, state.weights

                longest, positions = ops.shape(steps)[0], ops.shape(source)[1]
                return search.beam_search(step, state, limits, longest, positions, slots, alpha)

            self._searches[slots, alpha] = compile_function(run)
        return self._searches[slots, alpha]

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int = 4000
    ) -> list[Hypothesis]:
        """Teacher forcing: log-probability and attention of given pairs (pieces without end of sentence), in order."""
        source, target = Sequences.of(sources), Sequences.of(targets)
        costs = np.maximum(source.lengths, target.lengths) + 1
        order = by_length(source.lengths, target.lengths, np.arange(len(costs)))
        scored: list[Hypothesis | None] = [None] * len(costs)
        for rows in cut(costs, order, batch_tokens):
            losses, weights = map(ops.convert_to_numpy, self._score(*make_batch(source, target, rows)))
            for row, index in enumerate(rows):
                steps, positions = int(target.lengths[index]) + 1, int(source.lengths[index]) + 1
                total = -float(losses[row].sum())
                scored[index] = Hypothesis(
                    list(targets[index]), total, total, weights[row, :steps, :positions].copy(), True
                )
        return scored  # type: ignore[return-value]

    def _score_batch(self, source: Any, target_in: Any, target_out: Any) -> tuple[Any, Any]:
        logits, weights = self.model(source, target_in, training=False)
        return token_losses(logits, target_out), weights

    def erase(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        erased: Sequence[Sequence[Collection[int]]],
        way: Way = "word",
        batch_tokens: int = 4000,
    ) -> list[np.ndarray]:
        """Teacher forcing of each pair once for every set of source pieces that is erased from it.

        All of them together are sorted by length and cut into batches, whatever pair they belong to.

        Args:
            sources, targets: pieces of the pairs, without end of sentence.
            erased: for each pair the sets of places in its source that are erased, one at a time; the empty set
                leaves it whole.
            way: how, see `erasure.Way`.

        Returns:
            For each pair the log-probabilities of its pieces and its end, float32 [sets, target pieces + 1], in nats.
        """
        trials = [(pair, places) for pair, sets in enumerate(erased) for places in sets]
        gone = [frozenset(places) if way == "word" else frozenset() for _, places in trials]
        read = [[p for i, p in enumerate(sources[trials[k][0]]) if i not in gone[k]] for k in range(len(trials))]
        source = Sequences.of(read)
        target = Sequences.of([targets[pair] for pair, _ in trials])
        found: list[np.ndarray] = [np.zeros(0, np.float32)] * len(trials)
        order = by_length(source.lengths, target.lengths, np.arange(len(trials)))
        for rows in cut(np.maximum(source.lengths, target.lengths) + 1, order, batch_tokens):
            batch = make_batch(source, target, rows)
            seen = np.ones(batch.source.shape, bool)
            if way == "attention":
                for row, index in enumerate(rows):
                    seen[row, list(trials[index][1])] = False
            losses = ops.convert_to_numpy(self._score_seen(batch.source, seen, batch.target_in, batch.target_out))
            for row, index in enumerate(rows):
                found[index] = -losses[row, : target.lengths[index] + 1]
        rest = iter(found)
        return [
            np.array([next(rest) for _ in sets], np.float32).reshape(len(sets), len(targets[pair]) + 1)
            for pair, sets in enumerate(erased)
        ]

    def _score_seen_batch(self, source: Any, seen: Any, target_in: Any, target_out: Any) -> Any:
        """Losses where the decoder attends to nothing but what is `seen`, bool [batch, positions]."""
        memory, final, mask = self.model.encode(source)
        embedded = self.model.embed(target_in, self.model.target_embedding, training=False)
        readout, _ = self.model.decoder(embedded, memory, final, ops.logical_and(mask, seen))
        return token_losses(self.model.logits(readout), target_out)


def windows(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of `size` items one after the other, the last one shorter."""
    window = []
    for item in items:
        window.append(item)
        if len(window) == size:
            yield window
            window = []
    if window:
        yield window
