"""The mechanisms as layers, which map a sequence [1, n, d] to another one [1, n, d]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import keras
from keras import ops

from nmt.network.attention import SCORES, Attention, MultiHeadAttention, context_vectors, inner_products, masked_softmax
from studies.costs.formulas import KERNEL, Sizes


class Mechanism(NamedTuple):
    """A layer to measure."""

    call: Callable[[Any], Any]
    """float32 [1, n, d] -> float32 [1, n, d]."""
    weights: list[Any]


def convolution(width: int, sizes: Sizes) -> Mechanism:
    """A convolution: each position reads itself and its two neighbours."""
    return _keras_layer(keras.layers.Conv1D(width, KERNEL, padding="same"), width)


def recurrence(width: int, sizes: Sizes) -> Mechanism:
    """An LSTM of one direction."""
    return _keras_layer(keras.layers.LSTM(width, return_sequences=True), width)


def self_attention(width: int, sizes: Sizes) -> Mechanism:
    """Scaled dot products of all pairs, with one head and no projections."""
    return _all_pairs("scaled_dot", width)


def additive(width: int, sizes: Sizes) -> Mechanism:
    """Additive energies of all pairs, with a hidden layer of d units."""
    return _all_pairs("additive", width)


def multi_head(width: int, sizes: Sizes) -> Mechanism:
    """Scaled dot products of all pairs in several heads, with their four projections."""
    layer = MultiHeadAttention(sizes.heads)
    layer.build((None, None, width), (None, None, width))

    def call(values: Any) -> Any:
        return layer(values, layer.project_memory(values), everywhere(values)[:, None, None])[0]

    return Mechanism(call, layer.trainable_variables)


def global_steps(width: int, sizes: Sizes) -> Mechanism:
    """One query after the other, as in a decoder, each against all positions."""
    return _steps("global", width, sizes)


def local_masked(width: int, sizes: Sizes) -> Mechanism:
    """One query after the other against D positions on either side (Luong et al. 2015, local-m), with the windows of
    `network.attention`: it computes the energies of all positions and masks the positions outside the window."""
    return _steps("local_m", width, sizes)


def local_cut_out(width: int, sizes: Sizes) -> Mechanism:
    """The result of `local_masked`, computed from the positions inside the window alone."""
    reach = sizes.reach

    def call(values: Any) -> Any:
        around = ((0, 0), (reach, reach))
        padded, mask = ops.pad(values, (*around, (0, 0))), ops.pad(everywhere(values), around)

        def step(time: Any, query: Any) -> Any:
            near = ops.slice(padded, (0, time, 0), (1, 2 * reach + 1, width))
            inside = ops.slice(mask, (0, time), (1, 2 * reach + 1))
            energies = inner_products(query[:, None], near) / float(width) ** 0.5
            return ops.squeeze(context_vectors(masked_softmax(energies, inside[:, None]), near), axis=1)

        return _over_time(step, ops.zeros((), dtype="int32"), values)

    return Mechanism(call, [])


MECHANISMS: dict[str, Callable[[int, Sizes], Mechanism]] = {
    "convolution": convolution,
    "recurrence": recurrence,
    "self-attention": self_attention,
    "multi-head": multi_head,
    "additive": additive,
    "global, step by step": global_steps,
    "local, masked": local_masked,
    "local, cut out": local_cut_out,
}
"""Functions of d and the other sizes, by name."""


def everywhere(values: Any) -> Any:
    """A mask that is true at every position, bool [1, n]."""
    return ops.ones(ops.shape(values)[:2], dtype="bool")


def _keras_layer(layer: keras.layers.Layer, width: int) -> Mechanism:
    layer.build((None, None, width))
    return Mechanism(layer, layer.trainable_variables)


def _all_pairs(name: str, width: int) -> Mechanism:
    score = SCORES[name](width)
    score.build((None, None, width), (None, None, width))

    def call(values: Any) -> Any:
        return context_vectors(masked_softmax(score(values, values), everywhere(values)[:, None]), values)

    return Mechanism(call, score.trainable_variables)


def _steps(window: str, width: int, sizes: Sizes) -> Mechanism:
    attention = Attention("scaled_dot", window, reach=sizes.reach)
    attention.build((None, width), (None, None, width))

    def call(values: Any) -> Any:
        keys, mask = attention.keys(values), everywhere(values)

        def step(time: Any, query: Any) -> Any:
            return attention(query, values, keys, mask, time=time)[0]

        return _over_time(step, ops.zeros((1,), dtype="int32"), values)

    return Mechanism(call, attention.trainable_variables)


class _State(NamedTuple):
    """The state of a scan; the outputs of a scan need the shape of its state."""

    time: Any
    """Number of steps, int32."""
    context: Any
    """float32 [1, d]."""


def _over_time(step: Callable[[Any, Any], Any], time: Any, values: Any) -> Any:
    """The contexts [1, n, d] that `step` computes from the time and from each position of [1, n, d]."""

    def next_state(state: _State, query: Any) -> tuple[_State, _State]:
        state = _State(state.time + 1, step(state.time, query))
        return state, state

    first = _State(time, ops.zeros_like(values[:, 0]))
    _, states = ops.scan(next_state, first, ops.transpose(values, (1, 0, 2)))
    return ops.transpose(states.context, (1, 0, 2))
