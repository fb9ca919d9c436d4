"""From attention between pieces to attention between words, and from links between words to links between pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment.errors import require
from nmt.alignment.hard_links import DEFAULT_LINKING, Linking, hard_links
from nmt.alignment.links import Links
from nmt.alignment.word_alignment import WordAlignment


class SegmentedWords(Protocol):
    """The words of a sentence, and for each piece the index of its word; `SegmentedSentence` has them."""

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def word_of_piece(self) -> Sequence[int]: ...


def word_alignment(
    weights: ArrayLike, source: SegmentedWords, target: SegmentedWords, linking: Linking = DEFAULT_LINKING
) -> WordAlignment:
    """The attention and links between words that follow from attention between pieces.

    The attention of a target word to a source word is a sum over the source word's pieces, averaged over the target
    word's pieces (Koehn and Knowles 2017, section 3.5). A word without pieces, which normalisation removed, has no
    attention and no links.

    Args:
        weights: [target pieces, source pieces + 1]; the last column is the source's end-of-sentence symbol. A further
            row for the target's end-of-sentence symbol is used if `linking.step` is `read` and ignored otherwise. A
            translation that was cut off lacks that row, so its last piece keeps the row of its own step.
        source: words of the source, and the word of each source piece.
        target: words of the target, and the word of each target piece.
        linking: the step whose attention belongs to a piece, and the rule of the links.

    Raises:
        AlignmentError: the weights do not fit the pieces, or the pieces do not fit the words.
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
    by_target = _sum_by_word(paid, of_target, len(target.words)) / pieces_of_word[:, None]  # [words, source pieces + 1]
    between = _sum_by_word(by_target[:, :-1].T, of_source, len(source.words)).T.astype(np.float32)
    end_of_sentence = by_target[:, -1].astype(np.float32)
    links = hard_links(between, end_of_sentence, linking)
    return WordAlignment(tuple(source.words), tuple(target.words), between, end_of_sentence, links)


def _word_of_piece(side: str, sentence: SegmentedWords) -> NDArray[np.int_]:
    """The index of the word of each piece.

    Raises:
        AlignmentError: a word is out of range.
    """
    words = np.asarray(sentence.word_of_piece, dtype=int)
    count = len(sentence.words)
    require(
        bool(np.all((words >= 0) & (words < count))),
        f"{side}: word_of_piece names a word outside 0..{count - 1}, the words of the sentence",
    )
    return words


def _sum_by_word(rows: NDArray[np.float64], words: NDArray[np.int_], count: int) -> NDArray[np.float64]:
    """Rows of pieces, [pieces, ...], summed for each word, [count, ...].

    A product with a matrix of pieces by words would need memory in the square of the sentence's length.
    """
    total = np.zeros((count, *rows.shape[1:]))
    np.add.at(total, words, rows)
    return total


def piece_links(links: Links, source: SegmentedWords, target: SegmentedWords) -> list[tuple[int, int]]:
    """Links between words as sorted links between pieces, (target piece, source piece).

    Each piece of a target word is linked to all pieces of the source words that its word is linked to. A word without
    pieces has no links.

    Args:
        links: links between words, in range.
        source: words of the source, and the word of each source piece.
        target: words of the target, and the word of each target piece.
    """
    pieces: dict[int, list[int]] = {}
    for piece, word in enumerate(source.word_of_piece):
        pieces.setdefault(word, []).append(piece)
    of_target: dict[int, list[int]] = {}
    for s, t in links:
        of_target.setdefault(t, []).extend(pieces.get(s, ()))
    return [(i, j) for i, word in enumerate(target.word_of_piece) for j in sorted(of_target.get(word, ()))]
