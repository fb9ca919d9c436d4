"""Layer normalisation with a gradient that is written out."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.gradients import with_gradient


@keras.saving.register_keras_serializable("nmt")
class LayerNormalization(keras.layers.LayerNormalization):
    """Layer normalisation over the last axis, in float32 (Ba et al. 2016, eq. 4).

    The gradient is written out. TensorFlow's own has three times as many operations, because it compares the shapes of
    operands at each step.
    """

    def __init__(self, dtype: Any = None, **kwargs: Any) -> None:
        # Scale and shift are stored in float32, the type of their use, so that no step of a search casts them.
        policy = keras.dtype_policies.get(dtype)
        if policy.compute_dtype in ("float16", "bfloat16"):
            policy = f"mixed_{policy.compute_dtype}"
        super().__init__(autocast=False, dtype=policy, **kwargs)

    def call(self, values: Tensor, training: bool = False) -> Tensor:
        """values [..., width] -> the same shape, in the compute type."""
        inputs = values, *(ops.cast(weight, "float32") for weight in (self.gamma, self.beta))
        return with_gradient(self._forward, *inputs) if training else self._forward(*inputs)[0]

    def _forward(self, values: Tensor, scale: Tensor, shift: Tensor) -> tuple[Tensor, Any]:
        wide = ops.cast(values, "float32")
        centred = wide - ops.mean(wide, axis=-1, keepdims=True)
        rate = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + self.epsilon)
        unit = centred * rate  # mean 0, variance 1

        def gradient(upstream: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            upstream = ops.cast(upstream, "float32")
            by_unit, others = upstream * scale, tuple(range(len(values.shape) - 1))
            shared = ops.mean(by_unit, axis=-1, keepdims=True) + unit * ops.mean(by_unit * unit, axis=-1, keepdims=True)
            by_values = ops.cast(rate * (by_unit - shared), values.dtype)
            return by_values, ops.sum(upstream * unit, axis=others), ops.sum(upstream, axis=others)

        return ops.cast(unit * scale + shift, self.compute_dtype), gradient
