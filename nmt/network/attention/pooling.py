"""Pooling: attention without a query, or with one query for all sentences.

Average pooling gives all values the same weight. Attention with one learned query gives each value its own weight, and
the weight is independent of the situation. Attention proper has a new query in each situation. Max pooling chooses for
each feature separately.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention.context import context_vectors
from nmt.network.attention.masked_softmax import MASKED_ENERGY, masked_softmax
from nmt.network.attention.scores import SCORES


def average_pooling(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Attention with equal energies at all positions.

    Args:
        values: [batch, positions, width].
        mask: boolean [batch, positions], true at real positions.

    Returns:
        Averages, float32 [batch, width], and weights, float32 [batch, positions].
    """
    weights = masked_softmax(ops.zeros_like(mask, dtype="float32"), mask)
    return ops.squeeze(context_vectors(weights[:, None], values), axis=1), weights


def max_pooling(values: Tensor, mask: Tensor) -> Tensor:
    """The greatest value of each feature.

    Args:
        values: [batch, positions, width].
        mask: boolean [batch, positions], true at real positions.

    Returns:
        float32 [batch, width]; zero where a whole row is masked.
    """
    greatest = ops.max(ops.where(mask[..., None], ops.cast(values, "float32"), MASKED_ENERGY), axis=1)
    return ops.where(ops.any(mask, axis=1, keepdims=True), greatest, 0.0)


@keras.saving.register_keras_serializable("nmt")
class FixedQueryPooling(keras.layers.Layer):
    """Attention with one learned query (Yang et al. 2016, "Hierarchical Attention Networks", eq. 5 to 7).

    Args:
        score: name of the score, a key of `scores.SCORES`.
        units: width of the score's hidden layer, for scores that have one.
        gate: "softmax": the positions share a weight of one; "sigmoid": each position has an independent weight
            between zero and one.
    """

    def __init__(self, score: str = "additive", units: int = 64, gate: str = "softmax", **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        if gate not in ("softmax", "sigmoid"):
            raise ValueError(f"gate: expected softmax or sigmoid, got '{gate}'")
        self.score_name, self.units, self.gate = score, units, gate
        self.score = SCORES[score](units, dtype=self.dtype_policy, name="score")

    def build(self, values_shape: tuple, *_: Any) -> None:
        self.query = self.add_weight(shape=(1, 1, values_shape[-1]), autocast=False, name="query")
        self.score.build((None, None, values_shape[-1]), values_shape)
        self.built = True

    def call(self, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Pools the values of each sentence.

        Args:
            values: [batch, positions, width].
            mask: boolean [batch, positions], true at real positions.

        Returns:
            Pooled values, float32 [batch, width], and weights, float32 [batch, positions].
        """
        query = ops.repeat(ops.convert_to_tensor(self.query), ops.shape(values)[0], axis=0)
        energies = self.score(query, values)
        if self.gate == "sigmoid":
            weights = ops.where(mask[:, None], ops.sigmoid(energies), 0.0)
        else:
            weights = masked_softmax(energies, mask[:, None])
        return ops.squeeze(context_vectors(weights, values), axis=1), ops.squeeze(weights, axis=1)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "score": self.score_name, "units": self.units, "gate": self.gate}
