"""Scores: the energy e_ij between query i and key j.

A score is one class with three methods. `project` maps the query to the space of the keys. `keys` computes the part
that depends on the memory alone, once per sentence. `compare` gives the energies of projected queries and keys.
`register_score` gives the class its name in the configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import keras
from keras import ops

from nmt.backend import Tensor
from nmt.backend.arithmetic import batched_matmul
from nmt.network.attention.masked_softmax import MASKED_ENERGY
from nmt.network.linear import linear, linear_to_float32

MOST_SAVED_VALUES = 48 * 2**20
"""Greatest number of values that a score may save for the backward pass of a batch: 192 MiB in float32."""

SCORES: dict[str, type[Score]] = {}
"""All registered scores by their names in the configuration."""


def register_score(name: str) -> Callable[[type[Score]], type[Score]]:
    """Class decorator that registers a score under its name in `model.attention.score`."""

    def register(score: type[Score]) -> type[Score]:
        SCORES[name] = keras.saving.register_keras_serializable("nmt", f"{name}_score")(score)
        return SCORES[name]

    return register


class Score(keras.layers.Layer):
    """Base class of the scores. Products are formed in the compute type, energies are float32.

    Args:
        units: width of the hidden layer, for scores that have one.
        positions: number of positions that the score can distinguish, for scores by position.
    """

    equal_widths: ClassVar[bool] = False
    """Whether query and memory must have the same width."""
    saved_values: int = 0
    """Number of values that `compare` saves for the backward pass, for each pair of query and position."""
    recompute: bool = False
    """Whether `compare` is recomputed in the backward pass instead, which takes less memory and more time."""
    query_kernel: Any = None
    """Kernel of the projection of queries, [query width, `width`]; None: no projection."""

    def __init__(self, units: int = 256, positions: int = 128, **kwargs: Any) -> None:
        # No autocast: the decoder state stays in float32 in every precision.
        super().__init__(autocast=False, **kwargs)
        self.units, self.positions = units, positions

    def width(self, query: int, memory: int) -> int:
        """Width of the projected query, from the widths of query and memory."""
        return query

    def weight(self, name: str, *shape: int, initializer: Any = None, dtype: str | None = None) -> Any:
        """A trainable weight without autocast, in the policy's variable type unless `dtype` is given."""
        return self.add_weight(shape=shape, initializer=initializer, dtype=dtype, autocast=False, name=name)

    def product(self, values: Tensor, kernel: Tensor) -> Tensor:
        """values [batch, any, width] @ kernel [width, units] -> [batch, any, units], in the compute type."""
        return linear(ops.cast(values, self.compute_dtype), ops.cast(kernel, self.compute_dtype))

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        if self.equal_widths and query_shape[-1] != memory_shape[-1]:
            raise ValueError(
                f"{type(self).__name__} compares query and memory feature by feature: expected one width, got "
                f"{query_shape[-1]} and {memory_shape[-1]}"
            )
        self.built = True

    def project(self, query: Tensor) -> Tensor:
        """Projected queries: [batch, queries, query width] -> [batch, queries, `width`]."""
        return query if self.query_kernel is None else self.product(query, self.query_kernel)

    @property
    def loop_kernel(self) -> Any:
        """`query_kernel` if `project` is a plain product with it, so that a loop may form its gradient outside; else
        None."""
        return self.query_kernel if type(self).project is Score.project else None

    def limit_memory(self, pairs: int) -> int:
        """Decides whether the backward pass recomputes the values of `compare` instead of saving them.

        Args:
            pairs: greatest number of pairs of query and position in a batch.

        Returns:
            Number of values that are recomputed; 0 if all are saved.
        """
        values = self.saved_values * pairs
        self.recompute = values > MOST_SAVED_VALUES
        return values if self.recompute else 0

    def keys(self, memory: Tensor) -> Tensor:
        """Keys of a memory: [batch, positions, memory width] -> [batch, positions, key width]."""
        return ops.cast(memory, self.compute_dtype)

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        """Energies of projected queries and keys, float32 [batch, queries, positions]."""
        raise NotImplementedError

    def call(self, query: Tensor, memory: Tensor) -> Tensor:
        """Energies of queries and memory, float32 [batch, queries, positions]."""
        return self.compare(self.project(query), self.keys(memory))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units, "positions": self.positions}


