"""The attention of a recurrent decoder: score and window give the weights, weights and memory the context vector."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention.context import context_vectors
from nmt.network.attention.scores import SCORES
from nmt.network.attention.windows import WINDOWS, WindowInputs


@keras.saving.register_keras_serializable("nmt")
class Attention(keras.layers.Layer):
    """Attention of one query per sentence to the sentence's memory.

    In the terms of Bahdanau, Cho and Bengio (2015), the memory holds the annotations h_j, and the query is a decoder
    state. `keys` computes the part of the score that depends on the memory alone, once per sentence and outside the
    recurrence.

    Args:
        score: name of the score, a key of `scores.SCORES`.
        window: name of the window, a key of `windows.WINDOWS`.
        units: width of the hidden layers of scores and windows that have one.
        reach: D, the reach of local windows.
        positions: number of positions that a score by position can distinguish.
        coverage: whether each key depends on the attention that its position has already received. The key of position
            j becomes k_j + c_j w, where c_j is the sum of its past weights and w is learned. With the additive score
            this gives v^T tanh(W q + U h_j + w c_j + b), the coverage model of Tu et al. (2016, section 3.1) with a
            one-dimensional, summed coverage and no fertility. With a product score it adds c_j times the inner product
            of projected query and w.
    """

    def __init__(
        self,
        score: str = "additive",
        window: str = "global",
        units: int = 256,
        reach: int = 5,
        positions: int = 128,
        coverage: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.names = {"score": score, "window": window}
        self.coverage = coverage
        self.score = SCORES[score](units, positions, dtype=self.dtype_policy, name="score")
        self.window = WINDOWS[window](reach, units, dtype=self.dtype_policy, name="window")

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.score.build(query_shape, memory_shape)
        self.window.build(query_shape)
        self.width = self.score.width(query_shape[-1], memory_shape[-1])
        if self.coverage:  # with zeros, training starts from attention without coverage
            self.coverage_kernel = self.add_weight(
                shape=(self.width,), initializer="zeros", dtype="float32", autocast=False, name="coverage_kernel"
            )
        self.built = True

    def keys(self, memory: Tensor) -> Tensor:
        """Keys of a memory: [batch, positions, memory width] -> [batch, positions, key width]."""
        return self.score.keys(memory)

    def call(
        self, query: Tensor, memory: Tensor, keys: Tensor, mask: Tensor, *step_inputs: Any, **named_inputs: Any
    ) -> tuple[Tensor, Tensor]:
        """One step of attention.

        Args:
            query, keys, mask, step_inputs, named_inputs: arguments of `attention_weights`.
            memory: [batch, positions, memory width].

        Returns:
            Context vector, float32 [batch, memory width], and attention weights, float32 [batch, positions].
        """
        weights = self.attention_weights(query, keys, mask, *step_inputs, **named_inputs)
        return ops.squeeze(context_vectors(ops.expand_dims(weights, 1), memory), axis=1), weights

    def attention_weights(
        self,
        query: Tensor,
        keys: Tensor,
        mask: Tensor,
        offset: Tensor | None = None,
        time: Tensor | tuple[()] = (),
        noise: Tensor | None = None,
        projected: Tensor | None = None,
        past_attention: Tensor | tuple[()] = (),
    ) -> Tensor:
        """The attention weights of one step, float32 [batch, positions].

        Args:
            query: decoder state, float32 [batch, state width].
            keys: `keys(memory)`.
            mask: boolean [batch, positions], true at real positions.
            offset: addend of the projected query, [batch, `width`]; None: no addend.
            time: number of steps before this one, int32 [batch]; for windows that need it.
            noise: Gumbel noise, float32 [batch, positions]; for windows that sample in training.
            projected: the score's projection of the query, [batch, `width`]; None: computed here.
            past_attention: with coverage, sum of the weights of all steps before, float32 [batch, positions].
        """
        # expand_dims instead of indexing with None, whose gradient is a copy.
        queries = ops.expand_dims(query, 1)
        projected = self.score.project(queries) if projected is None else ops.expand_dims(projected, 1)
        if offset is not None:
            projected = projected + ops.expand_dims(ops.cast(offset, projected.dtype), 1)
        if self.coverage:
            keys = keys + ops.cast(ops.expand_dims(past_attention, 2) * self.coverage_kernel, keys.dtype)
        inputs = WindowInputs(queries, time, None if noise is None else noise[:, None])
        return ops.squeeze(self.window(self.score.compare(projected, keys), mask[:, None], inputs), axis=1)

    def get_config(self) -> dict[str, Any]:
        sizes = {"units": self.score.units, "positions": self.score.positions, "reach": self.window.reach}
        return {**super().get_config(), **self.names, **sizes, "coverage": self.coverage}
