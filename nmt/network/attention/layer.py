"""Attention of a decoder: a score and a window make weights, weights and memory make a context vector."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention.core import context_vectors
from nmt.network.attention.scores import SCORES
from nmt.network.attention.windows import WINDOWS, Moment


@keras.saving.register_keras_serializable("nmt")
class Attention(keras.layers.Layer):
    """One query a sentence against its memory.

    The names are those of Bahdanau, Cho and Bengio (2015): the memory holds their annotations h_j; the query is a state
    of the decoder. `keys` is what of the score does not depend on the decoder: it is computed once a sentence, outside
    of the recurrence.

    Args:
        score: name of the score, see `scores.SCORES`.
        window: name of the window, see `windows.WINDOWS`.
        units: width of the hidden layers of scores and windows that have one.
        reach: D of local windows.
        positions: positions that a score by position can tell apart.
        coverage: whether keys know how much attention their positions have had. The key of position j becomes
            k_j + c_j w, where c_j is the sum of the weights it got and w is learned: with the additive score this is
            v^T tanh(W q + U h_j + w c_j + b), the coverage model of Tu et al. (2016, section 3.1) with a coverage of
            one number that sums up and no fertility; with a product it adds c_j times what the query makes of w.
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
        if self.coverage:  # zeros: at first, attention without it
            self.coverage_kernel = self.add_weight(
                shape=(self.width,), initializer="zeros", dtype="float32", autocast=False, name="coverage_kernel"
            )
        self.built = True

    def keys(self, memory: Tensor) -> Tensor:
        """[batch, positions, width] -> what the score compares a query with, [batch, positions, any width]."""
        return self.score.keys(memory)

    def call(
        self, query: Tensor, memory: Tensor, keys: Tensor, mask: Tensor, *moment: Any, **more: Any
    ) -> tuple[Tensor, Tensor]:
        """One step of attention.

        Args:
            query, keys, mask, moment, more: of `weigh`.
            memory: [batch, positions, width].

        Returns:
            Context vector, float32 [batch, width], and attention weights, float32 [batch, positions].
        """
        weights = self.weigh(query, keys, mask, *moment, **more)
        return ops.squeeze(context_vectors(ops.expand_dims(weights, 1), memory), axis=1), weights

    def weigh(
        self,
        query: Tensor,
        keys: Tensor,
        mask: Tensor,
        offset: Tensor | None = None,
        time: Tensor | tuple[()] = (),
        noise: Tensor | None = None,
        projected: Tensor | None = None,
        covered: Tensor | tuple[()] = (),
    ) -> Tensor:
        """The attention weights of one step, float32 [batch, positions].

        Args:
            query: decoder state, float32 [batch, state].
            keys: `keys(memory)`.
            mask: boolean [batch, positions], true at real positions.
            offset: added to the projected query, [batch, `width`]; None: nothing.
            time: steps made before this one, int32 [batch], for windows that count.
            noise: Gumbel noise, float32 [batch, positions], for windows that draw, in training.
            projected: the score's projection of the query, [batch, `width`], where it is formed elsewhere.
            covered: with coverage, sums of the weights before this step, float32 [batch, positions].
        """
        # Expanded, not indexed with None: the gradient of that is a copy.
        queries = ops.expand_dims(query, 1)
        projected = self.score.project(queries) if projected is None else ops.expand_dims(projected, 1)
        if offset is not None:
            projected = projected + ops.expand_dims(ops.cast(offset, projected.dtype), 1)
        if self.coverage:
            keys = keys + ops.cast(ops.expand_dims(covered, 2) * self.coverage_kernel, keys.dtype)
        moment = Moment(queries, time, None if noise is None else noise[:, None])
        return ops.squeeze(self.window(self.score.compare(projected, keys), mask[:, None], moment), axis=1)

    def get_config(self) -> dict[str, Any]:
        sizes = {"units": self.score.units, "positions": self.score.positions, "reach": self.window.reach}
        return {**super().get_config(), **self.names, **sizes, "coverage": self.coverage}
