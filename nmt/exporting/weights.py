"""The weights of a model, as exports read them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nmt.exporting.errors import ExportError
from nmt.network.weights import MODEL

EPSILON = 1e-3
"""Added to the variance by `nmt.network.transformer.layer_normalization`."""


class Weights:
    """The weights of a model by name, without the name of the model in front.

    Args:
        arrays: as `Run.weights` gives them.
        prefix: part of the model, such as `decoder/`.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], prefix: str = "") -> None:
        self._arrays, self._prefix = arrays, prefix

    def part(self, name: str) -> Weights:
        """The weights of a layer."""
        return Weights(self._arrays, f"{self._prefix}{name}/")

    def __getitem__(self, name: str) -> np.ndarray:
        """A weight, float32.

        Raises:
            ExportError: there is no such weight.
        """
        full = f"{MODEL}/{self._prefix}{name}"
        if full not in self._arrays:
            raise ExportError(f"the weights have no array {full}, which the network in config.json needs")
        return np.asarray(self._arrays[full], np.float32)


def exceeds_half(array: np.ndarray) -> bool:
    """Whether an array has a value that half precision makes infinite."""
    return bool(np.abs(array).max(initial=0) > np.finfo(np.float16).max)


def sinusoid_rates(width: int) -> np.ndarray:
    """Radians from one position to the next, by pair of features; see `nmt.network.transformer.positions.sinusoids`."""
    return (10000.0 ** (-np.arange(0, width, 2) / width)).astype(np.float32)
