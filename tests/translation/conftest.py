"""A small model whose translations are worth a look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest

from nmt.batches.arrays import Sequences, make_batch
from nmt.config import AttentionConfig
from nmt.training.step import TrainStep
from nmt.translation.inference.model_inference import ModelInference


@pytest.fixture(scope="session")
def engine(make_model: Callable[..., Any], scramble: Callable[..., None]) -> ModelInference:
    """A model after a short training on copying: its translations have many lengths and often mistakes."""
    model = make_model(units=24, embedding=12, attention=AttentionConfig(units=12))
    scramble(model, 0, 0.25)
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    step, random = TrainStep(model, optimizer, 0.1), np.random.default_rng(0)
    for _ in range(100):
        sentences = Sequences.of([random.integers(4, 12, random.integers(0, 9)) for _ in range(16)])
        step(make_batch(sentences, sentences, np.arange(16)))
    return ModelInference(model)
