r"""word2vec's text format: a line "pieces width", then one line for each piece with its numbers, separated by spaces.

Numbers have nine digits, from which each float32 can be read back exactly. A space, a control character or a backslash
in a piece would confuse readers of the format. It is written as its code in hexadecimal, `\u{20}`; reading undoes that.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.explaining.embeddings.errors import EmbeddingError
from nmt.files.atomic_writing import replacement_for

_ESCAPE = re.compile(r"\\u\{([0-9a-f]+)\}")


def write_word2vec(path: Path, pieces: Sequence[str], vectors: ArrayLike) -> None:
    """Writes pieces and their vectors [pieces, width], in the order of the pieces' ids.

    Raises:
        EmbeddingError: the file cannot be written; an earlier file of this name stays as it was.
    """
    rows = np.asarray(vectors, np.float32)
    with replacement_for(path, EmbeddingError) as place, open(place, "w", encoding="utf-8", newline="\n") as file:
        file.write(f"{len(pieces)} {rows.shape[1]}\n")
        for piece, row in zip(pieces, rows.tolist(), strict=True):
            file.write(" ".join([_escaped(piece), *(f"{value:.9g}" for value in row)]) + "\n")


def read_word2vec(path: str | Path) -> tuple[list[str], NDArray[np.floating[Any]]]:
    """Pieces and vectors [pieces, width] in float32.

    Raises:
        EmbeddingError: the file does not exist, or has another format.
    """
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            return _parsed(file, str(path))
    except OSError as error:
        raise EmbeddingError(f"{path}: {error.strerror}: expected vectors in word2vec's text format") from None
    except UnicodeDecodeError:
        raise EmbeddingError(f"{path}: not valid UTF-8: expected vectors in word2vec's text format") from None


def _parsed(lines: Iterator[str], name: str) -> tuple[list[str], NDArray[np.floating[Any]]]:
    header = re.fullmatch(r"(\d+) (\d+)\s*", next(lines, ""))
    if header is None:
        raise EmbeddingError(f"{name}, line 1: expected the number of pieces and the width of their vectors")
    count, width = int(header[1]), int(header[2])
    pieces, vectors = [], []
    for number, line in enumerate(lines, start=2):
        piece, *values = line.rstrip(" \r\n").split(" ")  # some programs end each line with a space
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


def _escaped(piece: str) -> str:
    return "".join(f"\\u{{{ord(c):x}}}" if _needs_escape(c) else c for c in piece)


def _needs_escape(character: str) -> bool:
    """Whether a reader would take the character for the end of a piece or line, or it cannot be encoded."""
    return character == "\\" or character.isspace() or unicodedata.category(character) in ("Cc", "Cs")
