"""Word vectors on the two axes along which they vary most (principal component analysis)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nmt.explaining.embeddings.errors import EmbeddingError


class Projection(NamedTuple):
    """Vectors on their first two principal axes."""

    points: NDArray[np.floating[Any]]
    """[vectors, 2], centred at 0, in the unit of the vectors."""
    shares: tuple[float, float]
    """The share of the variance along each axis, 0 to 1."""


def principal_axes(vectors: ArrayLike) -> Projection:
    """Projects vectors [vectors, width] by the singular value decomposition of the centred matrix.

    The sign of each axis puts the vector that is farthest out on the positive side.

    Raises:
        EmbeddingError: fewer than three vectors.
    """
    matrix = np.asarray(vectors, np.float64)
    if matrix.ndim != 2 or len(matrix) < 3:
        raise EmbeddingError(f"{len(matrix)} vectors: a map of two axes needs three or more")
    left, values, _ = np.linalg.svd(matrix - matrix.mean(axis=0), full_matrices=False)
    axes = min(2, len(values))  # vectors of width 1 have one axis
    points, variances = np.zeros((len(matrix), 2)), np.zeros(2)
    points[:, :axes] = (left * values)[:, :axes]
    variances[:axes] = values[:axes] ** 2
    farthest = points[np.abs(points).argmax(axis=0), [0, 1]]
    first, second = (variances / max((values**2).sum(), np.finfo(float).tiny)).tolist()
    return Projection(points * np.where(farthest < 0, -1, 1), (first, second))
