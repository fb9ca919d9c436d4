"""Scores: the energy e_ij between a query and a key, in all the forms of the literature.

A score is one class: where the query is projected to (`project`), what of the memory does not depend on the query
(`keys`, computed once a sentence) and how the two meet (`compare`). `register_score` makes it known by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.network.attention.core import MASKED, flat_product, inner_products, product_in

SCORES: dict[str, type[Score]] = {}
"""Every registered score by its name in the configuration."""


def register_score(name: str) -> Callable[[type[Score]], type[Score]]:
    """Class decorator: the configuration's `model.attention.score` knows the score by this name."""

    def remember(kind: type[Score]) -> type[Score]:
        SCORES[name] = keras.saving.register_keras_serializable("nmt", f"{name}_score")(kind)
        return SCORES[name]

    return remember


class Score(keras.layers.Layer):
    """Base of the scores. Products are in the compute type, energies in float32.

    Args:
        units: width of a hidden layer, for the scores that have one.
        positions: positions that the score can tell apart, for those that score by position.
    """

    equal_widths: ClassVar[bool] = False
    """Whether query and memory have to be of one width."""
    kept: int = 0
    """Numbers that `compare` keeps for the way back, of each query and position."""
    recompute: bool = False
    """Whether it forgets them and computes them again there, which takes longer and less memory."""
    query_kernel: Any = None
    """What `project` multiplies queries by, [query width, `width`]; None: nothing."""

    def __init__(self, units: int = 256, positions: int = 128, **kwargs: Any) -> None:
        # The state is carried in float32 whatever the precision: nothing may cast it on the way in.
        super().__init__(autocast=False, **kwargs)
        self.units, self.positions = units, positions

    def width(self, query: int, memory: int) -> int:
        """Width of the projected query, from the widths of query and memory."""
        return query

    def weight(self, name: str, *shape: int, initializer: Any = None, dtype: str | None = None) -> Any:
        """A weight that no autocast touches; of type float32 where it is needed in that, else of the policy's."""
        return self.add_weight(shape=shape, initializer=initializer, dtype=dtype, autocast=False, name=name)

    def product(self, values: Tensor, kernel: Tensor) -> Tensor:
        """values [batch, any, width] @ kernel in the compute type."""
        return flat_product(ops.cast(values, self.compute_dtype), ops.cast(kernel, self.compute_dtype))

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        if self.equal_widths and query_shape[-1] != memory_shape[-1]:
            raise ValueError(
                f"{type(self).__name__} compares query and memory place by place: expected one width, got "
                f"{query_shape[-1]} and {memory_shape[-1]}"
            )
        self.built = True

    def project(self, query: Tensor) -> Tensor:
        """[batch, queries, query width] -> [batch, queries, `width`]."""
        return query if self.query_kernel is None else self.product(query, self.query_kernel)

    @property
    def projection(self) -> Any:
        """`query_kernel` where a product with it is all that `project` does, so that a loop may form its gradient
        outside; else None."""
        return self.query_kernel if type(self).project is Score.project else None

    def keys(self, memory: Tensor) -> Tensor:
        """[batch, positions, memory width] -> keys, [batch, positions, any width]."""
        return ops.cast(memory, self.compute_dtype)

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        """Energies, float32 [batch, queries, positions], of projected queries and keys."""
        raise NotImplementedError

    def call(self, query: Tensor, memory: Tensor) -> Tensor:
        """Energies, float32 [batch, queries, positions], of queries and memory."""
        return self.compare(self.project(query), self.keys(memory))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "positions": self.positions}


