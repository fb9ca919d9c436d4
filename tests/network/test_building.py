"""A model that the memory cannot hold is one line; a count of parameters needs no memory."""

from __future__ import annotations

import math
import random

import keras
import pytest

from nmt.config import ModelConfig
from nmt.errors import NmtError
from nmt.network.building import build_model, count_parameters
from nmt.network.model import Seq2Seq


class ResourceExhaustedError(Exception):
    """As TensorFlow names it."""


@pytest.mark.parametrize("error", [MemoryError(), ResourceExhaustedError("OOM"), RuntimeError("RESOURCE_EXHAUSTED: x")])
def test_a_lack_of_memory_is_one_line_with_the_memory_needed(error, monkeypatch):
    config, original = ModelConfig(units=16384, embedding=16384), Seq2Seq.build

    def build(self: Seq2Seq, *arguments: object) -> None:
        monkeypatch.setattr(Seq2Seq, "build", original)
        raise error

    monkeypatch.setattr(Seq2Seq, "build", build)
    with pytest.raises(NmtError, match=r"^out of memory: .* has \d,\d+,\d+,\d+ parameters, \d\d\.\d GiB") as found:
        build_model(config, 8000, 8000)
    assert "\n" not in str(found.value)


def test_other_errors_stay(monkeypatch):
    with pytest.raises(ValueError, match="tied embeddings need one vocabulary"):
        build_model(ModelConfig(), 10, 11)


@pytest.mark.parametrize("architecture", ["rnn", "transformer", "mixed"])
def test_parameters_are_counted_without_building_them(architecture):
    config = ModelConfig(architecture=architecture, units=8, embedding=8)
    random.seed(3)
    before = random.getstate()
    counted = count_parameters(config, 20, 20)
    assert random.getstate() == before
    assert counted == sum(math.prod(weight.shape) for weight in build_model(config, 20, 20).trainable_variables)


def test_counted_weights_are_never_initialized(monkeypatch):
    """Keras initializes the variables of earlier scopes when the next scope of the same thread ends."""
    shapes: list[tuple[int, ...]] = []
    initialize = keras.Variable._initialize

    def record(variable: keras.Variable, value: object) -> None:
        shapes.append(tuple(variable.shape))
        initialize(variable, value)

    monkeypatch.setattr(keras.Variable, "_initialize", record)
    count_parameters(ModelConfig(units=24, embedding=24), 20, 20)
    with keras.StatelessScope():
        keras.Variable(keras.initializers.Zeros(), shape=(3,))
    assert shapes == [(3,)]
