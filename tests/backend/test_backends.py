"""JAX and TensorFlow give equal logits, losses, training steps and translations from equal weights.

As a program, this file computes the results of the backend in KERAS_BACKEND:
python tests/backend/test_backends.py KIND WEIGHTS.npz RESULT.npz
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SOURCES = [[4, 7, 9, 5], [6], [10, 4, 4, 7, 11, 8, 5, 6]]
TARGETS = [[5, 6, 11], [9, 4, 4, 8, 10], [7]]
LINKS = [[0, 1, 0, 2, 2, 0], [3, 0], []]


def tiny(kind: str = "rnn") -> Any:
    """A small model without dropout: a decoder by Bahdanau, one by Luong with window and coverage, or a Transformer."""
    from nmt.config import AttentionConfig, DropoutConfig, ModelConfig, TransformerConfig
    from nmt.network.model import Seq2Seq

    nothing = DropoutConfig(embedding=0, encoder=0, state=0, context=0, readout=0, residual=0)
    predicted = AttentionConfig("general", "local_p", 5, 2, coverage=True)
    changes: dict[str, dict[str, Any]] = {
        "rnn": {"embedding": 6, "attention": AttentionConfig(units=5), "encoder_layers": 2},
        "luong": {"decoder": "luong", "cell": "lstm", "attention": predicted},
        "transformer": {"architecture": "transformer", "transformer": TransformerConfig(2, 2, 2, 10)},
    }
    config = ModelConfig(**{"units": 8, "embedding": 8, "dropout": nothing, **changes[kind]})
    model = Seq2Seq(config, 12, 12)
    model.build()
    return model


KINDS = ("luong", "transformer")
"""Models of which only the search and the training step are compared."""


def drawn(kind: str) -> dict[str, np.ndarray]:
    """Random weights for a kind of model, equal on every backend."""
    random = np.random.default_rng(41)  # with this seed each kind gives three translations of different lengths
    variables = tiny(kind).trainable_variables
    return {v.path: random.normal(0, 0.7, tuple(v.shape)).astype(np.float32) for v in variables}


def compute_kind(kind: str, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Translations, their attention and two training steps of a kind of model."""
    import keras

    from nmt.batches.arrays import Sequences, make_batch
    from nmt.config import SearchConfig
    from nmt.network.weights import assign_arrays
    from nmt.training.step import TrainStep
    from nmt.translation.inference.model_inference import ModelInference
    from nmt.translation.short_list import ShortList

    model = tiny(kind)
    assign_arrays(model.trainable_variables, weights, "weights")
    engine = ModelInference(model)
    found = engine.translate(SOURCES, SearchConfig(beam_size=2))
    table = ShortList.learn(Sequences.of(SOURCES), Sequences.of(TARGETS), 12, 12, shared=False)
    short = engine.translate(SOURCES, SearchConfig(beam_size=2, short_list=1), table)
    optimizer = keras.optimizers.Adam(0.01)
    optimizer.build(model.trainable_variables)
    step = TrainStep(model, optimizer, 0.1)
    batch = make_batch(Sequences.of(SOURCES), Sequences.of(TARGETS), np.arange(3))
    return {
        "ids": np.array([h.ids + [-1] * (40 - len(h.ids)) for h in found]),
        "paid": np.concatenate([h.weights.ravel() for h in found]),
        "short": np.concatenate([h.piece_log_probabilities for h in short]),
        "steps": np.array([float(step(batch)) for _ in range(2)]),
    }


