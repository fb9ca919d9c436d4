"""What a run's embeddings have learned: neighbours, analogies, their two widest axes, a file for other programs.

embeddings = Embeddings.of(nmt.Translator.load("saved_models/demo"))
embeddings.neighbours("singer")
embeddings.analogy("singers", "singer", "poet")
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.batches.arrays import Sequences
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacement_for
from nmt.text.pieces import SPECIAL_PIECES, UNK

if TYPE_CHECKING:
    from nmt.translation.translator import Translator

Floats = NDArray[np.floating[Any]]
Side = Literal["source", "target"]

RARE = 20
"""A word seen fewer times than this has a vector that says little."""

_WORD_START = "▁"  # as SentencePiece writes it
_SENTENCES = 100_000  # counted in together, so that memory does not grow with the corpus


class EmbeddingError(NmtError):
    """A word without a vector, or vectors that cannot be read, written or compared."""


class Entry(NamedTuple):
    """A word, or a piece, and what stands for it."""

    text: str
    """As it was asked for."""
    ids: tuple[int, ...]
    """Its pieces."""
    pieces: tuple[str, ...]
    """The same as SentencePiece writes them."""
    vector: Floats
    """The piece's own, or the mean of several pieces' vectors, float64 [width]."""
    seen: tuple[int, ...] | None
    """How often each piece stands in the training text, inside other words too; None where that is not known."""
    whole: int | None
    """How often the word does, as a word of its own; of a piece asked for as a piece, the same as `seen`."""

    @property
    def rare(self) -> bool:
        """Whether it is known to be seen too seldom for its vector to say much."""
        return self.whole is not None and self.whole < RARE


class Neighbour(NamedTuple):
    """A piece that is near, as SentencePiece writes it."""

    piece: str
    cosine: float
    seen: int | None
    """How often it stands in the training text."""


class Projection(NamedTuple):
    """Vectors on their two widest axes."""

    points: Floats
    """[vectors, 2], their mean at 0, in the vectors' own unit."""
    shares: tuple[float, float]
    """Of the variance, that each axis holds."""


class Seen:
    """How often pieces and words stand in a text of ids, counted once: training reads it again in every pass.

    Where a word ends is roughly known: where the next piece begins one, or is no letter of a script with upper and
    lower case (see `Tokenizer.joins`).

    Args:
        texts: the training text's sides.
        joins: for each piece whether it goes on with the word before it.

    Raises:
        EmbeddingError: the text has ids that are no pieces.
    """

    def __init__(self, texts: Sequence[Sequences], joins: Sequence[bool]) -> None:
        self._texts, self._joins = texts, np.asarray(joins, bool)
        self.pieces = np.zeros(len(joins), np.int64)
        """Of each piece, inside of words too."""
        self.whole = np.zeros(len(joins), np.int64)
        """Of each piece, where it is a whole word."""
        for ids, _, edges in self._blocks():
            self.pieces += np.bincount(ids, minlength=len(joins))
            self.whole += np.bincount(ids[edges[:-1] & edges[1:]], minlength=len(joins))

    def word(self, ids: Sequence[int]) -> int:
        """How often these pieces stand one after the other as a word, or as the words of a phrase."""
        count, last = 0, len(ids) - 1
        for text, starts, edges in self._blocks():
            room = max(len(text) - last, 0)
            found = edges[:room] & edges[last + 1 :]
            for place, piece in enumerate(ids):
                found &= text[place : place + room] == piece
                if place:
                    found &= ~starts[place : place + room]
            count += int(found.sum())
        return count

    def _blocks(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]]:
        """Many sentences together: ids [pieces], whether a sentence begins or ends, and whether a word does, before
        each piece and after the last [pieces + 1]."""
        for text in self._texts:
            for begin in range(0, len(text), _SENTENCES):
                offsets = text.offsets[begin : begin + _SENTENCES + 1]
                ids = np.asarray(text.ids[offsets[0] : offsets[-1]], np.int64)
                if ids.size and ids.max() >= len(self._joins):
                    raise EmbeddingError(
                        f"the training text has piece {ids.max()}, the vocabulary {len(self._joins)} pieces: "
                        "they belong to different runs"
                    )
                starts = np.zeros(len(ids) + 1, bool)
                starts[offsets - offsets[0]] = True
                edges = starts.copy()
                edges[:-1] |= ~self._joins[ids]
                yield ids, starts, edges


