"""Soft attention between pieces -> a word alignment with hard links.

Words and links are 0-based everywhere; a link is (source word, target word).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.alignment.hard_links import PLAIN, Linking, hard_links, require
from nmt.alignment.links import AlignmentError, Links, format_pharaoh

_UNDECIDED: Links = frozenset({(-1, -1)})


class SegmentedWords(Protocol):
    """A sentence's words and, for each of its pieces, the word that it belongs to (`tokenizer.Words` is one)."""

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def word_of_piece(self) -> Sequence[int]: ...


@dataclass(frozen=True, eq=False)
class WordAlignment:
    """How much each target word attended to each source word, and the links that follow from it.

    Raises:
        AlignmentError: shapes that do not fit the words, or weights that are negative or not finite.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    weights: NDArray[np.float32]
    """[target words, source words]: attention mass; with `end_of_sentence` each row sums to 1, or to 0 where the
    target word has no piece."""
    end_of_sentence: NDArray[np.float32]
    """[target words]: attention mass on the source's end-of-sentence symbol."""
    links: Links = _UNDECIDED
    """Hard links; left out, they are decided from the weights by `hard_links`."""

    def __post_init__(self) -> None:
        shape = (len(self.target), len(self.source))
        for name, expected in (("weights", shape), ("end_of_sentence", shape[:1])):
            object.__setattr__(self, name, _masses(name, getattr(self, name), expected))
        if self.links is _UNDECIDED:
            object.__setattr__(self, "links", hard_links(self.weights, self.end_of_sentence))
        for s, t in self.links:
            require(
                0 <= s < len(self.source) and 0 <= t < len(self.target),
                f"link {s}-{t} is out of range: {len(self.source)} source and {len(self.target)} target words",
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordAlignment):
            return NotImplemented
        return (
            (self.source, self.target, self.links) == (other.source, other.target, other.links)
            and np.array_equal(self.weights, other.weights)
            and np.array_equal(self.end_of_sentence, other.end_of_sentence)
        )

    def __hash__(self) -> int:
        return hash((self.source, self.target, self.links))

    def pharaoh(self) -> str:
        """The hard links in Pharaoh format, such as `0-0 1-2`."""
        return format_pharaoh(self.links)

    def to_json(self) -> dict[str, Any]:
        """Plain lists, ready for `json.dumps`; weights are rounded to 4 decimals, so rows sum to 1 only nearly."""
        return {
            "source": list(self.source),
            "target": list(self.target),
            "weights": np.round(self.weights.astype(float), 4).tolist(),
            "end_of_sentence": np.round(self.end_of_sentence.astype(float), 4).tolist(),
            "links": [list(link) for link in sorted(self.links)],
        }

    @classmethod
    def from_json(cls, values: Any, where: str = "alignment") -> WordAlignment:
        """Reads back what `to_json` wrote; the links are those written, whatever rounding did to the weights.

        Raises:
            AlignmentError: something is missing, of the wrong kind or shape; the message begins with `where`.
        """
        try:
            require(isinstance(values, dict), f"expected a JSON object, got {type(values).__name__}")
            return cls(
                source=_words("source", values["source"]),
                target=_words("target", values["target"]),
                weights=values["weights"],
                end_of_sentence=values["end_of_sentence"],
                links=_links(values["links"]),
            )
        except KeyError as error:
            raise AlignmentError(f"{where}: '{error.args[0]}' is missing") from None
        except AlignmentError as error:
            raise AlignmentError(f"{where}: {error}") from None


def _masses(name: str, values: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """`values` as a read-only float32 array, if it has this shape and could be attention mass."""
    try:
        array = np.array(values, dtype=np.float32)
    except (TypeError, ValueError):
        raise AlignmentError(f"{name}: expected numbers of shape {list(shape)}, one row a target word") from None
    if array.size == 0 and 0 in shape:
        array = array.reshape(shape)  # a list of no rows cannot say how many columns it has
    require(array.shape == shape, f"{name} has shape {list(array.shape)}: expected {list(shape)} for these words")
    require(bool(np.all(np.isfinite(array) & (array >= 0))), f"{name}: expected finite numbers, none below 0")
    array.setflags(write=False)
    return array


def _words(name: str, values: Any) -> tuple[str, ...]:
    require(
        isinstance(values, list) and all(isinstance(word, str) for word in values), f"{name}: expected a list of words"
    )
    return tuple(values)


def _links(values: Any) -> Links:
    require(
        isinstance(values, list)
        and all(isinstance(v, list) and len(v) == 2 and all(type(index) is int for index in v) for v in values),
        "links: expected a list of pairs of word numbers, such as [[0, 0], [1, 2]]",
    )
    return frozenset((s, t) for s, t in values)


def word_alignment(
    weights: ArrayLike, source: SegmentedWords, target: SegmentedWords, linking: Linking = PLAIN
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
