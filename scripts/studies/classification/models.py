"""The classifiers: a BiLSTM with four kinds of pooling, and bags of words."""

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
        words: size of the vocabulary, padding and the unknown word included.
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

    def pool(self, ids: Any) -> tuple[Any, Any]:
        """The vector of the sentence, [batch, units], and the weight of each word, [batch, positions].

        Max pooling has no weights; their place takes the share of the vector's components that come from each word.
        """
        mask = ops.not_equal(ids, PAD)
        memory = self.encoder(self.embedding(ids), ops.sum(ops.cast(mask, "int32"), axis=-1)).memory
        if self.attention is not None:
            return self.attention(memory, mask)
        if self.pooling == "average":
            return average_pooling(memory, mask)
        greatest = max_pooling(memory, mask)
        where = ops.logical_and(mask[..., None], ops.equal(ops.cast(memory, "float32"), greatest[:, None]))
        return greatest, ops.mean(ops.cast(where, "float32"), axis=-1)

    def call(self, ids: Any) -> Any:
        """Word ids, int32 [batch, positions] -> logits, float32 [batch]."""
        return ops.squeeze(self.output_layer(self.hidden(self.pool(ids)[0])), axis=-1)


def make_bag(words: int, units: int) -> keras.Model:
    """Logistic regression on the counts of the words, with a hidden layer between if `units` is not 0."""
    layers = [keras.Input((words,))]
    if units:
        layers.append(keras.layers.Dense(units, activation="relu"))
    return keras.Sequential([*layers, keras.layers.Dense(1), keras.layers.Reshape(())])


class Data(NamedTuple):
    """Training and test set as arrays."""

    words: int
    """Size of the vocabulary, padding and the unknown word included."""
    inputs: np.ndarray
    """Word ids, int32 [sentences, longest]."""
    labels: np.ndarray
    """float32 [sentences], 0 or 1."""
    test_inputs: np.ndarray
    test_labels: np.ndarray


class Measured(NamedTuple):
    """The results of one training."""

    right: np.ndarray
    """Whether the model labels each test sentence correctly, bool [sentences]."""
    weights: np.ndarray | None
    """Weights of the words of the test set, float32 [sentences, longest]; None: the model has no weights."""


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
    """Trains with Adam at 0.003 on batches of `BATCH`, for the epochs that make at least `updates` updates."""
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.003), loss, jit_compile=False)
    epochs = math.ceil(updates / math.ceil(len(inputs) / BATCH))
    model.fit(inputs, labels, batch_size=BATCH, epochs=epochs, verbose=0)


def in_parts(function: Callable[[np.ndarray], tuple[Any, ...]], inputs: np.ndarray) -> list[np.ndarray]:
    """The results of `function` for all inputs, computed for 500 inputs at a time."""
    parts = [function(inputs[begin : begin + 500]) for begin in range(0, len(inputs), 500)]
    return [np.concatenate([ops.convert_to_numpy(one) for one in output]) for output in zip(*parts, strict=True)]


def _right(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether each logit is on the right side of zero."""
    return (logits > 0) == (labels > 0.5)


def measure_weights(weights: np.ndarray, examples: Sequence[Example]) -> dict[str, float]:
    """Measures the weights of the two deciding words.

    Args:
        weights: not negative, [examples, positions]; all rows count equally, whatever their sums.
        examples: the sentences.

    Returns:
        `share`: share of the weight on the two words. `first`: share of the sentences where one of them has the largest
        weight; among equal weights each counts as a fraction. `mean`: mean weight of a word.
    """
    rows = np.arange(len(examples))[:, None]
    positions = np.array([example.deciding for example in examples])
    share = weights[rows, positions].sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9)
    largest = weights == weights.max(axis=1, keepdims=True)
    first = largest[rows, positions].sum(axis=1) / largest.sum(axis=1)
    mean = weights.sum() / sum(len(example.words) for example in examples)
    return {"share": float(share.mean()), "first": float(first.mean()), "mean": float(mean)}
