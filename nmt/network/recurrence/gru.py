"""One step of a GRU."""

from __future__ import annotations

from typing import Any

from keras import ops

from nmt.backend import Tensor
from nmt.backend.gradients import with_gradient


def gru(inputs: Tensor, recurrent: Tensor, bias: Tensor, hidden: Tensor) -> Tensor:
    """The state after one step of a GRU (Cho et al. 2014).

    With x and r for the shares of input and state in a gate, and b for the bias:

        update    z = sigmoid(x_z + r_z)
        reset     g = sigmoid(x_g + r_g)
        candidate c = tanh(x_c + g * (r_c + b))
        state     (1 - z) * hidden + z * c

    In the paper the reset gate multiplies the state before the recurrent product. Here it multiplies the product, as in
    cuDNN, so that one product serves all three gates.

    The gradient is written out, because TensorFlow's own compares the shapes of operands at each step.

    Args:
        inputs: the input's shares in update gate, reset gate and candidate, [batch, 3 units].
        recurrent: the state's shares, products of the state, [batch, 3 units].
        bias: b, [units] or [batch, units].
        hidden: state before the step, [batch, units].
    """

    def forward(inputs: Tensor, recurrent: Tensor, bias: Tensor, hidden: Tensor) -> tuple[Tensor, Any]:
        input_update, input_reset, input_candidate = ops.split(inputs, 3, axis=-1)
        state_update, state_reset, state_candidate = ops.split(recurrent, 3, axis=-1)
        update, reset = ops.sigmoid(input_update + state_update), ops.sigmoid(input_reset + state_reset)
        biased = state_candidate + bias
        candidate = ops.tanh(input_candidate + reset * biased)

        def gradient(upstream: Tensor) -> tuple[Tensor, ...]:
            by_candidate = upstream * update * (1 - candidate * candidate)
            by_update = upstream * (candidate - hidden) * update * (1 - update)
            by_reset = by_candidate * biased * reset * (1 - reset)
            by_biased = by_candidate * reset
            by_inputs = ops.concatenate([by_update, by_reset, by_candidate], axis=-1)
            by_recurrent = ops.concatenate([by_update, by_reset, by_biased], axis=-1)
            by_bias = by_biased if len(bias.shape) == 2 else ops.sum(by_biased, axis=0)
            return by_inputs, by_recurrent, by_bias, upstream * (1 - update)

        return (1 - update) * hidden + update * candidate, gradient

    return with_gradient(forward, inputs, recurrent, ops.cast(bias, "float32"), hidden)
