"""From attention between pieces to attention between words, and from links between words to links between pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

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

    @property
    def divided(self) -> Sequence[tuple[int, Sequence[float]]]:
        """The pieces that cover several words, with the share of each word from `word_of_piece` on."""
        ...


def word_alignment(
    weights: ArrayLike, source: SegmentedWords, target: SegmentedWords, linking: Linking = DEFAULT_LINKING
) -> WordAlignment:
    """The attention and links between words that follow from attention between pieces.

    The attention of a target word to a source word is a sum over the source word's pieces, averaged over the target
    word's pieces (Koehn and Knowles 2017, section 3.5). A piece that covers several words counts for each of them by
    its share of the piece's characters. A word without pieces, which normalisation removed, has no attention and no
    links.

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
    of_source, of_target = _parts("source", source), _parts("target", target)
    paid = array[:rows] if linking.step == "emit" else np.concatenate([array[1:], array[-1:]])[:rows]
    by_target = sum_by_word(paid, of_target, len(target.words))  # [target words, source pieces + 1]
    pieces_of_word = sum_by_word(np.ones(rows), of_target, len(target.words))
    by_target /= np.where(pieces_of_word > 0, pieces_of_word, 1)[:, None]
    between = sum_by_word(by_target[:, :-1].T, of_source, len(source.words)).T.astype(np.float32)
    end_of_sentence = by_target[:, -1].astype(np.float32)
    links = hard_links(between, end_of_sentence, linking)
    return WordAlignment(tuple(source.words), tuple(target.words), between, end_of_sentence, links)


class PieceParts(NamedTuple):
    """Pieces parted among the words that they cover; a piece of one word is one part."""

    pieces: NDArray[np.int_]
    """[parts]"""
    words: NDArray[np.int_]
    """[parts]"""
    shares: NDArray[np.float64]
    """[parts]: share of the piece in the word. The shares of a piece sum to 1."""


def piece_parts(sentence: SegmentedWords) -> PieceParts:
    """The parts of all pieces, in the order of pieces and words."""
    words = np.asarray(sentence.word_of_piece, dtype=int)
    pieces, shares = np.arange(len(words)), np.ones(len(words))
    if sentence.divided:
        counts = np.ones(len(words), dtype=int)
        for piece, of_words in sentence.divided:
            counts[piece] = len(of_words)
        first = np.cumsum(counts) - counts  # the first part of each piece
        pieces, words, shares = np.repeat(pieces, counts), np.repeat(words, counts), np.repeat(shares, counts)
        for piece, of_words in sentence.divided:
            parts = slice(first[piece], first[piece] + len(of_words))
            words[parts] += np.arange(len(of_words))
            shares[parts] = of_words
    return PieceParts(pieces, words, shares)


def _parts(side: str, sentence: SegmentedWords) -> PieceParts:
    """The parts of all pieces.

    Raises:
        AlignmentError: a word is out of range.
    """
    parts, count = piece_parts(sentence), len(sentence.words)
    require(
        bool(np.all((parts.words >= 0) & (parts.words < count))),
        f"{side}: word_of_piece names a word outside 0..{count - 1}, the words of the sentence",
    )
    return parts


def sum_by_word(rows: NDArray[np.float64], parts: PieceParts, count: int) -> NDArray[np.float64]:
    """Rows of pieces, [pieces, ...], summed for each word by its shares of the pieces, [count, ...].

    A product with a matrix of pieces by words would need memory in the square of the sentence's length.
    """
    total = np.zeros((count, *rows.shape[1:]))
    shares = parts.shares.reshape(-1, *[1] * (rows.ndim - 1))
    np.add.at(total, parts.words, rows[parts.pieces] * shares)
    return total


def piece_links(links: Links, source: SegmentedWords, target: SegmentedWords) -> list[tuple[int, int]]:
    """Links between words as sorted links between pieces, (target piece, source piece).

    Each piece of a target word is linked to all pieces of the source words that its word is linked to. A piece that
    covers several words has the links of all of them. A word without pieces has no links.

    Args:
        links: links between words, in range.
        source: words of the source, and the word of each source piece.
        target: words of the target, and the word of each target piece.
    """
    of_source, of_target = pieces_of_words(source), pieces_of_words(target)
    return sorted({(i, j) for s, t in links for i in of_target.get(t, ()) for j in of_source.get(s, ())})


def pieces_of_words(sentence: SegmentedWords) -> dict[int, list[int]]:
    """The pieces of each word that has any."""
    found: dict[int, list[int]] = {}
    parts = piece_parts(sentence)
    for piece, word in zip(parts.pieces.tolist(), parts.words.tolist(), strict=True):
        found.setdefault(word, []).append(piece)
    return found
