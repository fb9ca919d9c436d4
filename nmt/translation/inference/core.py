"""The compiled search and scoring of a model, or of several."""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from keras import ops

from nmt import search
from nmt.backend.compiling import compile_function, dynamic_shapes, rounds_products
from nmt.backend.gather_scatter import gather_within
from nmt.backend.machine import batches_at_once
from nmt.batches.arrays import Sequences, make_batch
from nmt.batches.plan import cut_by_tokens, sort_by_length
from nmt.config import SearchConfig
from nmt.network.losses.label_smoothing import token_losses
from nmt.network.model import Seq2Seq
from nmt.network.output_layer import OutputLayer
from nmt.text.pieces import BOS, EOS, PAD
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.inference.distributions import Averaging, averaged, mean, unrounded
from nmt.translation.inference.questions import (
    NO_DEMAND,
    Demand,
    Hypothesis,
    Kind,
    Question,
    make_hypothesis,
    make_question,
)
from nmt.translation.short_list import Lists, ShortList

FEW = 8
"""Rows of a step that take no longer to multiply than their weights take to be read."""


class Inference:
    """The compiled search and scoring of a model, or of several.

    Args:
        models: built models over the same pieces; their weights may change between calls.
        averaging: of the models' distributions.
        joins: which target pieces go on with the word before them, bool [vocabulary]; None: unknown, so none.
    """

    def __init__(
        self, *models: Seq2Seq, averaging: Averaging = "probability", joins: Sequence[bool] | None = None
    ) -> None:
        self.models, self.averaging = models, averaging
        self.short_list: ShortList | None = None
        """What searches with `config.short_list` choose from."""
        size = models[0].target_size
        self.joins = np.zeros(size, bool) if joins is None else np.asarray(joins, bool)
        self.report: Callable[[int], None] = lambda sentences: None
        """Told of so many more sentences whenever some have been searched for, by the thread that did it."""
        self._searches: dict[Kind, Callable[[Question], Any]] = {}
        self._score = self._compiled(self._score_batch)
        self._score_seen = self._compiled(self._score_seen_batch)

    def translate(self, sources: Sequence[Sequence[int]], config: SearchConfig) -> list[Hypothesis]:
        """The best hypothesis of each source sentence (pieces without end of sentence), in order."""
        return [found[0] for found in self.find(sources, config)]

    def find(
        self,
        sources: Sequence[Sequence[int]],
        config: SearchConfig,
        nbest: int = 1,
        demands: Sequence[Demand] | None = None,
        suppressed: Sequence[int] = (),
        numbers: Sequence[int] | np.ndarray | None = None,
    ) -> list[list[Hypothesis]]:
        """The `nbest` hypotheses of each source sentence (pieces without end of sentence), best first, in order.

        Sentences of like length go together, as many as `config.batch_tokens` allows. There can be fewer hypotheses
        than asked for, where no more are possible.

        Args:
            sources: pieces of each sentence.
            config: how to search; `config.suppress` is `suppressed` here.
            nbest: at most the beam size; the number of samples where they are drawn.
            demands: what each translation must hold.
            suppressed: pieces that never come.
            numbers: of the sentences, which their samples depend on; None: from 0 on.
        """
        packed = Sequences.of(sources)
        lengths = packed.lengths + 1
        slots = nbest if config.method == "sample" else config.beam_size
        order = sort_by_length(lengths, lengths, np.arange(len(packed)))
        found: list[list[Hypothesis]] = [[]] * len(packed)
        numbers = np.arange(len(packed)) if numbers is None else np.asarray(numbers)
        kind = Kind(config, slots, nbest, demands is not None, tuple(suppressed), single=False)
        run, run_single = self._search(kind), self._search(kind._replace(single=dynamic_shapes() and slots == 1))

        def find_batch(rows: np.ndarray) -> None:
            asked = [demands[row] for row in rows] if demands is not None else [NO_DEMAND] * len(rows)
            lists = self._lists(packed, rows, config.short_list, asked, slots)
            question = make_question(packed, rows, config, asked, numbers[rows], lists)
            result = run_single(question) if len(rows) == 1 else run(question)
            arrays = search.SearchResult(*(np.asarray(ops.convert_to_numpy(values)) for values in result))
            for row, index in enumerate(rows):
                found[index] = [
                    make_hypothesis(arrays, row, slot, int(lengths[index]))
                    for slot in range(nbest)
                    if slot == 0 or arrays.log_probabilities[row, slot] > search.IMPOSSIBLE / 2
                ]
            self.report(len(rows))

        _each(find_batch, cut_by_tokens(lengths, order, _budget(lengths, slots, config.batch_tokens)))
        return found

    def _lists(self, packed: Sequences, rows: np.ndarray, count: int, demands: Sequence[Demand], slots: int) -> Lists:
        """The short lists of these sentences; empty where the search has none."""
        if not count:
            return Lists(np.zeros(0, np.int32), np.zeros((len(rows), 0), bool))
        if self.short_list is None:
            raise ValueError("the search is among short lists, but there is no table to make them from")
        needed = [[*demand.prefix, *chain(*demand.phrases)] for demand in demands]
        # Blocks enough for all that a choice among them looks at.
        return self.short_list.of(packed, rows, count, needed, search.MINIMUM_BLOCK * (slots + FEW))

    def _compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function as one program of the models' weights."""
        return compile_function(function, [weight for model in self.models for weight in model.trainable_variables])

    def _search(self, kind: Kind) -> Callable[[Question], Any]:
        if kind not in self._searches:
            self._searches[kind] = self._compiled(partial(self._searched, kind))
        return self._searches[kind]

    def _searched(self, kind: Kind, question: Question) -> search.SearchResult:
        longest, positions = ops.shape(question.steps)[0], ops.shape(question.source)[1]
        starts = [model.start(question.source, longest) for model in self.models]
        step, fixed = self._step, tuple(encoded for _, encoded in starts)
        if kind.config.short_list:
            step, fixed = self._short_step(question.lists.pieces), (*fixed, question.lists.allowed)
        states, how = tuple(state for state, _ in starts), self._how(kind, question)
        found = search.search(step, states, question.limits, longest, positions, how, fixed=fixed)
        return search.SearchResult(*(values[:, : kind.nbest] for values in found))

    def _step(self, tokens: Any, states: Any, *encoded: Any) -> tuple[search.Distribution, Any, Any]:
        """One step of all models: log-probabilities of the next piece, states, attention.

        Neither padding nor a second beginning can come. Their mass (label smoothing leaves some) is not given to the
        others: scoring a hypothesis gives what search gave.
        """
        readouts, states, attention = self._read(tokens, states, encoded)
        logits = [self._logits(model, readout) for model, readout in zip(self.models, readouts, strict=True)]
        return self._distribution(logits, readouts), states, attention

    def _short_step(self, pieces: Any) -> search.Step:
        """`_step` over these pieces alone; besides what is encoded it reads which of them can come, bool [rows,
        places]. The log-probabilities of those sum to one."""
        outputs = [model.output_layer(pieces) for model in self.models]
        subset = search.PieceSubset(pieces, self.models[0].target_size)

        def step(tokens: Any, states: Any, *read: Any) -> tuple[search.Distribution, Any, Any]:
            *encoded, allowed = read
            readouts, states, attention = self._read(tokens, states, encoded)
            logits = [
                ops.where(allowed, model.logits(readout, output=output), search.IMPOSSIBLE)
                for model, readout, output in zip(self.models, readouts, outputs, strict=True)
            ]
            return self._distribution(logits, readouts, outputs)._replace(subset=subset), states, attention

        return step

    def _read(self, tokens: Any, states: Any, encoded: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...], Any]:
        """All models' read-outs and states after these pieces, and their attention."""
        stepped = [
            model.step(tokens, state, read) for model, state, read in zip(self.models, states, encoded, strict=True)
        ]
        states = tuple(state for _, state in stepped)
        return [readout for readout, _ in stepped], states, mean([state.weights for state in states])

    def _logits(self, model: Seq2Seq, readout: Any) -> Any:
        """Logits of the next piece; where rows are few, the processors share the reading of the kernel."""
        parts = batches_at_once()
        if parts == 1:
            return model.logits(readout)
        few = ops.shape(readout)[0] <= FEW
        return ops.cond(few, lambda: model.logits(readout, parts), lambda: model.logits(readout))

    def _distribution(
        self, logits: Sequence[Any], readouts: Sequence[Any], outputs: Sequence[OutputLayer | None] | None = None
    ) -> search.Distribution:
        """What comes next, from the models' logits; the read-outs tell what rounding took from these.

        Args:
            outputs: the models' output layers, where these are not of all pieces.
        """
        outputs = outputs or [None] * len(self.models)
        log_sums = [search.log_sum_exp(values) for values in logits]
        together, of_together = logits[0], log_sums[0]
        if len(self.models) > 1:
            alone = [values - total for values, total in zip(logits, log_sums, strict=True)]
            together, of_together = averaged(alone, self.averaging), 0.0

        def sharp(places: Any) -> Any:
            lost = [
                model.rounding_errors(readout, places, output)
                for model, readout, output in zip(self.models, readouts, outputs, strict=True)
            ]
            if self.averaging == "log_probability":
                return unrounded(gather_within(together, places) - of_together, mean(lost))
            shifted = [
                unrounded(gather_within(values, places) - total, taken)
                for values, total, taken in zip(logits, log_sums, lost, strict=True)
            ]
            return averaged(shifted, self.averaging)

        rounded = rounds_products() and any(model.compute_dtype != "float32" for model in self.models)
        return search.Distribution(together, of_together, sharp if rounded else None, impossible=(PAD, BOS))

    def _how(self, kind: Kind, question: Question) -> search.SearchMethod:
        """The configuration as a search over these tensors."""
        config, sampling = kind.config, kind.config.method == "sample"
        guides: list[search.Restriction] = []
        if kind.suppressed:
            guides.append(search.SuppressedPieces(np.isin(np.arange(len(self.joins)), kind.suppressed)))
        if config.min_length_ratio:
            guides.append(search.MinimumLength(question.least))
        if config.no_repeat_ngram:
            guides.append(search.NoRepeatedNgram(config.no_repeat_ngram))
        choose: search.Select = partial(
            search.select_most_probable, diversity=config.diversity, margin=config.prune, nbest=kind.nbest
        )
        if kind.demanding:
            constraints = search.Constraints(question.phrases, self.joins, question.limits)
            guides += [constraints, search.ForcedPrefix(question.prefix)]
            choose = search.BankedSelection(constraints)
        if sampling:
            choose = search.Sampling(question.numbers, config.temperature, config.top_k, config.top_p)
        words = ops.logical_and(question.source != PAD, question.source != EOS)
        compact = dynamic_shapes() and not kind.single
        ranking = search.Scoring(config.length_penalty, config.normalization, config.coverage_penalty, words)
        return search.SearchMethod(kind.slots, choose, tuple(guides), ranking, kind.nbest, sampling, compact)

    def score(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], batch_tokens: int = 4000
    ) -> list[Hypothesis]:
        """Teacher forcing: log-probability and attention of given pairs (pieces without end of sentence), in order."""
        source, target = Sequences.of(sources), Sequences.of(targets)
        costs = np.maximum(source.lengths, target.lengths) + 1
        order = sort_by_length(source.lengths, target.lengths, np.arange(len(costs)))
        scored: list[Hypothesis | None] = [None] * len(costs)

        def score_batch(rows: np.ndarray) -> None:
            values, weights = map(ops.convert_to_numpy, self._score(*make_batch(source, target, rows)))
            for row, index in enumerate(rows):
                steps, positions = int(target.lengths[index]) + 1, int(source.lengths[index]) + 1
                total = float(values[row].sum())
                attention = weights[row, :steps, :positions].copy()
                scored[index] = Hypothesis(
                    list(targets[index]), total, total, attention, True, values[row, :steps].copy()
                )

        _each(score_batch, cut_by_tokens(costs, order, batch_tokens))
        return scored  # type: ignore[return-value]

    def _score_batch(self, source: Any, target_in: Any, target_out: Any) -> tuple[Any, Any]:
        """Log-probabilities of the target's pieces [batch, steps], 0 at padding, and attention."""
        forced = [model(source, target_in, training=False) for model in self.models]
        return self._of_targets([logits for logits, _ in forced], target_out), mean([weights for _, weights in forced])

    def _of_targets(self, logits: Sequence[Any], target_out: Any) -> Any:
        if len(logits) == 1:
            return -token_losses(logits[0], target_out)
        together = averaged([ops.log_softmax(values, axis=-1) for values in logits], self.averaging)
        values = ops.take_along_axis(together, target_out[:, :, None], axis=-1)[:, :, 0]
        return ops.where(target_out == PAD, 0.0, values)

    def erase(
        self,
        sources: Sequence[Sequence[int]],
        targets: Sequence[Sequence[int]],
        erased: Sequence[Sequence[Collection[int]]],
        method: ErasureMethod = "word",
        batch_tokens: int = 4000,
    ) -> list[np.ndarray]:
        """Teacher forcing of each pair once for every set of source pieces that is erased from it.

        All of them together are sorted by length and cut into batches, whatever pair they belong to.

        Args:
            sources, targets: pieces of the pairs, without end of sentence.
            erased: for each pair the sets of places in its source that are erased, one at a time; the empty set
                leaves it whole.
            method: see `ErasureMethod`.

        Returns:
            For each pair the log-probabilities of its pieces and its end, float32 [sets, target pieces + 1], in nats.
        """
        trials = [(pair, places) for pair, sets in enumerate(erased) for places in sets]
        gone = [frozenset(places) if method == "word" else frozenset() for _, places in trials]
        read = [[p for i, p in enumerate(sources[trials[k][0]]) if i not in gone[k]] for k in range(len(trials))]
        source = Sequences.of(read)
        target = Sequences.of([targets[pair] for pair, _ in trials])
        found: list[np.ndarray] = [np.zeros(0, np.float32)] * len(trials)
        costs = np.maximum(source.lengths, target.lengths) + 1
        order = sort_by_length(source.lengths, target.lengths, np.arange(len(trials)))

        def score_batch(rows: np.ndarray) -> None:
            batch = make_batch(source, target, rows)
            seen = np.ones(batch.source.shape, bool)
            if method == "attention":
                for row, index in enumerate(rows):
                    seen[row, list(trials[index][1])] = False
            values = ops.convert_to_numpy(self._score_seen(batch.source, seen, batch.target_in, batch.target_out))
            for row, index in enumerate(rows):
                found[index] = values[row, : target.lengths[index] + 1]

        _each(score_batch, cut_by_tokens(costs, order, batch_tokens))
        rest = iter(found)
        return [
            np.array([next(rest) for _ in sets], np.float32).reshape(len(sets), len(targets[pair]) + 1)
            for pair, sets in enumerate(erased)
        ]

    def _score_seen_batch(self, source: Any, seen: Any, target_in: Any, target_out: Any) -> Any:
        """As `_score_batch` where the decoder attends to nothing but what is `seen`, bool [batch, positions]."""
        logits = []
        for model in self.models:
            memory, final, mask, words = model.encode(source)
            embedded = model.embed(target_in, model.target_embedding, training=False)
            readout, _ = model.decoder(embedded, memory, final, ops.logical_and(mask, seen), words)
            logits.append(model.logits(readout))
        return self._of_targets(logits, target_out)


def _each(compute: Callable[[np.ndarray], None], batches: Iterable[np.ndarray]) -> None:
    """Computes batches, as many at once as pays; the longest sentences go first, so that all end at about one time."""
    if batches_at_once() == 1:
        for rows in batches:
            compute(rows)
        return
    with ThreadPoolExecutor(batches_at_once()) as threads:
        # The values raise what was raised; once one has failed, none that waits begins.
        collections.deque(threads.map(compute, batches), maxlen=0)


def _budget(lengths: np.ndarray, slots: int, batch_tokens: int) -> int:
    """Largest sentences times longest source of a batch: no larger than gives each processor a batch of its own, unless
    that would have few rows."""
    each = -(-len(lengths) // batches_at_once())
    if each * slots <= FEW:
        each = len(lengths)
    return min(batch_tokens // slots, each * int(lengths.max(initial=0)))
