"""What classifies: a BiLSTM under four ways of pooling, and bags of words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from nmt.network.attention import FixedQueryPooling, average_pooling, max_pooling
from nmt.network.encoder import Encoder
from studies.classification import BAG_WITH_HIDDEN_LAYER, POOLINGS
from studies.classification.sentences import PAD, Example, count_words

BATCH = 64


class Classifier(keras.Model):
    """Embedding, BiLSTM, pooling, one hidden layer, one logit.

    Args:
        words: in the vocabulary, padding and the unknown word included.
        units: width of everything.
        pooling: one of `POOLINGS`.
    """

    def __init__(self, words: int, units: int, pooling: str) -> None:
        super().__init__()
        self.pooling = pooling
        self.embedding = keras.layers.Embedding(words, units)
        self.encoder = Encoder(units)
        self.attention = FixedQueryPooling(units=units, gate=pooling) if pooling in ("softmax", "sigmoid") else None
        self.hidden = keras.layers.Dense(units, activation="relu")
        self.output_layer = keras.layers.Dense(1)

    def pool(self, numbers: Any) -> tuple[Any, Any]:
        """What the whole sentence is, [batch, units], and each word's weight in it, [batch, positions].

        Max pooling has no weights: in their place stands the share of the vector that comes from each word.
        """
        mask = ops.not_equal(numbers, PAD)
        memory = self.encoder(self.embedding(numbers), ops.sum(ops.cast(mask, "int32"), axis=-1)).memory
        if self.attention is not None:
            return self.attention(memory, mask)
        if self.pooling == "average":
            return average_pooling(memory, mask)
        greatest = max_pooling(memory, mask)
        where = ops.logical_and(mask[..., None], ops.equal(ops.cast(memory, "float32"), greatest[:, None]))
        return greatest, ops.mean(ops.cast(where, "float32"), axis=-1)

    def call(self, numbers: Any) -> Any:
        """Word numbers, int32 [batch, positions] -> logits, float32 [batch]."""
        return ops.squeeze(self.output_layer(self.hidden(self.pool(numbers)[0])), axis=-1)


def make_bag(words: int, units: int) -> keras.Model:
    """Logistic regression on how often each word occurs, or a hidden layer between, where `units` is not 0."""
    layers = [keras.Input((words,))]
    if units:
        layers.append(keras.layers.Dense(units, activation="relu"))
    return keras.Sequential([*layers, keras.layers.Dense(1), keras.layers.Reshape(())])


class Data(NamedTuple):
    """Training and test set as arrays."""

    words: int
    """In the vocabulary, padding and the unknown word included."""
    inputs: np.ndarray
    """Word numbers, int32 [sentences, longest]."""
    labels: np.ndarray
    """float32 [sentences], 0 or 1."""
    test_inputs: np.ndarray
    test_labels: np.ndarray


class Measured(NamedTuple):
    """What one training gives."""

    right: np.ndarray
    """Whether the label of each test sentence was found, bool [sentences]."""
    weights: np.ndarray | None
    """Of the words of the test set, float32 [sentences, longest]; None of models that have none."""


def measure(name: str, data: Data, units: int, updates: int, seed: int) -> Measured:
    """Trains the model of that name, one of `MODELS`, and tests it."""
    keras.utils.set_random_seed(seed)
    if name in POOLINGS:
        model = Classifier(data.words, units, name)
        fit(model, data.inputs, data.labels, updates)
        logits, weights = in_parts(lambda part: (model(part), model.pool(part)[1]), data.test_inputs)
        return Measured(_right(logits, data.test_labels), weights)
    bag = make_bag(data.words, units if name == BAG_WITH_HIDDEN_LAYER else 0)
    fit(bag, count_words(data.inputs, data.words), data.labels, updates)
    return Measured(_right(np.asarray(bag(count_words(data.test_inputs, data.words))), data.test_labels), None)


def fit(model: keras.Model, inputs: np.ndarray, labels: np.ndarray, updates: int) -> None:
    """Adam at 0.003 on batches of `BATCH`: as many passes as make `updates` of them or just more."""
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.003), loss, jit_compile=False)
    passes = math.ceil(updates / math.ceil(len(inputs) / BATCH))
    model.fit(inputs, labels, batch_size=BATCH, epochs=passes, verbose=0)


def in_parts(function: Callable[[np.ndarray], tuple[Any, ...]], inputs: np.ndarray) -> list[np.ndarray]:
    """What `function` gives for inputs, 500 at a time."""
    parts = [function(inputs[begin : begin + 500]) for begin in range(0, len(inputs), 500)]
    return [np.concatenate([ops.convert_to_numpy(one) for one in output]) for output in zip(*parts, strict=True)]


def _right(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each logit is on the right side of zero."""
    return (logits > 0) == (labels > 0.5)


def look(weights: np.ndarray, examples: Sequence[Example]) -> dict[str, float]:
    """What the weights say of the two deciding words.

    Args:
        weights: not negative, [examples, positions]; each row counts alike, whatever its sum.

    Returns:
        `share` of the weight on the two; `first`, how often one of them has the greatest weight, each of equals
        counted as its part; `mean` weight of a word.
    """
    rows = np.arange(len(examples))[:, None]
    places = np.array([example.deciding for example in examples])
    share = weights[rows, places].sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    greatest = weights == weights.max(axis=1, keepdims=True)
    first = greatest[rows, places].sum(axis=1) / greatest.sum(axis=1)
    mean = weights.sum() / sum(len(example.words) for example in examples)
    return {"share": float(share.mean()), "first": float(first.mean()), "mean": float(mean)}
