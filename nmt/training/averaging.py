"""Moving averages of the weights."""

from __future__ import annotations

import keras
import numpy as np
from keras.ops import convert_to_numpy

from nmt.config import TrainingConfig
from nmt.network.model import Seq2Seq
from nmt.network.weights import stable_names, variables_to_arrays
from nmt.training.state import TrainingState


def averaged_arrays(model: Seq2Seq, optimizer: keras.optimizers.Optimizer) -> dict[str, np.ndarray]:
    """The moving averages of the model's trainable variables, by the names of `variables_to_arrays`.

    Without moving averages, and before the first update, these are the values of the variables.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if not inner.use_ema or not int(convert_to_numpy(inner.iterations)):
        return variables_to_arrays(model.trainable_variables)
    # Keras offers no public way to read the averages without overwriting the weights.
    averages = inner._model_variables_moving_average
    names = stable_names(variable.path for variable in model.trainable_variables)
    return {name: convert_to_numpy(average.value) for name, average in zip(names, averages, strict=True)}


def weight_versions(step: int, config: TrainingConfig, averaged_every: int) -> int:
    """How many different weights `averaged_arrays` has had after so many steps, not counting the initial ones.

    Args:
        step: batches that the model has been trained on.
        averaged_every: updates between two steps of the moving average.
    """
    updates = step // config.accumulate
    return -(-updates // averaged_every) if config.ema else updates


def weights_have_changed(state: TrainingState, config: TrainingConfig) -> bool:
    """Whether `averaged_arrays` had other weights at the last validation."""
    steps = state.validated_step, state.step
    return len({weight_versions(step, config, state.averaged_every) for step in steps}) == 2