def compute(kind: str, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All compared results, from these weights."""
    return compute_all(weights) if kind == "rnn" else compute_kind(kind, weights)


def compute_all(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """For the recurrent model also logits, losses, steps with links, and averages of weights."""
    import keras

    from nmt.backend.compiling import compile_function
    from nmt.batches.arrays import GuidedBatch, Sequences, link_rows, make_batch
    from nmt.config import SearchConfig
    from nmt.network.losses.label_smoothing import token_losses
    from nmt.network.weights import assign_arrays
    from nmt.training.averaging import averaged_arrays
    from nmt.training.optimizer import Adam
    from nmt.training.step import TrainStep
    from nmt.translation.inference.model_inference import ModelInference

    model = tiny()
    assign_arrays(model.trainable_variables, weights, "weights")
    batch = make_batch(Sequences.of(SOURCES), Sequences.of(TARGETS), np.arange(3))
    logits, attention = compile_function(lambda source, target: model(source, target))(batch.source, batch.target_in)
    results = {"logits": logits, "attention": attention, "losses": token_losses(logits, batch.target_out, 0.1)}
    results = {name: keras.ops.convert_to_numpy(value) for name, value in results.items()}
    found = ModelInference(model).translate(SOURCES, SearchConfig(beam_size=4, length_penalty=0.8))
    results["ids"] = np.array([h.ids + [-1] * (40 - len(h.ids)) for h in found])
    results["scores"] = np.array([h.score for h in found])
    results["paid"] = np.concatenate([h.weights.ravel() for h in found])
    results |= {"later": later_scores(model, weights)}
    optimizer = Adam(0.01, averaged_every=1, weight_decay=5.0, global_clipnorm=1.0, use_ema=True, ema_momentum=0.9)
    optimizer.build(model.trainable_variables)
    step = TrainStep(model, optimizer, 0.1)
    results["steps"] = np.array([float(step(batch)) for _ in range(3)])
    links = link_rows(Sequences.of(LINKS), np.arange(3), (*batch.target_out.shape, batch.source.shape[1]))
    results["guided"] = np.array(
        [[float(loss) for loss in step.guided(GuidedBatch(*batch, links), weight)] for weight in (1.0, 0.5)]
    )
    averages = averaged_arrays(model, optimizer)
    results["averages"] = np.concatenate([array.ravel() for array in averages.values()])
    results["scaled"] = steps_with_scaled_losses(model, weights, batch)
    return results


def later_scores(model: Any, weights: dict[str, np.ndarray]) -> np.ndarray:
    """Log-probabilities by one compiled program before and after a change of the weights.

    Training changes the weights in this way between two validations.
    """
    from nmt.network.weights import assign_arrays
    from nmt.translation.inference.model_inference import ModelInference

    engine, found = ModelInference(model), []
    for share in (1.0, 0.5):
        changed = {name: np.asarray(share * array, np.float32) for name, array in weights.items()}
        assign_arrays(model.trainable_variables, changed, "weights")
        found += [scored.piece_log_probabilities.sum() for scored in engine.score(SOURCES, TARGETS)]
    assign_arrays(model.trainable_variables, weights, "weights")
    assert not np.allclose(found[:3], found[3:], atol=0.1)
    return np.array(found)


def steps_with_scaled_losses(model: Any, weights: dict[str, np.ndarray], batch: Any) -> np.ndarray:
    """All weights after one step with each of two loss scales; the program was compiled with the first scale."""
    import keras

    from nmt.network.weights import assign_arrays
    from nmt.training.step import TrainStep

    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1), initial_scale=1024)
    optimizer.build(model.trainable_variables)
    step, found = TrainStep(model, optimizer, 0.1), []
    for scale in (1024, 256):
        assign_arrays(model.trainable_variables, weights, "weights")
        optimizer.dynamic_scale.assign(scale)
        step(batch)
        found.append(np.concatenate([np.ravel(keras.ops.convert_to_numpy(v)) for v in model.trainable_variables]))
    return np.stack(found)


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="jax is not installed: pip install -e .[jax]")
@pytest.mark.parametrize("kind", ["rnn", *KINDS])
def test_jax_and_tensorflow_give_equal_results(tmp_path: Path, kind: str) -> None:
    weights = drawn(kind)
    np.savez(tmp_path / "weights.npz", **weights)
    command = [sys.executable, __file__, kind, str(tmp_path / "weights.npz"), str(tmp_path / "jax.npz")]
    paths = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as other:
        expected = compute(kind, weights)  # meanwhile
        _, errors = other.communicate()
    assert other.returncode == 0, errors
    with np.load(tmp_path / "jax.npz") as found:
        assert str(found["backend"]) == "jax"
        assert {*found.files} == {*expected, "backend"}
        for name, value in expected.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-4, err_msg=name)
    if kind == "rnn":  # the gradient is divided by the scale of the loss
        np.testing.assert_allclose(*expected["scaled"], atol=1e-6)
    assert expected["steps"][-1] < expected["steps"][0]
    assert len({len(row[row >= 0]) for row in expected["ids"]}) == 3


if __name__ == "__main__":
    import keras

    with np.load(sys.argv[2]) as arrays:
        np.savez(sys.argv[3], backend=np.array(keras.backend.backend()), **compute(sys.argv[1], dict(arrays)))
