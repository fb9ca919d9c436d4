"""The aligner's network: two translation models that see each other's alignments.

In each direction a target word y_i comes from one source word x_j, or from none (j = 0, the empty word):

    p(y_i | x, y without i) = sum over j of a_ij t(y_i | x_j)

The lexicon t reads the source word alone, so only the alignment can know the sentence. The prior a_ij compares the
state of a source word with a state of the target side around position i, which lacks the word i itself: the forward
LSTM ends before i, and the backward LSTM begins behind i (leave-one-out, as in Mask-Align, Chen et al. 2021). The
posterior, which knows y_i, gives the links:

    p(j | y_i, x, y) = a_ij t(y_i | x_j) / p(y_i | x, y without i)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops

from nmt.aligning.batches import PairBatch, Side
from nmt.aligning.objective import alignment_loss
from nmt.backend import Tensor
from nmt.backend.gather_scatter import gather
from nmt.config.aligner import AlignerConfig
from nmt.network.dropout import Dropout
from nmt.network.encoder import BidirectionalLSTM
from nmt.text.pieces import PAD

FARTHEST = 20
"""Largest distance from the diagonal, in words, that has a weight of its own."""
UNIFORM_EMPTY = 0.2
"""Weight of the empty word beside a source word's 1 while the prior is uniform."""
NEVER = -1e9
"""Energy of a position that cannot be linked."""


class States(NamedTuple):
    """States of the words of one side, each [sentences, words, 2 units]."""

    whole: Tensor
    """Of the word in its sentence."""
    around: Tensor
    """Of the sentence without the word."""


class Direction(NamedTuple):
    """One direction of a batch: words, one by one, from the words of the other side or the empty word."""

    log_likelihood: Tensor
    """[sentences, words]: log p(y_i | x, y without i)."""
    posterior: Tensor
    """[sentences, words, 1 + words of the other side]; the empty word first."""


class SentenceReader(keras.layers.Layer):
    """Word vectors and a bidirectional LSTM over them."""

    def __init__(self, size: int, config: AlignerConfig, seed: int, **options: Any) -> None:
        super().__init__(**options)
        self.units = config.units
        self.embedding = keras.layers.Embedding(size, config.embedding, name="embedding")
        self.lstm = BidirectionalLSTM(2 * config.units, name="lstm")
        self.dropouts = [Dropout(config.dropout, seed=seed + number) for number in range(3)]

    def build(self, ids_shape: tuple) -> None:
        self.embedding.build(ids_shape)
        self.lstm.build((None, None, self.embedding.output_dim))
        self.built = True

    def call(self, ids: Tensor, training: bool = False) -> States:
        real = ids != PAD
        vectors = self.dropouts[0](self.embedding(ids), training=training)
        states = self.lstm(vectors, ops.sum(ops.cast(real, "int32"), axis=1)).memory
        # Behind the last word the backward LSTM's states are those of padding, which have seen every word.
        states = states * ops.cast(real, states.dtype)[..., None]
        before = ops.pad(states[:, :-1, : self.units], ((0, 0), (1, 0), (0, 0)))
        behind = ops.pad(states[:, 1:, self.units :], ((0, 0), (0, 1), (0, 0)))
        around = ops.concatenate([before, behind], axis=-1)
        return States(self.dropouts[1](states, training=training), self.dropouts[2](around, training=training))


class Lexicon(keras.layers.Layer):
    """t(y | x): the translations of a word, whatever its sentence. A small network; the empty word has weights of its
    own."""

    def __init__(self, source_size: int, target_size: int, config: AlignerConfig, **options: Any) -> None:
        super().__init__(**options)
        self.embedding = keras.layers.Embedding(source_size, config.embedding, name="embedding")
        self.hidden = keras.layers.Dense(config.embedding, activation="tanh", name="hidden")
        self.output_layer = keras.layers.Dense(target_size, name="output")
        self.target_size = target_size

    def build(self, *_: Any) -> None:
        width = self.embedding.output_dim
        self.embedding.build((None,))
        self.hidden.build((None, width))
        self.output_layer.build((None, width))
        self.empty = self.add_weight(shape=(self.target_size,), initializer="zeros", name="empty")
        self.built = True

    def call(self, source: Side, target_ids: Tensor) -> Tensor:
        """log t of each word of the target: [sentences, target words, 1 + source words]; the empty word first."""
        table = ops.log_softmax(self.output_layer(self.hidden(self.embedding(source.types))))  # [types, target size]
        cells = source.type_of_word[:, None, :] * self.target_size + target_ids[:, :, None]
        by_word = gather(ops.reshape(table, (-1,)), cells)
        by_empty = gather(ops.log_softmax(self.empty), target_ids)
        return ops.concatenate([by_empty[..., None], by_word], axis=-1)


