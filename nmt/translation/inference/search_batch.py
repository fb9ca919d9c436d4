"""The arrays of a batch that is searched, and the hypotheses in the arrays that a search returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.batches.arrays import Sequences, pad, source_rows
from nmt.config import SearchConfig
from nmt.text.pieces import PAD
from nmt.translation.inference.protocol import Hypothesis, PieceConstraint, PieceForm
from nmt.translation.short_list import BatchLists

if TYPE_CHECKING:
    from nmt import search


class PhraseArrays(NamedTuple):
    """Phrases with their forms, int32."""

    forms: Any
    """[batch, forms, longest], padded at the end."""
    phrases: Any
    """[batch, forms]: index of each form's phrase; -2 for a form of padding."""
    places: Any
    """[batch, forms]: where each form may begin, see `nmt.search.phrase_tracking.PhraseTracker`."""


class PhrasePlaces(NamedTuple):
    """Where preferred phrases may begin, see `nmt.search.preferred_phrases.PreferredPhrases`."""

    replaced: Any
    """int32 [batch, forms]: the first piece of the word that each form replaces."""
    words: Any
    """int32 [batch, forms]: this piece if it is the whole word, else PAD."""
    sources: Any
    """float32 [batch, forms, positions]: 1 at the source positions of the term of each form."""
    least: Any
    """float32 [batch, forms]: the least attention to these positions."""


class SearchBatch(NamedTuple):
    """The arrays of a batch that is searched, int32 unless stated otherwise."""

    source: Any
    """[batch, positions], end of sentence included."""
    limits: Any
    """[batch]: greatest length of each hypothesis, end of sentence included."""
    steps: Any
    """[greatest limit, 0]: its first dimension is the number of steps, dynamic on TensorFlow and static on JAX."""
    least: Any
    """[batch]: least length, end of sentence excluded."""
    nbest: Any
    """[]: hypotheses that the user asks for."""
    seeds: Any
    """uint32 [batch]: seeds of the samples."""
    prefix: Any
    """[batch, longest prefix], padded at the end."""
    required: PhraseArrays
    """What must occur."""
    preferred: PhraseArrays
    """The terms that should occur."""
    places: PhrasePlaces
    """Where these terms should occur."""
    lists: BatchLists
    """The short lists; empty for a search without short lists."""


def longest_translations(search: SearchConfig, lengths: ArrayLike) -> NDArray[np.float64]:
    """Pieces of the longest translations of sources with these lengths, before constraints lengthen them."""
    return np.ceil(search.max_length_ratio * np.asarray(lengths)) + 10


def make_search_batch(
    packed: Sequences,
    rows: np.ndarray,
    search: SearchConfig,
    nbest: int,
    constraints: Sequence[PieceConstraint],
    sentence_ids: np.ndarray,
    lists: BatchLists,
) -> SearchBatch:
    """The batch of some sentences.

    Args:
        packed: pieces of all sentences.
        rows: indices of the batch's sentences.
        nbest: hypotheses that the user asks for.
        constraints, sentence_ids, lists: for the batch's sentences.
    """
    lengths = packed.lengths[rows]
    required = [constraint.required for constraint in constraints]
    longest = [
        len(c.prefix) + sum(max(len(form.pieces) for form in forms) for forms in c.required) for c in constraints
    ]
    limits = (longest_translations(search, lengths) + np.array(longest, np.int64)).astype(np.int32)
    source = source_rows(packed, rows)
    return SearchBatch(
        source=source,
        limits=limits,
        steps=np.empty((limits.max(), 0), np.int32),
        least=np.minimum(np.floor(search.min_length_ratio * lengths), limits - 1).astype(np.int32),
        nbest=np.array(nbest, np.int32),
        seeds=(np.uint64(search.seed) * np.uint64(0x9E3779B1) + sentence_ids.astype(np.uint64)).astype(np.uint32),
        prefix=_padded([constraint.prefix for constraint in constraints]),
        required=_phrase_arrays(required),
        preferred=_phrase_arrays([[term.forms for term in constraint.terms] for constraint in constraints]),
        places=_phrase_places(constraints, source.shape[1]),
        lists=lists,
    )


_PLACES = {"anywhere": 7, "start": 1, "inside": 6, "unspaced": 2}


def _phrase_arrays(phrases: Sequence[Sequence[Sequence[PieceForm]]]) -> PhraseArrays:
    """The phrases of each sentence, each with its forms, as arrays."""
    forms = [[form for phrase in of_sentence for form in phrase] for of_sentence in phrases]
    most = max(1, *map(len, forms))
    numbers, places = np.full((len(forms), most), -2, np.int32), np.zeros((len(forms), most), np.int32)
    for row, of_sentence in enumerate(phrases):
        numbers[row, : len(forms[row])] = np.repeat(
            np.arange(len(of_sentence)), [len(phrase) for phrase in of_sentence]
        )
        places[row, : len(forms[row])] = [_PLACES[form.where] for form in forms[row]]
    filled = [form for one in forms for form in [*(form.pieces for form in one), *[()] * (most - len(one))]]
    return PhraseArrays(_padded(filled).reshape(len(forms), most, -1), numbers, places)


def _phrase_places(constraints: Sequence[PieceConstraint], positions: int) -> PhrasePlaces:
    """The places of the terms of each sentence as arrays."""
    rows = [[term for term in constraint.terms for _ in term.forms] for constraint in constraints]
    shape = len(rows), max(1, *map(len, rows))
    none = np.full(shape, PAD, np.int32)
    places = PhrasePlaces(none, none.copy(), np.zeros((*shape, positions), np.float32), np.zeros(shape, np.float32))
    for row, terms in enumerate(rows):
        for form, term in enumerate(terms):
            places.replaced[row, form], places.words[row, form] = term.replaced, term.word
            places.least[row, form] = term.attention
            places.sources[row, form, term.positions] = 1
    return places


def _padded(sequences: Sequence[Sequence[int]]) -> np.ndarray:
    """int32 [sequences, longest, at least 1], padded at the end."""
    packed = Sequences.of(sequences)
    return pad(packed.ids, packed.lengths, width=max(1, int(packed.lengths.max(initial=0))))


def make_hypothesis(found: search.SearchResult, row: int, slot: int, positions: int) -> Hypothesis:
    """The hypothesis in one slot of a sentence.

    Args:
        found: the search's results as NumPy arrays.
        row, slot: where the hypothesis stands.
        positions: source pieces of the sentence, end of sentence included.
    """
    steps, finished = int(found.lengths[row, slot]), bool(found.finished[row, slot])
    return Hypothesis(
        ids=found.tokens[row, slot, : steps - finished].tolist(),
        log_probability=float(found.log_probabilities[row, slot]),
        score=float(found.scores[row, slot]),
        weights=found.records[row, slot, :steps, :positions].copy(),
        finished=finished,
        piece_log_probabilities=found.piece_log_probabilities[row, slot, :steps].copy(),
    )
