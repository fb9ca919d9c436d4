"""Values of variables as arrays, and back."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from nmt.backend.compiling import EngineError
from nmt.model import Seq2Seq


def variables_to_arrays(variables: list[Any]) -> dict[str, np.ndarray]:
    """Values of Keras variables by their place and path: `0003/seq2seq/decoder/state_kernel`."""
    return {f"{i:04d}/{v.path}": keras.ops.convert_to_numpy(v.value) for i, v in enumerate(variables)}


def assign_arrays(variables: list[Any], arrays: dict[str, np.ndarray], where: str) -> None:
    """Puts back what `variables_to_arrays` took.

    Raises:
        EngineError: another number of variables, or one of another shape.
    """
    if len(variables) != len(arrays):
        raise EngineError(f"{where}: holds {len(arrays)} arrays where the model has {len(variables)} variables")
    for variable, (name, array) in zip(variables, sorted(arrays.items()), strict=True):
        if tuple(variable.shape) != array.shape:
            raise EngineError(
                f"{where}: {name} has shape {array.shape}; the model needs {tuple(variable.shape)}: weights, "
                "vocabulary and config.json are not of one run"
            )
        variable.assign(array)


def averaged_arrays(model: Seq2Seq, optimizer: keras.optimizers.Optimizer) -> dict[str, np.ndarray]:
    """The moving averages of the model's trainable variables where the optimizer keeps them, else their values, as
    before the first update, when there is nothing to average yet."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not inner.use_ema or not int(inner.iterations):
        return variables_to_arrays(model.trainable_variables)
    # Keras offers no public way to read the averages without overwriting the weights.
    averages = inner._model_variables_moving_average
    return {
        f"{i:04d}/{v.path}": keras.ops.convert_to_numpy(average.value)
        for i, (v, average) in enumerate(zip(model.trainable_variables, averages, strict=True))
    }