@register_score("additive")
class Additive(Score):
    """e_ij = v^T tanh(W q_i + U h_j + b) (Bahdanau et al. 2015, A.1.2; the paper has no bias b).

    It equals Luong's concat score, v^T tanh(W [q; h]), because W [q; h] is the sum of a product with q and a product
    with h.
    """

    def width(self, query: int, memory: int) -> int:
        return self.units

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.saved_values = self.units
        self.query_kernel = self.weight("query_kernel", query_shape[-1], self.units)
        self.key_kernel = self.weight("key_kernel", memory_shape[-1], self.units)
        self.key_bias = self.weight("key_bias", self.units, initializer="zeros", dtype="float32")
        self.energy_kernel = self.weight("energy_kernel", self.units, 1, dtype="float32")
        super().build(query_shape, memory_shape)

    def keys(self, memory: Tensor) -> Tensor:
        return linear_to_float32(memory, self.key_kernel, self.key_bias, multiply_in=self.compute_dtype)

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        energies = keras.remat(self._energies) if self.recompute else self._energies
        # The kernel is an argument, because keras.remat gives gradients to arguments alone.
        return energies(ops.cast(projected, "float32"), keys, ops.convert_to_tensor(self.energy_kernel))

    def _energies(self, projected: Tensor, keys: Tensor, kernel: Tensor) -> Tensor:
        # [batch, queries, positions, units]. expand_dims instead of indexing with None, whose gradient is a copy.
        hidden = ops.tanh(ops.expand_dims(keys, 1) + ops.expand_dims(projected, 2))
        return ops.squeeze(linear(hidden, kernel), axis=-1)


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
    """e_ij = q_i^T W h_j (Luong et al. 2015, section 3.1). W projects the query to the space of the memory."""

    equal_widths = False

    def width(self, query: int, memory: int) -> int:
        return memory

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.query_kernel = self.weight("query_kernel", query_shape[-1], memory_shape[-1])
        super().build(query_shape, memory_shape)


@register_score("gaussian")
class Gaussian(Score):
    """e_ij = -|(q_i - h_j) w|^2 / 2, the exponent of a Gaussian kernel with a learned inverse width w.

    With w = 1 and a softmax this is the kernel regression of Nadaraya (1964) and Watson (1964). Training starts at
    w = width^(-1/4): this is 1 for scalars, and for vectors it gives the spread of scaled dot products.
    """

    equal_widths = True

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        first = keras.initializers.Constant(float(memory_shape[-1]) ** -0.25)
        self.inverse_width = self.weight("inverse_width", initializer=first, dtype="float32")
        super().build(query_shape, memory_shape)

    def keys(self, memory: Tensor) -> Tensor:
        return ops.cast(memory, "float32")  # differences of squares need the precision

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        # |q - h|^2 = |q|^2 + |h|^2 - 2 q . h
        projected = ops.cast(projected, "float32")
        squares = ops.sum(projected**2, axis=-1)[:, :, None] + ops.sum(keys**2, axis=-1)[:, None, :]
        return -0.5 * self.inverse_width**2 * (squares - 2 * inner_products(projected, keys))


@register_score("location")
class Location(Score):
    """e_ij = (W q_i)_j: the query alone determines the energy of each position (Luong et al. 2015, eq. 8).

    Positions from `positions` on get attention only if a window leaves no other position, and then equal weights.
    """

    def width(self, query: int, memory: int) -> int:
        return self.positions

    def build(self, query_shape: tuple, memory_shape: tuple) -> None:
        self.query_kernel = self.weight("query_kernel", query_shape[-1], self.positions)
        super().build(query_shape, memory_shape)

    def keys(self, memory: Tensor) -> Tensor:
        return memory[:, :, :1]  # only the number of positions is needed

    def compare(self, projected: Tensor, keys: Tensor) -> Tensor:
        numbers = ops.arange(ops.shape(keys)[1], dtype="int32")
        energies = ops.take(ops.cast(projected, "float32"), ops.minimum(numbers, self.positions - 1), axis=-1)
        return ops.where(numbers < self.positions, energies, MASKED_ENERGY)


def inner_products(queries: Tensor, keys: Tensor) -> Tensor:
    """Inner product of each query with each key.

    Args:
        queries: [..., queries, width].
        keys: [..., positions, width].

    Returns:
        [..., queries, positions].
    """
    if queries.shape[-2] == 1:
        # One decoder step. The transposed factor is saved for the backward pass at each step, so transpose the single
        # query and not the keys.
        return ops.swapaxes(ops.matmul(keys, ops.swapaxes(queries, -1, -2)), -1, -2)
    return batched_matmul(queries, keys, transpose_right=True)
