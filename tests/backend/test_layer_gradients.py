"""JAX and TensorFlow give equal gradients of each kind of layer.

TensorFlow uses the gradients that the package writes out, JAX mostly its own. As a program, this file computes the
gradients of the backend in KERAS_BACKEND: python tests/backend/test_layer_gradients.py RESULT.npz
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BATCH, POSITIONS, STEPS, WIDTH, UNITS = 3, 5, 4, 6, 4
LENGTHS = np.array([5, 2, 1], np.int32)
MASK = np.arange(POSITIONS) < LENGTHS[:, None]
TARGETS = np.array([3, 8, 0, 1, 3, 4, 0], np.int32)


def draw(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(np.float32)


def weighted(*results: Any) -> Any:
    """A scalar that depends on every entry of the results."""
    from keras import ops

    factors = [draw(*result.shape, seed=9 + place) for place, result in enumerate(results)]
    return sum(ops.sum(factor * ops.cast(result, "float32")) for factor, result in zip(factors, results, strict=True))


def gradients(loss: Callable[..., Any], values: Sequence[np.ndarray], variables: Sequence[Any]) -> list[np.ndarray]:
    """The loss, and its gradients by arrays and by Keras variables."""
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tensors = [tf.constant(value) for value in values]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            total = loss(*tensors)
        found = tape.gradient(total, [*tensors, *(variable.value for variable in variables)])
        return [np.asarray(tf.convert_to_tensor(each)) for each in (total, *found)]
    import jax

    def pure(values: Any, weights: Any) -> Any:
        with keras.StatelessScope(state_mapping=list(zip(variables, weights, strict=True))):
            return loss(*values)

    program = jax.jit(jax.value_and_grad(pure, argnums=(0, 1)))
    total, found = program(list(values), [variable.value for variable in variables])
    return [np.asarray(each) for each in (total, *found[0], *found[1])]


def drawn(layer: Any, *shapes: tuple[Any, ...]) -> Any:
    """The layer, built for these shapes, with random weights."""
    layer.build(*shapes)
    for place, variable in enumerate(layer.trainable_variables):
        variable.assign(0.7 * draw(*variable.shape, seed=30 + place))
    return layer


def attentions() -> dict[str, Callable[[], list[np.ndarray]]]:
    """Each score, each window that is not drawn, and attention of heads."""
    from nmt.network.attention import SCORES, WINDOWS, Attention, MultiHeadAttention, causal_mask
    from nmt.network.attention.pooling import FixedQueryPooling

    shapes = (None, None, WIDTH), (None, None, WIDTH)
    memory = draw(BATCH, POSITIONS, WIDTH)

    def one(score: str, window: str) -> list[np.ndarray]:
        layer = drawn(Attention(score, window, units=UNITS, reach=2, positions=4), *shapes)

        def loss(query: Any, memory: Any) -> Any:
            time = np.array([1, 3, 0], np.int32)
            return weighted(*layer(query, memory, layer.keys(memory), MASK, time=time))

        return gradients(loss, [draw(BATCH, WIDTH), memory], layer.trainable_variables)

    def heads() -> list[np.ndarray]:
        layer = drawn(MultiHeadAttention(2), *shapes)

        def loss(query: Any, memory: Any) -> Any:
            to_itself = layer.attend(*layer.project_self(memory), causal_mask(POSITIONS))
            return weighted(*layer(query, layer.project_memory(memory), MASK[:, None, None]), *to_itself)

        return gradients(loss, [draw(BATCH, STEPS, WIDTH), memory], layer.trainable_variables)

    def pooling() -> list[np.ndarray]:
        layer = drawn(FixedQueryPooling("additive", UNITS, "softmax"), (None, None, WIDTH))
        return gradients(lambda values: weighted(*layer(values, MASK)), [memory], layer.trainable_variables)

    pairs = [*((score, "global") for score in SCORES), *(("general", window) for window in WINDOWS if window != "hard")]
    named = {f"attention {score} {window}": (lambda s=score, w=window: one(s, w)) for score, window in pairs}
    return {**named, "heads": heads, "pooling": pooling}


def encoders() -> dict[str, Callable[[], list[np.ndarray]]]:
    from keras import ops

    from nmt.config import TransformerConfig
    from nmt.network.encoder import Encoder, reverse_by_length
    from nmt.network.transformer.encoder import TransformerEncoder
    from nmt.network.transformer.layer_normalization import LayerNormalization

    values = draw(BATCH, POSITIONS, WIDTH)

    def encoder(layer: Any) -> list[np.ndarray]:
        drawn(layer, (None, None, WIDTH))

        def loss(values: Any) -> Any:
            encoded = layer(values, LENGTHS, training=True)
            return weighted(ops.where(MASK[:, :, None], encoded.memory, 0.0), encoded.final)

        return gradients(loss, [values], layer.trainable_variables)

    def normalization() -> list[np.ndarray]:
        layer = drawn(LayerNormalization(), (None, None, WIDTH))
        return gradients(lambda values: weighted(layer(values, training=True)), [values], layer.trainable_variables)

    return {
        "recurrent encoder": lambda: encoder(Encoder(2 * UNITS, layers=2)),
        "Transformer encoder": lambda: encoder(TransformerEncoder(TransformerConfig(2, 2, 2, 7), 0.0, 0)),
        "layer normalization": normalization,
        "reversal": lambda: gradients(lambda v: weighted(ops.square(reverse_by_length(v, LENGTHS))), [values], []),
    }


def decoders() -> dict[str, Callable[[], list[np.ndarray]]]:
    from nmt.config import AttentionConfig, TransformerConfig
    from nmt.network.decoder import BahdanauDecoder, LuongDecoder
    from nmt.network.transformer.decoder import TransformerDecoder

    memory = draw(BATCH, POSITIONS, WIDTH)
    values = [draw(BATCH, STEPS, WIDTH), memory, draw(BATCH, WIDTH), draw(BATCH, POSITIONS, WIDTH, seed=2)]

    def recurrent(kind: Any, **options: Any) -> list[np.ndarray]:
        settings = {"attention": AttentionConfig(units=UNITS), "readout_units": UNITS, **options}
        layer = drawn(kind(UNITS, **settings), (None, None, WIDTH), (None, None, WIDTH), (None, WIDTH))

        def loss(embedded: Any, memory: Any, final: Any, words: Any) -> Any:
            return weighted(*layer(embedded, memory, final, MASK, words, training=True), words)

        return gradients(loss, values, layer.trainable_variables)

    def transformer() -> list[np.ndarray]:
        layer = TransformerDecoder(TransformerConfig(1, 1, 2, 7), 0.0, 0, words_in_readout=True)
        drawn(layer, (None, None, WIDTH))

        def loss(embedded: Any, memory: Any, final: Any, words: Any) -> Any:
            return weighted(*layer(embedded, memory, final, MASK, words, training=True), final)

        return gradients(loss, values, layer.trainable_variables)

    coverage = AttentionConfig(units=UNITS, coverage=True)
    predicted = AttentionConfig("general", "local_p", UNITS, reach=2)
    return {
        "Bahdanau": lambda: recurrent(BahdanauDecoder, piece_in_query=True, words_in_readout=True),
        "Bahdanau, LSTM, coverage": lambda: recurrent(BahdanauDecoder, cell="lstm", attention=coverage),
        "Luong": lambda: recurrent(LuongDecoder, attention=predicted),
        "Luong, LSTM, no feeding": lambda: recurrent(LuongDecoder, cell="lstm", input_feeding=False),
        "Transformer decoder": transformer,
    }


def functions() -> dict[str, Callable[[], list[np.ndarray]]]:
    """Steps of recurrences, and losses."""
    from keras import ops

    from nmt.network.losses.guided_alignment import guided_alignment_losses
    from nmt.network.losses.label_smoothing import token_losses
    from nmt.network.losses.output_loss import output_loss
    from nmt.network.recurrence.gru import gru
    from nmt.network.recurrence.lstm import lstm, lstm_states

    links = np.random.default_rng(2).dirichlet(np.ones(POSITIONS), (BATCH, STEPS)).astype(np.float32)
    logits = [draw(7, UNITS), draw(9, UNITS), draw(9)]

    def of(function: Callable[..., Any], *shapes: tuple[int, ...]) -> list[np.ndarray]:
        return gradients(function, [draw(*shape, seed=place) for place, shape in enumerate(shapes)], [])

    return {
        "GRU": lambda: of(
            lambda *values: weighted(gru(*values)), *[(BATCH, 3 * UNITS)] * 2, (BATCH, UNITS), (BATCH, UNITS)
        ),
        "LSTM": lambda: of(lambda *values: weighted(*lstm(*values)), (BATCH, 4 * UNITS), (BATCH, UNITS)),
        "LSTM states": lambda: of(
            lambda *values: weighted(lstm_states(*values, "float32")), (STEPS, BATCH, 4 * UNITS), (UNITS, 4 * UNITS)
        ),
        "token losses": lambda: of(lambda logits: weighted(token_losses(logits, TARGETS, 0.1)), (7, 9)),
        "output loss": lambda: gradients(lambda *values: output_loss(*values, TARGETS, 0.1, 1), logits, []),
        "output loss in slices": lambda: gradients(lambda *values: output_loss(*values, TARGETS, 0.1, 3), logits, []),
        "guided": lambda: of(
            lambda energies: weighted(guided_alignment_losses(ops.softmax(energies), links)), (BATCH, STEPS, POSITIONS)
        ),
    }


def compute() -> dict[str, np.ndarray]:
    """Loss and gradients of each kind of layer, by name and place."""
    cases = attentions() | encoders() | decoders() | functions()
    return {f"{name}: {place}": array for name, make in cases.items() for place, array in enumerate(make())}


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="jax is not installed: pip install -e .[jax]")
def test_jax_and_tensorflow_give_equal_gradients_of_each_layer(tmp_path: Path) -> None:
    """Differences are measured as a share of the largest entry of a gradient."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}
    command = [sys.executable, __file__, str(tmp_path / "jax.npz")]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as other:
        expected = compute()  # meanwhile
        _, errors = other.communicate()
    assert other.returncode == 0, errors
    with np.load(tmp_path / "jax.npz") as found:
        assert str(found["backend"]) == "jax"
        assert {*found.files} == {*expected, "backend"}
        wrong = {}
        for name, array in expected.items():
            difference, size = np.abs(found[name] - array).max(), np.abs(array).max()
            if not difference <= 1e-4 * size + 1e-5:
                wrong[name] = f"{difference:.1e} of {size:.1e}"
        assert not wrong
    zero = [name for name, array in expected.items() if not np.abs(array).max() > 1e-7]
    assert len(zero) < len(expected) / 10, zero


if __name__ == "__main__":
    import keras

    np.savez(sys.argv[1], backend=np.array(keras.backend.backend()), **compute())