@register_score("additive")
class Additive(Score):
    """e_ij = v^T tanh(W q_i + U h_j + b) (Bahdanau et al. 2015, A.1.2; the bias b is ours).

    Luong's concat, v^T tanh(W [q; h]), is the same: a product with what stands side by side is the sum of two.
    """

    def width(self, query: int, memory: int) -> int:
        return self.units

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.kept = self.units
        self.query_kernel = self.weight("query_kernel", query_shape[-1], self.units)
        self.key_kernel = self.weight("key_kernel", memory_shape[-1], self.units)
        self.key_bias = self.weight("key_bias", self.units, initializer="zeros", dtype="float32")
        self.energy_kernel = self.weight("energy_kernel", self.units, 1, dtype="float32")
        super().build(query_shape, memory_shape)

    def keys(self, memory: Tensor) -> Tensor:
        return product_in(self.compute_dtype, memory, self.key_kernel, self.key_bias)

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        energies = keras.remat(self._energies) if self.recompute else self._energies
        # What gets a gradient has to be given: what is recomputed knows of nothing else.
        return energies(ops.cast(projected, "float32"), keys, ops.convert_to_tensor(self.energy_kernel))

    def _energies(self, projected: Tensor, keys: Tensor, kernel: Tensor) -> Tensor:
        # [batch, queries, positions, units]; expanded, not indexed with None: the gradient of that is a copy.
        hidden = ops.tanh(ops.expand_dims(keys, 1) + ops.expand_dims(projected, 2))
        return ops.squeeze(flat_product(hidden, kernel), axis=-1)


@register_score("dot")
class Dot(Score):
    """e_ij = q_i . h_j (Luong et al. 2015, section 3.1)."""

    equal_widths = True

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        return ops.cast(inner_products(ops.cast(projected, keys.dtype), keys), "float32")


@register_score("scaled_dot")
class ScaledDot(Dot):
    """e_ij = q_i . h_j / sqrt(width) (Vaswani et al. 2017, eq. 1)."""

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        return super().compare(projected, keys) / float(keys.shape[-1]) ** 0.5


@register_score("general")
class General(Dot):
    """e_ij = q_i^T W h_j (Luong et al. 2015, section 3.1): the query is projected to where the memory lives."""

    equal_widths = False

    def width(self, query: int, memory: int) -> int:
        return memory

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.query_kernel = self.weight("query_kernel", query_shape[-1], memory_shape[-1])
        super().build(query_shape, memory_shape)


@register_score("gaussian")
class Gaussian(Score):
    """e_ij = -((q_i - h_j) w)^2 / 2 summed over the width, the exponent of a Gaussian kernel whose inverse width w is
    learned (Nadaraya 1964 and Watson 1964 with w = 1).

    At first w = width^(-1/4), which is 1 for a single number and gives scaled dot products' spread for vectors.
    """

    equal_widths = True

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        first = keras.initializers.Constant(float(memory_shape[-1]) ** -0.25)
        self.inverse_width = self.weight("inverse_width", initializer=first, dtype="float32")
        super().build(query_shape, memory_shape)

    def keys(self, memory: Tensor) -> Tensor:
        return ops.cast(memory, "float32")  # differences of squares need its digits

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        projected = ops.cast(projected, "float32")
        squares = ops.sum(projected**2, axis=-1)[:, :, None] + ops.sum(keys**2, axis=-1)[:, None, :]
        return -0.5 * self.inverse_width**2 * (squares - 2 * inner_products(projected, keys))


@register_score("location")
class Location(Score):
    """e_ij = (W q_i)_j: where to look is known from the query alone (Luong et al. 2015, eq. 8).

    Positions from `positions` on are looked at only where a window leaves no other, and then all alike.
    """

    def width(self, query: int, memory: int) -> int:
        return self.positions

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.query_kernel = self.weight("query_kernel", query_shape[-1], self.positions)
        super().build(query_shape, memory_shape)

    def keys(self, memory: Tensor) -> Tensor:
        return memory[:, :, :1]  # nothing but how many positions there are

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        places = ops.arange(ops.shape(keys)[1], dtype="int32")
        energies = ops.take(ops.cast(projected, "float32"), ops.minimum(places, self.positions - 1), axis=-1)
        return ops.where(places < self.positions, energies, MASKED)
