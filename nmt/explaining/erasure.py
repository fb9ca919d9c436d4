"""Erasure: the fall in log-probability of each target word without each source word, and its agreement with attention.

Attention shows the positions that the decoder looked at. Erasure asks whether a source word mattered: the model scores
the target again without it (Li, Monroe and Jurafsky 2016, "Understanding Neural Networks through Representation
Erasure"). Jain and Wallace (2019, "Attention is not Explanation") found that the two often rank source words
differently, most of all with a recurrent encoder. Wiegreffe and Pinter (2019, "Attention is not not Explanation")
answer that neither ranking is the truth, so this disagreement alone does not make attention useless. This module gives
both rankings and measures their agreement.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment.pieces_to_words import piece_parts, pieces_of_words, sum_by_word
from nmt.alignment.word_alignment import WordAlignment
from nmt.batches.windows import windows
from nmt.errors import NmtError
from nmt.text.tokenizer import SegmentedSentence, cut_words
from nmt.translation.erased_words import ErasureMethod
from nmt.translation.inference.protocol import ErasingInference

if TYPE_CHECKING:
    from nmt.translation.result import Translation
    from nmt.translation.translator import Translator

PAIRS_TOGETHER = 50
"""Pairs whose erasures share batches. A pair costs a forward pass for each of its source words."""


class ErasureError(NmtError):
    """An erasure that cannot be computed or read; the message says what was expected."""


@dataclass(frozen=True, eq=False)
class Erasure:
    """The log-probability that each target word loses when a source word is erased. The target itself is given.

    Raises:
        ErasureError: shapes that do not fit the words, or numbers that are not finite.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    log_probabilities: NDArray[np.float32]
    """[target words], in nats, with the whole source: the sum over the word's pieces, 0 for a word without pieces. A
    piece that covers several words counts by its share in the word."""
    falls: NDArray[np.float32]
    """[target words, source words], in nats: log-probability with the whole source minus log-probability without the
    source word. A value below 0 means that the target word is more probable without the source word. The column is
    zero for a source word without pieces, which the model does not read."""
    method: ErasureMethod = "word"

    def __post_init__(self) -> None:
        shape = len(self.target), len(self.source)
        for name, expected in (("log_probabilities", shape[:1]), ("falls", shape)):
            object.__setattr__(self, name, _finite(name, getattr(self, name), expected))

    def to_json(self) -> dict[str, Any]:
        """Plain lists, ready for `json.dumps`; numbers are rounded to 4 decimals."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "way": self.method,
            "log_probabilities": np.round(self.log_probabilities.astype(float), 4).tolist(),
            "falls": np.round(self.falls.astype(float), 4).tolist(),
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Erasure:
        """Reads back what `to_json` wrote.

        Raises:
            ErasureError: something is missing or of the wrong shape.
        """
        try:
            words = tuple(values["source"]), tuple(values["target"])
            if values["way"] not in get_args(ErasureMethod) or not all(isinstance(word, str) for word in chain(*words)):
                raise ErasureError("erasure: expected words, and a way to erase them")
            return cls(*words, values["log_probabilities"], values["falls"], values["way"])
        except KeyError as error:
            raise ErasureError(f"erasure: '{error.args[0]}' is missing") from None
        except TypeError:
            raise ErasureError("erasure: expected a JSON object with lists of words and numbers") from None


def _finite(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """`values` as a read-only float32 array of this shape."""
    try:
        array = np.array(values, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise ErasureError(f"{name}: expected numbers of shape {list(shape)}") from None
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)  # a list of no rows cannot say how many columns it has
    if array.shape != shape or not np.isfinite(array).all():
        raise ErasureError(f"{name} has shape {list(array.shape)}: expected finite numbers of shape {list(shape)}")
    array.setflags(write=False)
    return array


def erase(
    translator: Translator,
    pairs: Iterable[Translation],
    method: ErasureMethod = "word",
    max_source: int | None = None,
    words: Iterable[range] = (),
) -> Iterator[tuple[Translation, Erasure]]:
    """Yields each pair with the erasure of its source words, in order.

    The text of a pair is segmented again; a search may have found it in other pieces.

    Args:
        translator: the model that translated or aligned the pairs.
        pairs: may be a stream; 50 are read at a time.
        method: see `ErasureMethod`.
        max_source: most source pieces to read, as in the search that found the pairs; None: the limit of the model.
        words: for each pair, the source words to erase; the columns of the others are zero. Empty: all words.

    Raises:
        ErasureError: the model cannot score a pair without a word.
    """
    inference = translator.inference
    if not isinstance(inference, ErasingInference):
        raise ErasureError("this model cannot score a pair without a word: load the run that it was exported from")
    limit, longest = max_source or translator.config.search.max_source, translator.longest_target
    chosen = chain(words, repeat(range(sys.maxsize)))
    for window in windows(pairs, PAIRS_TOGETHER):
        sources = [cut_words(translator.source_text.segment(pair.source), limit) for pair in window]
        targets = [_target(translator.run.target.segment(pair.text), pair, longest) for pair in window]
        erased = [
            {word: pieces for word, pieces in pieces_of_words(source).items() if word in some}
            for source, some in zip(sources, chosen, strict=False)
        ]
        positions = [
            [(), *one.values()] if source.ids and target.ids else []
            for one, source, target in zip(erased, sources, targets, strict=True)
        ]
        scored = inference.erase([s.ids for s in sources], [t.ids for t in targets], positions, method)
        for pair, source, target, one, rows in zip(window, sources, targets, erased, scored, strict=True):
            yield pair, _erasure(source, target, list(one), rows, method)


def joined(parts: Sequence[Erasure]) -> Erasure:
    """The erasure of all words of a pair, from erasures of some of its words each."""
    return replace(parts[0], falls=np.sum([part.falls for part in parts], axis=0))


def _target(segmented: SegmentedSentence, pair: Translation, longest: int) -> SegmentedSentence:
    """The target with the words of the pair's alignment, and at most as many pieces as a translation can have."""
    words = pair.alignment.target
    pieces = min(max(longest, len(pair.pieces)), bisect_left(segmented.word_of_piece, len(words)))
    return segmented.beginning(pieces, len(words))._replace(words=list(words))


