"""Values of variables as arrays, and back."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from nmt.errors import NmtError


class WeightsError(NmtError):
    """Saved arrays that do not fit the variables of a model or an optimizer."""


def variables_to_arrays(variables: list[Any]) -> dict[str, np.ndarray]:
    """Values of Keras variables by their place and path: `0003/seq2seq/decoder/state_kernel`."""
    return {f"{i:04d}/{v.path}": keras.ops.convert_to_numpy(v.value) for i, v in enumerate(variables)}


def assign_arrays(variables: list[Any], arrays: dict[str, np.ndarray], where: str) -> None:
    """Puts back what `variables_to_arrays` took.

    Raises:
        WeightsError: another number of variables, or one of another shape.
    """
    if len(variables) != len(arrays):
        raise WeightsError(f"{where}: holds {len(arrays)} arrays where the model has {len(variables)} variables")
    for variable, (name, array) in zip(variables, sorted(arrays.items()), strict=True):
        if tuple(variable.shape) != array.shape:
            raise WeightsError(
                f"{where}: {name} has shape {array.shape}; the model needs {tuple(variable.shape)}: weights, "
                "vocabulary and config.json are not of one run"
            )
        variable.assign(array)
