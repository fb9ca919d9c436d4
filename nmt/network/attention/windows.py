"""Windows: the positions that a query may attend to, and the attention weights of their energies."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention.masked_softmax import masked_softmax


class WindowInputs(NamedTuple):
    """The inputs of a window besides energies and mask. Each window reads the inputs that it needs."""

    query: Tensor
    """[batch, queries, width]."""
    time: Tensor | tuple[()] = ()
    """Number of steps before this one, int32 [batch]; for windows with `needs_time`."""
    noise: Tensor | None = None
    """Gumbel noise, float32 [batch, queries, positions]; for windows with `needs_noise`, in training."""


class Window(keras.layers.Layer):
    """Base class of the windows.

    Args:
        reach: D, the number of positions on either side of the centre of a local window.
        units: width of the hidden layer that predicts a centre.
    """

    needs_time: ClassVar[bool] = False
    """Whether the window reads the number of the step."""
    needs_noise: ClassVar[bool] = False
    """Whether the window reads Gumbel noise in training."""

    def __init__(self, reach: int = 5, units: int = 256, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.reach, self.units = reach, units

    def build(self, query_shape: tuple) -> None:
        self.built = True

    def call(self, energies: Tensor, mask: Tensor, inputs: WindowInputs) -> Tensor:
        """Attention weights.

        Args:
            energies: float32 [batch, queries, positions].
            mask: boolean [batch, 1 or queries, positions], true at real positions.
            inputs: other inputs of the step.

        Returns:
            float32, in the shape of the energies. Masked positions are zero, and each row sums to one.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "reach": self.reach, "units": self.units}


@keras.saving.register_keras_serializable("nmt")
class GlobalWindow(Window):
    """Global attention: all real positions (Bahdanau et al. 2015, eq. 6; Luong et al. 2015, section 3.1)."""

    def call(self, energies: Tensor, mask: Tensor, inputs: WindowInputs) -> Tensor:
        return masked_softmax(energies, mask)


@keras.saving.register_keras_serializable("nmt")
class MonotonicWindow(Window):
    """Local-m: D positions on either side of p_t = t (Luong et al. 2015, section 3.2).

    After the end of the sentence, p_t stays at the last position. Weights outside the window are exactly zero.
    """

    needs_time = True

    def call(self, energies: Tensor, mask: Tensor, inputs: WindowInputs) -> Tensor:
        centre = ops.minimum(ops.cast(inputs.time, "float32")[:, None, None], last_position(mask))
        return masked_softmax(energies, ops.logical_and(mask, ops.abs(_distances(energies, centre)) <= self.reach))


@keras.saving.register_keras_serializable("nmt")
class PredictiveWindow(Window):
    """Local-p: D positions on either side of a predicted p_t, with a Gaussian around it (Luong et al. 2015, eq. 9 and
    10).

    p_t = (S - 1) sigmoid(v^T tanh(W q_t)), so it stays inside a sentence of S pieces, whose positions count from 0. The
    standard deviation of the Gaussian is D / 2. Luong et al. multiply by the Gaussian after the softmax, so their
    weights do not sum to one. Here the Gaussian's exponent is added to the energies, so the weights remain a
    distribution, as every reader of alignments expects."""

    def build(self, query_shape: tuple) -> None:
        self.centre_kernel = self.add_weight(shape=(query_shape[-1], self.units), autocast=False, name="centre_kernel")
        self.centre_vector = self.add_weight(
            shape=(self.units, 1), dtype="float32", autocast=False, name="centre_vector"
        )
        super().build(query_shape)

    def centre(self, mask: Tensor, query: Tensor) -> Tensor:
        """p_t, float32 [batch, queries, 1]."""
        kernel = ops.cast(self.centre_kernel, self.compute_dtype)
        hidden = ops.tanh(ops.matmul(ops.cast(query, self.compute_dtype), kernel))
        return last_position(mask) * ops.sigmoid(ops.matmul(ops.cast(hidden, "float32"), self.centre_vector))

    def call(self, energies: Tensor, mask: Tensor, inputs: WindowInputs) -> Tensor:
        distances = _distances(energies, self.centre(mask, inputs.query))
        inside = ops.logical_and(mask, ops.abs(distances) <= self.reach)
        # -distance^2 / (2 (D / 2)^2) = -2 (distance / D)^2
        return masked_softmax(energies - 2.0 * (distances / self.reach) ** 2, inside)


@keras.saving.register_keras_serializable("nmt")
class HardWindow(Window):
    """Hard attention: one position, the one with the greatest energy, gets all attention.

    In training the position is sampled with the probabilities of the softmax, as the argmax of energy plus Gumbel
    noise. The gradient is the gradient of the softmax of the same sum (straight-through Gumbel-softmax; Jang et al.
    2017, section 2.2). This estimator is biased, but one sample gives a gradient for every position. REINFORCE (Xu et
    al. 2015, section 4.1) is unbiased, but needs a learned baseline, an entropy bonus and many more updates to reduce
    its variance."""

    needs_noise = True

    def call(self, energies: Tensor, mask: Tensor, inputs: WindowInputs) -> Tensor:
        energies = ops.cast(energies, "float32")
        soft = masked_softmax(energies if inputs.noise is None else energies + inputs.noise, mask)
        chosen = ops.argmax(soft, axis=-1)
        hard = ops.cast(
            ops.arange(ops.shape(soft)[-1], dtype="int32") == ops.cast(chosen, "int32")[..., None], "float32"
        )
        hard = ops.where(mask, hard, 0.0)
        return ops.stop_gradient(hard) + (soft - ops.stop_gradient(soft))  # in this order exactly zero or one


WINDOWS: dict[str, type[Window]] = {
    "global": GlobalWindow,
    "local_m": MonotonicWindow,
    "local_p": PredictiveWindow,
    "hard": HardWindow,
}
"""All windows by their names in the configuration."""


def last_position(mask: Tensor) -> Tensor:
    """S - 1, the index of the last true position, or 0: mask [batch, 1 or queries, positions] -> float32 [..., 1].

    Positions before the last one may be false, where source words have been erased.
    """
    positions = ops.arange(ops.shape(mask)[-1], dtype="float32")
    return ops.max(ops.where(mask, positions, 0.0), axis=-1, keepdims=True)


def _distances(energies: Tensor, centre: Tensor) -> Tensor:
    """j - centre for each position j, float32 [batch, queries, positions]."""
    return ops.arange(ops.shape(energies)[-1], dtype="float32") - centre