def _erasure(
    source: SegmentedSentence,
    target: SegmentedSentence,
    erased: Sequence[int],
    rows: NDArray[np.float32],
    method: ErasureMethod,
) -> Erasure:
    """The erasure of a pair from its log-probabilities.

    Args:
        erased: source words.
        rows: [1 + erased words, target pieces + 1]; the first row is for the whole source, each other row lacks one
            word. No rows if a side is blank.
    """
    count = len(target.words)
    of_pieces = rows[:, : len(target.ids)].astype(float).T if len(rows) else np.zeros((len(target.ids), 0))
    sums = sum_by_word(of_pieces, piece_parts(target), count).T
    whole = sums[0] if len(rows) else np.zeros(len(target.words))
    falls = np.zeros((len(target.words), len(source.words)))
    for word, without in zip(erased, sums[1:], strict=False):
        falls[:, word] = whole - without
    return Erasure(tuple(source.words), tuple(target.words), whole.astype(np.float32), falls.astype(np.float32), method)


class Agreement(NamedTuple):
    """The agreement of attention with erasure for each target word; NaN if it is undefined."""

    rank_correlations: NDArray[np.float64]
    """[target words], -1 to 1: Spearman's correlation of the word's attention with its falls, over source words."""
    same_first: NDArray[np.float64]
    """[target words], 1 or 0: whether the most attended source word is also the one with the greatest fall."""


def agreement(alignment: WordAlignment, erasure: Erasure) -> Agreement:
    """Compares attention with erasure for each target word.

    The comparison leaves out the end of sentence and the source words that the model does not read. It is undefined for
    a target word whose attention, or whose falls, are equal for all source words. A rank correlation weighs all source
    words equally, so it stays low if only a few of them matter; `same_first` reads the first one alone.

    Raises:
        ErasureError: the words of the alignment and of the erasure differ.
    """
    if (alignment.source, alignment.target) != (erasure.source, erasure.target):
        raise ErasureError("the erasure is of another sentence pair than the alignment")
    read = alignment.weights.any(axis=0) | erasure.falls.any(axis=0)
    weights, falls = alignment.weights[:, read], erasure.falls[:, read]
    correlations = spearman(weights, falls)
    same = weights.argmax(axis=1) == falls.argmax(axis=1) if read.any() else np.zeros(len(weights))
    return Agreement(correlations, np.where(np.isnan(correlations), np.nan, same))


def spearman(one: ArrayLike, two: ArrayLike) -> NDArray[np.float64]:
    """Spearman's rank correlation along the last axis: Pearson's correlation of the ranks, where equal values share the
    mean of their ranks.

    Args:
        one, two: [..., values].

    Returns:
        [...], -1 to 1; NaN where either side has fewer than two different values.
    """
    from scipy.stats import rankdata  # type: ignore[import-untyped]  # takes half a second to import

    first, second = (np.asarray(values, float) for values in (one, two))
    mean = (first.shape[-1] + 1) / 2
    first, second = rankdata(first, axis=-1) - mean, rankdata(second, axis=-1) - mean
    spread = np.sqrt((first**2).sum(axis=-1) * (second**2).sum(axis=-1))
    unknown = np.full(spread.shape, np.nan)
    return np.divide((first * second).sum(axis=-1), spread, out=unknown, where=spread > 0)
