"""Attention between pieces becomes attention between words; links between words become links between pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment.hard_links import DEFAULT_LINKING, Linking, hard_links, require
from nmt.alignment.links import Links
from nmt.alignment.word_alignment import WordAlignment


class SegmentedWords(Protocol):
    """A sentence's words and, for each of its pieces, the word that it belongs to (`SegmentedSentence` is one)."""

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def word_of_piece(self) -> Sequence[int]: ...


def word_alignment(
    weights: ArrayLike, source: SegmentedWords, target: SegmentedWords, linking: Linking = DEFAULT_LINKING
) -> WordAlignment:
    """Attention between pieces as attention between words.

    A target word attends to a source word with the sum over the source word's pieces, averaged over the target word's
    pieces (Koehn and Knowles 2017, section 3.5). A word without a piece, because normalisation removed it, has a column
    of zeros as a source word; as a target word a row of zeros, no mass on the end-of-sentence symbol and no link.

    Args:
        weights: [target pieces, source pieces + 1], the last column for the source's end-of-sentence symbol. One row
            more, for the target's end-of-sentence symbol, is dropped, or read as `linking.step` says: a translation
            that did not reach its end has no such row, its last piece then keeps the row of its own step.
        source: the source's words, and the word of each source piece.
        target: the same for the target.
        linking: whose attention a piece's is, and which links follow.

    Raises:
        AlignmentError: the weights do not fit the pieces, or the pieces not the words.
    """
    rows, columns = len(target.word_of_piece), len(source.word_of_piece)
    array = np.asarray(weights, dtype=float)
    require(
        array.ndim == 2 and array.shape[0] in (rows, rows + 1) and array.shape[1] == columns + 1,
        f"weights have shape {list(array.shape)}: expected [{rows} or {rows + 1}, {columns + 1}], "
        f"for {rows} target and {columns} source pieces and the end of sentence",
    )
    of_source, of_target = _word_of_piece("source", source), _word_of_piece("target", target)
    pieces_of_word = np.maximum(np.bincount(of_target, minlength=len(target.words)), 1)
    paid = array[:rows] if linking.step == "emit" else np.concatenate([array[1:], array[-1:]])[:rows]
    by_target = _summed(paid, of_target, len(target.words)) / pieces_of_word[:, None]  # [words, source pieces + 1]
    between = _summed(by_target[:, :-1].T, of_source, len(source.words)).T.astype(np.float32)
    end_of_sentence = by_target[:, -1].astype(np.float32)
    links = hard_links(between, end_of_sentence, linking)
    return WordAlignment(tuple(source.words), tuple(target.words), between, end_of_sentence, links)


def _word_of_piece(side: str, sentence: SegmentedWords) -> NDArray[np.int_]:
    """The word of each piece, checked."""
    words = np.asarray(sentence.word_of_piece, dtype=int)
    count = len(sentence.words)
    require(
        bool(np.all((words >= 0) & (words < count))),
        f"{side}: word_of_piece names a word outside 0..{count - 1}, the words of the sentence",
    )
    return words


def _summed(rows: NDArray[np.float64], words: NDArray[np.int_], count: int) -> NDArray[np.float64]:
    """[pieces, ...] added up by the words that pieces belong to: [count, ...]. A matrix of which belongs to which would
    be as large as the square of a sentence."""
    total = np.zeros((count, *rows.shape[1:]))
    np.add.at(total, words, rows)
    return total


def piece_links(links: Links, source: SegmentedWords, target: SegmentedWords) -> list[tuple[int, int]]:
    """Links between words as links between pieces, (target piece, source piece), sorted.

    Each piece of a linked target word is linked to all pieces of all source words that the word is linked to. A word
    without a piece has no links.

    Args:
        links: between words, in range.
        source: the source's words, and the word of each source piece.
        target: the same for the target.
    """
    pieces: dict[int, list[int]] = {}
    for piece, word in enumerate(source.word_of_piece):
        pieces.setdefault(word, []).append(piece)
    of_target: dict[int, list[int]] = {}
    for s, t in links:
        of_target.setdefault(t, []).extend(pieces.get(s, ()))
    return [(i, j) for i, word in enumerate(target.word_of_piece) for j in sorted(of_target.get(word, ()))]
