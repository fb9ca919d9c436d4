"""The scores of attention; see `nmt.network.attention.scores`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nmt.exporting.errors import ExportError
from nmt.exporting.onnx.graph import Value
from nmt.exporting.onnx.operations import MASKED_ENERGY, arange, length, squeeze, total, unsqueeze
from nmt.exporting.weights import Weights

SCORES: dict[str, type[Score]] = {}
"""The exported scores by their names in the configuration."""


def _exports(name: str) -> Callable[[type[Score]], type[Score]]:
    def register(score: type[Score]) -> type[Score]:
        SCORES[name] = score
        return score

    return register


def score_of(name: str, weights: Weights, width: int) -> Score:
    """The score of this name over a memory of this width.

    Raises:
        ExportError: the score is not exported.
    """
    if name not in SCORES:
        raise ExportError(f"attention.score {name} cannot be exported: expected one of {', '.join(SCORES)}")
    return SCORES[name](weights, width)


class Score:
    """Base class of the scores.

    Args:
        weights: of the score.
        width: width of the memory.
    """

    def __init__(self, weights: Weights, width: int) -> None:
        self.weights, self.width = weights, width

    def keys(self, memory: Value) -> Value | None:
        """The part that depends on the memory alone; None: the memory itself."""
        return None

    def project(self, query: Value) -> Value:
        """The query in the space of the keys, [rows, width]."""
        return query

    def compare(self, projected: Value, keys: Value) -> Value:
        """Energies [rows, positions] of a projected query and keys [rows, positions, width]."""
        raise NotImplementedError


@_exports("additive")
class Additive(Score):
    """v^T tanh(W q + U h + b)."""

    def keys(self, memory: Value) -> Value:
        return memory @ self.weights["key_kernel"] + self.weights["key_bias"]

    def project(self, query: Value) -> Value:
        return query @ self.weights["query_kernel"]

    def compare(self, projected: Value, keys: Value) -> Value:
        hidden = keys.graph.op("Tanh", keys + unsqueeze(projected, 1))
        return squeeze(hidden @ self.weights["energy_kernel"], 2)


@_exports("dot")
class Dot(Score):
    """q . h"""

    def compare(self, projected: Value, keys: Value) -> Value:
        return squeeze(keys @ unsqueeze(projected, 2), 2)


@_exports("scaled_dot")
class ScaledDot(Dot):
    """q . h / sqrt(width)"""

    def compare(self, projected: Value, keys: Value) -> Value:
        return super().compare(projected, keys) / float(self.width) ** 0.5


@_exports("general")
class General(Dot):
    """q^T W h"""

    def project(self, query: Value) -> Value:
        return query @ self.weights["query_kernel"]


@_exports("gaussian")
class Gaussian(Score):
    """-|(q - h) w|^2 / 2"""

    def compare(self, projected: Value, keys: Value) -> Value:
        products = squeeze(keys @ unsqueeze(projected, 2), 2)
        squares = total(projected * projected, 1) + squeeze(total(keys * keys, 2), 2)
        return (squares - products * 2.0) * (-0.5 * self.weights["inverse_width"] ** 2)


@_exports("location")
class Location(Score):
    """(W q)_j, with equal and little attention beyond the last position that the score distinguishes."""

    def project(self, query: Value) -> Value:
        return query @ self.weights["query_kernel"]

    def compare(self, projected: Value, keys: Value) -> Value:
        graph, numbers = keys.graph, arange(length(keys, 1))
        last = self.weights["query_kernel"].shape[1] - 1
        known = graph.op("LessOrEqual", numbers, np.array(last))
        energies = graph.op("Gather", projected, graph.op("Min", numbers, np.array(last)), axis=1)
        return graph.op("Where", known, energies, MASKED_ENERGY)