class Embeddings:
    """Pieces and their vectors.

    Args:
        pieces: as SentencePiece writes them, all different.
        vectors: [pieces, width].
        encode: the ids of a word's pieces; None: each word is one piece, with ▁ before it or without.
        seen: how often they stand in the training text; None: not known.

    Raises:
        EmbeddingError: not a vector for each piece, pieces that are empty or there twice, or numbers that are not
            finite.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        vectors: ArrayLike,
        encode: Callable[[str], Sequence[int]] | None = None,
        seen: Seen | None = None,
    ) -> None:
        self.pieces, self.vectors, self.seen = list(pieces), np.asarray(vectors), seen
        if self.vectors.ndim != 2 or len(self.vectors) != len(self.pieces):
            raise EmbeddingError(
                f"vectors have shape {list(self.vectors.shape)}: expected [{len(self.pieces)}, width], one a piece"
            )
        if not np.isfinite(self.vectors).all():
            raise EmbeddingError("the vectors have numbers that are not finite: the training has gone wrong")
        self._index = {piece: index for index, piece in enumerate(self.pieces)}
        if len(self._index) != len(self.pieces) or "" in self._index:
            raise EmbeddingError("the pieces have an empty one, or one that is there twice")
        self._encode = encode

    @classmethod
    def of(cls, translator: Translator, side: Side | None = None) -> Embeddings:
        """Those of a trained run (of an ensemble, of its first model).

        Args:
            translator: the run.
            side: whose embeddings. Where both sides share one matrix, whose text the pieces are counted in; pieces
                that are not seen there are no neighbours. None: both sides' where they share one, else the source's.
        """
        run, shared = translator.run, translator.config.model.tie == "all"
        side = side or (None if shared else "source")
        tokenizer = run.target if side == "target" else run.source
        seen = None
        if (run.directory / "corpus" / "about.json").exists():
            corpus = EncodedCorpus(run.directory / "corpus")
            texts = {"source": [corpus.source], "target": [corpus.target], None: [corpus.source, corpus.target]}
            seen = Seen(texts[side], tokenizer.joins)
        pieces = tokenizer.pieces(range(tokenizer.size))
        return cls(pieces, translator.embeddings(side or "source"), lambda word: tokenizer.encode([word])[0], seen)

    @classmethod
    def read(cls, path: str | Path) -> Embeddings:
        """What `export` wrote: the same pieces and values, but without the way from words to several pieces and
        without counts.

        Raises:
            EmbeddingError: no such file, or another format.
        """
        try:
            with open(path, encoding="utf-8", newline="\n") as file:
                return cls(*_read_word2vec(file, str(path)))
        except OSError as error:
            raise EmbeddingError(f"{path}: {error.strerror}: expected vectors in word2vec's text format") from None
        except UnicodeDecodeError:
            raise EmbeddingError(f"{path}: not valid UTF-8: expected vectors in word2vec's text format") from None

    def find(self, word: str, piece: bool = False) -> Entry:
        """A word's vector: that of its piece, or the mean of those of its pieces. A phrase is its words' pieces.

        Args:
            word: any word that the vocabulary has pieces for.
            piece: whether it is a piece, as SentencePiece writes it, and not a word.

        Raises:
            EmbeddingError: there is none.
        """
        ids = self._ids(word, piece)
        seen = whole = None
        if self.seen is not None:
            seen = tuple(self.seen.pieces[ids].tolist())
            whole = seen[0] if piece else self.seen.word(ids)
        vector = self.vectors[ids].astype(np.float64).mean(axis=0)
        return Entry(word, tuple(ids), tuple(self.pieces[i] for i in ids), vector, seen, whole)

    def _ids(self, word: str, piece: bool) -> list[int]:
        if piece:
            if word not in self._index:
                raise EmbeddingError(f"'{word}' is no piece of the vocabulary; words begin with {_WORD_START}")
            return [self._index[word]]
        if self._encode is None:
            ids = [self._index[name] for name in (_WORD_START + word, word) if name in self._index][:1]
        else:
            ids = list(self._encode(word))
        if not ids or (self._encode is not None and UNK in ids):
            raise EmbeddingError(
                f"'{word}' is unknown: the vocabulary has no pieces for it; give a word as it stands in the text"
            )
        return ids

    def neighbours(self, query: str | Entry | ArrayLike, count: int = 10, minimum: int = 1) -> list[Neighbour]:
        """The pieces whose vectors make the smallest angle with a word's or with a given one, nearest first.

        The word's own pieces are left out, and so are special pieces.

        Args:
            query: a word, what `find` found, or a vector [width].
            count: how many.
            minimum: how often a piece must have been seen, where that is known; the vector of one that was never seen
                is as it was drawn.

        Raises:
            EmbeddingError: an unknown word, or a vector without a direction.
        """
        entry = self.find(query) if isinstance(query, str) else query
        if isinstance(entry, Entry):
            return self._nearest(entry.vector, entry.ids, count, minimum, f"'{entry.text}'")
        return self._nearest(np.asarray(entry, np.float64), (), count, minimum, "the vector")

    def analogy(
        self, a: str | Entry, b: str | Entry, c: str | Entry, count: int = 10, minimum: int = 1
    ) -> list[Neighbour]:
        """The pieces nearest to a − b + c, with a, b and c of unit length: 3CosAdd of Levy and Goldberg (2014,
        "Linguistic Regularities in Sparse and Explicit Word Representations"), equation 3.

        As there, the pieces of the three words are left out of the answers.

        Raises:
            EmbeddingError: an unknown word, or a vector without a direction.
        """
        entries = [self.find(word) if isinstance(word, str) else word for word in (a, b, c)]
        units = [_unit(entry.vector, f"'{entry.text}'") for entry in entries]
        without = [i for entry in entries for i in entry.ids]
        name = "{} - {} + {}".format(*(entry.text for entry in entries))
        return self._nearest(units[0] - units[1] + units[2], without, count, minimum, name)

    @cached_property
    def _units(self) -> Floats:
        """The vectors at length 1; one of length 0 stays, and has cosine 0 with all."""
        vectors = self.vectors.astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths > 0, lengths, 1)

    def _nearest(self, vector: Floats, without: Sequence[int], count: int, minimum: int, name: str) -> list[Neighbour]:
        if vector.shape != self.vectors.shape[1:]:
            raise EmbeddingError(f"{name} has shape {list(vector.shape)}: expected [{self.vectors.shape[1]}]")
        cosines = self._units @ _unit(vector, name)
        order = np.argsort(-cosines, kind="stable")
        answers = self._answers(minimum)
        answers[list(without)] = False
        nearest = islice((int(i) for i in order if answers[i]), count)
        known = self.seen
        return [
            Neighbour(self.pieces[i], float(cosines[i]), None if known is None else int(known.pieces[i]))
            for i in nearest
        ]

    def _answers(self, minimum: int) -> NDArray[np.bool_]:
        answers = np.array([piece not in SPECIAL_PIECES for piece in self.pieces])
        return answers if self.seen is None else answers & (self.seen.pieces >= minimum)

    def frequent(self, count: int) -> list[str]:
        """The words of one piece that stand most often in the training text as words of their own, with a letter or a
        digit in them, the most frequent first, as SentencePiece writes them.

        Raises:
            EmbeddingError: the counts are not known.
        """
        if self.seen is None:
            raise EmbeddingError("how often words were seen is not known, the run has no corpus/: name words instead")
        whole = self.seen.whole
        found = (int(i) for i in np.argsort(-whole, kind="stable") if whole[i] and _is_word(self.pieces[i]))
        return [self.pieces[i] for i in islice(found, count)]

    def project(self, words: Sequence[str | Entry]) -> Projection:
        """These words on the two widest axes of their own vectors, see `principal_axes`."""
        entries = [self.find(word) if isinstance(word, str) else word for word in words]
        return principal_axes([entry.vector for entry in entries])

    def export(self, path: str | Path) -> Path:
        r"""Writes word2vec's text format: "pieces width", then a line a piece in the order of their ids: the piece and
        its numbers, spaces between them. Numbers have nine digits, which give each float32 back exactly.

        A space, a control character or a backslash in a piece, which readers of the format would stumble over, stands
        as `\u{20}`, its code in hexadecimal; `read` undoes it.

        Raises:
            EmbeddingError: the place cannot be written; then what was there stays.
        """
        path = Path(path)
        with replacement_for(path, EmbeddingError) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
            file.write(f"{len(self.pieces)} {self.vectors.shape[1]}\n")
            for piece, vector in zip(self.pieces, np.asarray(self.vectors, np.float32).tolist(), strict=True):
                file.write(" ".join([_escaped(piece), *(f"{value:.9g}" for value in vector)]) + "\n")
        return path


def principal_axes(vectors: ArrayLike) -> Projection:
    """Principal component analysis by the singular values of the centred vectors [vectors, width].

    The sign of an axis is chosen so that the vector that is farthest out on it is on the positive side.

    Raises:
        EmbeddingError: fewer than three vectors, which no plane is needed for.
    """
    matrix = np.asarray(vectors, np.float64)
    if matrix.ndim != 2 or len(matrix) < 3:
        raise EmbeddingError(f"{len(matrix)} vectors: a map of two axes needs three or more")
    left, values, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
    points = np.zeros((len(matrix), 2))
    width = min(2, len(values))
    points[:, :width] = (left * values)[:, :width]
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    variances = np.zeros(2)
    variances[:width] = values[:width] ** 2
    first, second = (variances / max((values**2).sum(), np.finfo(float).tiny)).tolist()
    return Projection(points * np.where(farthest < 0, -1, 1), (first, second))


def _unit(vector: Floats, name: str) -> Floats:
    length = np.linalg.norm(vector)
    if not length > 0 or not np.isfinite(length):
        raise EmbeddingError(f"{name} has a vector of length {length:g}, which has no direction")
    return vector / length


def _is_word(piece: str) -> bool:
    return piece not in SPECIAL_PIECES and any(character.isalnum() for character in piece)


_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")


def _escaped(piece: str) -> str:
    return "".join(f"\\u{{{ord(c):x}}}" if _breaks_lines(c) else c for c in piece)


def _breaks_lines(character: str) -> bool:
    """Whether it would be taken for the end of a piece or of a line, cannot be written, or begins an escape."""
    return character == "\\" or character.isspace() or unicodedata.category(character) in ("Cc", "Cs")


def _read_word2vec(lines: Iterator[str], name: str) -> tuple[list[str], Floats]:
    header = re.fullmatch(r"(\d+) (\d+)\s*", next(lines, ""))
    if header is None:
        raise EmbeddingError(f"{name}, line 1: expected the number of pieces and the width of their vectors")
    count, width = int(header[1]), int(header[2])
    pieces, vectors = [], []
    for number, line in enumerate(lines, start=2):
        piece, *values = line.rstrip(" \r\n").split(" ")  # some programs write a space behind the last number
        try:
            piece = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), piece)
            vector = np.array([float(value) for value in values], np.float32)
        except (ValueError, OverflowError):
            raise EmbeddingError(f"{name}, line {number}: expected a piece and {width} numbers") from None
        if len(vector) != width:
            raise EmbeddingError(f"{name}, line {number}: {len(vector)} numbers, expected {width}")
        pieces.append(piece)
        vectors.append(vector)
    if len(pieces) != count:
        raise EmbeddingError(f"{name}: {len(pieces)} pieces, but line 1 says {count}: the file is cut off")
    return pieces, np.array(vectors, np.float32).reshape(count, width)
