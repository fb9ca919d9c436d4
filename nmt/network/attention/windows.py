"""Windows: which positions the energies of a step are turned into weights of."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention.core import masked_softmax


class Moment(NamedTuple):
    """What else than energies decides where a query looks; a window reads what it needs of it."""

    query: Tensor
    """[batch, queries, width]."""
    time: Tensor | tuple[()] = ()
    """Steps made before this one, int32 [batch]; for windows that `count`."""
    noise: Tensor | None = None
    """Gumbel noise, float32 [batch, queries, positions]; for windows that draw, in training."""


@keras.saving.register_keras_serializable("nmt")
class Window(keras.layers.Layer):
    """Global attention: every real position (Bahdanau et al. 2015, eq. 6; Luong et al. 2015, section 3.1).

    Args:
        reach: D, how many positions a local window reaches to either side of its centre.
        units: width of the hidden layer that predicts a centre.
    """

    counts: ClassVar[bool] = False
    """Whether the number of the step counts."""
    draws: ClassVar[bool] = False
    """Whether noise is needed in training."""

    def __init__(self, reach: int = 5, units: int = 256, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.reach, self.units = reach, units

    def build(self, query_shape: tuple) -> None:
        self.built = True

    def call(self, energies: Tensor, mask: Tensor, moment: Moment) -> Tensor:
        """Attention weights.

        Args:
            energies: float32 [batch, queries, positions].
            mask: boolean [batch, 1 or queries, positions], true at real positions.
            moment: what else is known.

        Returns:
            float32, shaped as the energies; zero where masked, each row sums to one.
        """
        return masked_softmax(energies, mask)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "reach": self.reach, "units": self.units}


@keras.saving.register_keras_serializable("nmt")
class MonotonicWindow(Window):
    """Local-m: D positions to either side of p_t = t (Luong et al. 2015, section 3.2).

    Past the end of the sentence p_t stays on its last position. Outside of the window weights are exactly zero.
    """

    counts = True

    def call(self, energies: Tensor, mask: Tensor, moment: Moment) -> Tensor:
        centre = ops.minimum(ops.cast(moment.time, "float32")[:, None, None], last_position(mask))
        return masked_softmax(energies, ops.logical_and(mask, ops.abs(_distances(energies, centre)) <= self.reach))


@keras.saving.register_keras_serializable("nmt")
class PredictiveWindow(Window):
    """Local-p: D positions to either side of a predicted p_t, a Gaussian around it (Luong et al. 2015, eq. 9 and 10).

    p_t = (S - 1) sigmoid(v^T tanh(W q_t)) with positions counted from 0, so it stays inside a sentence of S pieces; the
    Gaussian's deviation is D / 2. Where we deviate: the weights are normalised after the Gaussian, not before, so that
    a row stays a distribution, as all that reads alignments takes it to be. The Gaussian's exponent is therefore added
    to the energies.
    """

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

    def call(self, energies: Tensor, mask: Tensor, moment: Moment) -> Tensor:
        distances = _distances(energies, self.centre(mask, moment.query))
        inside = ops.logical_and(mask, ops.abs(distances) <= self.reach)
        return masked_softmax(energies - 2.0 * (distances / self.reach) ** 2, inside)


@keras.saving.register_keras_serializable("nmt")
class HardWindow(Window):
    """Hard attention: all weight on one position, that of the greatest energy.

    In training the position is drawn with the softmax's probabilities, as the greatest energy plus Gumbel noise, and
    the gradient is that of the softmax of the same sum (straight-through Gumbel-softmax; Jang et al. 2017, section
    2.2). It is biased, but has a gradient for every position from one draw; REINFORCE (Xu et al. 2015, section 4.1)
    is unbiased and needs a learned baseline, an entropy bonus and many more updates to get the variance down.
    """

    draws = True

    def call(self, energies: Tensor, mask: Tensor, moment: Moment) -> Tensor:
        energies = ops.cast(energies, "float32")
        soft = masked_softmax(energies if moment.noise is None else energies + moment.noise, mask)
        chosen = ops.argmax(soft, axis=-1)
        hard = ops.cast(
            ops.arange(ops.shape(soft)[-1], dtype="int32") == ops.cast(chosen, "int32")[..., None], "float32"
        )
        hard = ops.where(mask, hard, 0.0)
        return ops.stop_gradient(hard) + (soft - ops.stop_gradient(soft))  # in this order exactly zero or one


WINDOWS: dict[str, type[Window]] = {
    "global": Window,
    "local_m": MonotonicWindow,
    "local_p": PredictiveWindow,
    "hard": HardWindow,
}
"""Every window by its name in the configuration."""


def last_position(mask: Tensor) -> Tensor:
    """S - 1, float32 [batch, 1 or queries, 1], of a mask whose last true position is that; at least 0. Positions before
    it may be false, where they have been erased."""
    positions = ops.arange(ops.shape(mask)[-1], dtype="float32")
    return ops.max(ops.where(mask, positions, 0.0), axis=-1, keepdims=True)


def _distances(energies: Tensor, centre: Tensor) -> Tensor:
    """j - centre, [batch, queries, positions]."""
    return ops.arange(ops.shape(energies)[-1], dtype="float32") - centre
