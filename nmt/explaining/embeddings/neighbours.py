"""Nearest neighbours by cosine, and the sum of vectors that an analogy looks for."""

from __future__ import annotations

from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nmt.explaining.embeddings.errors import EmbeddingError

Floats = NDArray[np.floating[Any]]


class Neighbour(NamedTuple):
    """A piece whose vector is near to the query."""

    piece: str
    """As SentencePiece writes the piece."""
    cosine: float
    times_seen: int | None
    """Occurrences of the piece in the training text; None where unknown."""


def nearest(units: Floats, query: Floats, candidates: NDArray[np.bool_], count: int) -> list[tuple[int, float]]:
    """The candidates with the largest cosine to the query, largest first, as (index, cosine).

    Args:
        units: [vectors, width], of length 1.
        query: [width], of length 1.
        candidates: [vectors].
        count: the number of answers, fewer where there are fewer candidates.
    """
    cosines = units @ query
    order = np.argsort(-cosines, kind="stable")
    return [(int(i), float(cosines[i])) for i in islice((i for i in order if candidates[i]), count)]


def analogy_vector(a: Floats, b: Floats, c: Floats) -> Floats:
    """a − b + c, all three of length 1: the vector that answers "a is to b as the answer is to c".

    This is 3CosAdd of Levy and Goldberg (2014, "Linguistic Regularities in Sparse and Explicit Word Representations"),
    equation 3.
    """
    return a - b + c


def unit_vector(vector: Floats, name: str) -> Floats:
    """The vector at length 1.

    Raises:
        EmbeddingError: its length is 0 or not finite; the message uses `name` for the vector.
    """
    length = np.linalg.norm(vector)
    if not length > 0 or not np.isfinite(length):
        raise EmbeddingError(f"{name} has a vector of length {length:g}, which has no direction")
    return vector / length


def unit_rows(vectors: Floats) -> Floats:
    """[vectors, width] in float64 with each row at length 1; a row of zeros stays, so its cosine is 0 with all."""
    rows = vectors.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)