class Prior(keras.layers.Layer):
    """a_ij: how probably position i of the target comes from each source word, without a look at its word."""

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(**options)
        self.units = units
        self.query = keras.layers.Dense(units, name="query")
        self.key = keras.layers.Dense(units, name="key")

    def build(self, *_: Any) -> None:
        for layer in (self.query, self.key):
            layer.build((None, None, 2 * self.units))
        self.empty_key = self.add_weight(shape=(self.units,), initializer="zeros", name="empty_key")
        self.empty_bias = self.add_weight(shape=(), initializer="zeros", name="empty_bias")
        self.by_distance = self.add_weight(shape=(2 * FARTHEST + 1,), initializer="zeros", name="by_distance")
        self.built = True

    def call(self, source: Tensor, states: Tensor, around: Tensor, target: Tensor, uniform: Tensor) -> Tensor:
        """log a: [sentences, target words, 1 + source words]; the empty word first.

        Args:
            source, target: ids, [sentences, words].
            states: of the source words, [sentences, source words, 2 units].
            around: states around the target words, [sentences, target words, 2 units].
            uniform: 1: every source word is equally probable; 0: the energies decide.
        """
        queries = self.query(around)
        energies = ops.matmul(queries, ops.transpose(self.key(states), (0, 2, 1))) / np.sqrt(self.units)
        energies = energies + gather(self.by_distance, _distances(source, target))
        empty = ops.matmul(queries, self.empty_key[:, None]) + self.empty_bias
        empty = (1 - uniform) * empty + uniform * np.log(UNIFORM_EMPTY).astype(np.float32)
        energies = ops.where((source != PAD)[:, None, :], (1 - uniform) * energies, NEVER)
        return ops.log_softmax(ops.concatenate([empty, energies], axis=-1))


def _distances(source: Tensor, target: Tensor) -> Tensor:
    """The distance of each source word from the diagonal, in source words, as an index: [batch, target, source]."""
    lengths = [ops.sum(ops.cast(ids != PAD, "float32"), axis=1) for ids in (source, target)]
    slope = (lengths[0] / ops.maximum(lengths[1], 1.0))[:, None, None]
    rows, columns = (ops.cast(ops.arange(ops.shape(ids)[1]), "float32") for ids in (target, source))
    distances = ops.round(rows[None, :, None] * slope - columns[None, None, :])
    return ops.cast(ops.clip(distances, -FARTHEST, FARTHEST), "int32") + FARTHEST


class AlignerNetwork(keras.Model):
    """Both directions, on states of both sides that they share.

    Args:
        config: sizes, dropout and the weight of the agreement.
        source_size, target_size: numbers of ids.
    """

    def __init__(self, config: AlignerConfig, source_size: int, target_size: int) -> None:
        super().__init__(name="aligner")
        self.agreement = config.agreement
        sizes = (source_size, target_size)
        self.readers = [
            SentenceReader(size, config, 10 * number + config.seed, name=f"{side}_reader")
            for number, (side, size) in enumerate(zip(("source", "target"), sizes, strict=True))
        ]
        self.lexicons = [
            Lexicon(*sizes, config, name="lexicon"),
            Lexicon(*sizes[::-1], config, name="reverse_lexicon"),
        ]
        self.priors = [Prior(config.units, name=name) for name in ("prior", "reverse_prior")]
        self.uniform = self.add_weight(shape=(), initializer="zeros", trainable=False, name="uniform")
        layers: list[keras.layers.Layer] = [*self.readers, *self.lexicons, *self.priors]
        for layer in layers:
            layer.build((None, None))
        self.built = True

    def call(self, batch: PairBatch, training: bool = False) -> tuple[Direction, Direction]:
        """The target words from the source words, and the source words from the target words."""
        source, target = (Side(*side) for side in batch)
        of_source, of_target = (
            reader(side.ids, training=training) for reader, side in zip(self.readers, (source, target), strict=True)
        )
        return (
            self._direction(0, source, of_source.whole, target, of_target.around),
            self._direction(1, target, of_target.whole, source, of_source.around),
        )

    def _direction(self, number: int, source: Side, states: Tensor, target: Side, around: Tensor) -> Direction:
        prior = self.priors[number](source.ids, states, around, target.ids, self.uniform)
        joint = prior + self.lexicons[number](source, target.ids)
        log_likelihood = ops.logsumexp(joint, axis=-1)
        return Direction(log_likelihood, ops.exp(joint - log_likelihood[..., None]))

    def training_loss(self, batch: PairBatch) -> Tensor:
        """The value that training minimises, a scalar; see `nmt.aligning.objective`."""
        return alignment_loss(batch, self(batch, training=True), self.agreement * (1 - self.uniform))
