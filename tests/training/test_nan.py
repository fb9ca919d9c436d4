"""A NaN anywhere in a training ends it, and everything saved before stays as it was."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
from short_runs import config, let_validations_find

from nmt.config import RunConfig
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.training.errors import TrainingError
from nmt.training.pending_losses import PendingLosses
from nmt.training.state import TrainingState
from nmt.training.trainer import train

ROOT = Path(__file__).parents[2]
SAVED = 4
"""Step of the checkpoint before the NaN."""
SPOILT = 6
"""Step in which the NaN comes."""


@pytest.mark.parametrize("place", ["momentum", "velocity", "average"])
@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_moments_and_averages_that_are_not_finite_are_not_saved(
    place: str, value: float, corpus: Path, tmp_path: Path, counting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def spoiling(model: Any, optimizer: Any, *arguments: Any) -> Callable[[Any], float]:
        plain = counting(model, optimizer, *arguments)

        def step(batch: Any) -> float:
            if int(optimizer.iterations) + 1 == SPOILT:
                variable = next(variable for variable in optimizer.variables if place in variable.path)
                variable.assign(np.full(variable.shape, value, np.float32))
            return plain(batch)

        return step

    monkeypatch.setattr("nmt.training.trainer.TrainStep", spoiling)
    with pytest.raises(TrainingError, match="^step 8: weights are NaN or infinite"):
        train(config(corpus, tmp_path, checkpoints={"every": SAVED}, ema=0.5))
    run = Run.open(tmp_path / "run")
    assert [path.name for path in run.checkpoints()] == ["000000004.npz"]
    require_finite_files(run)


def require_finite_files(run: Run) -> None:
    """Requires that all numbers in the files of a run are finite."""
    for path in [*run.checkpoints(), *([run.best] if run.best.exists() else [])]:
        for name, array in load_arrays(path).items():
            assert array.dtype.kind == "U" or np.isfinite(array).all(), (path, name)


class Spoiler:
    """A training that can be run again and again from its checkpoint, each time with a NaN in another place.

    The step is compiled once. On TensorFlow it adds `addends`, zero or NaN, to each gradient and each reported loss.
    """

    def __init__(self, trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.trainer, self.run = trainer, trainer.prepared.run
        self.weights = trainer.model.trainable_variables
        self.by_step: list[str] = []
        """Gradients and losses, by the place of their addend."""
        self.addends: Any = None
        self.before_step: dict[int, Callable[[], None]] = {}
        self.saved: dict[str, bytes] = {}
        self.validation_addend = 0.0
        if keras.backend.backend() == "tensorflow":
            self._wrap(trainer.train_step, monkeypatch)
        self._wrap_validation(trainer.validation, monkeypatch)
        train_one = trainer._step

        def counted(batch: Any) -> None:
            if trainer.state.step == SAVED and not self.saved:
                self.saved = self.files()
            self.before_step.get(trainer.state.step + 1, lambda: None)()
            train_one(batch)

        monkeypatch.setattr(trainer, "_step", counted)

    def _wrap(self, step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        import tensorflow as tf

        losses = ["loss", *(["attention loss"] if self.trainer.guided else [])]
        self.by_step = [*(f"gradient {weight.path}" for weight in self.weights), *losses]
        self.addends = tf.Variable(np.zeros(len(self.by_step), np.float32))
        plain = step.gradients

        def gradients(losses: Any, inputs: Any) -> Any:
            reported, found = plain(losses, inputs)
            addends = tf.unstack(self.addends)
            by_loss = addends[len(found) :]
            spoilt = [one + tf.cast(by, one.dtype) for one, by in zip(found, addends, strict=False)]
            return tuple(one + by for one, by in zip(reported, by_loss, strict=True)), spoilt

        monkeypatch.setattr(step, "gradients", gradients)

    def _wrap_validation(self, validation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        plain = validation.measure

        def measure(weights: Any) -> dict[str, float]:
            measured: dict[str, float] = plain(weights)
            return measured | {"loss": measured["loss"] + self.validation_addend}

        monkeypatch.setattr(validation, "measure", measure)

    def files(self) -> dict[str, bytes]:
        root = self.run.directory
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file() and "tensorboard" not in path.parts
        }

    def resume(self) -> None:
        """Trains to the end from the files that were there at `SAVED`."""
        from nmt.training.checkpoints import newest_checkpoint
        from nmt.training.history import History
        from nmt.training.pending_losses import PendingLosses

        for path in (self.run.directory / name for name in self.files() if name not in self.saved):
            path.unlink()
        for name, content in self.saved.items():
            (self.run.directory / name).write_bytes(content)
        trainer, checkpoint = self.trainer, newest_checkpoint(self.run, print)
        assert checkpoint is not None and checkpoint.state.step == SAVED
        checkpoint.restore(trainer._variables)
        trainer.state = checkpoint.state
        trainer.losses = PendingLosses(self.run, trainer.state)
        trainer.history = History(self.run, SAVED, trainer.guided, trainer.steps_per_epoch, print)
        if self.addends is not None:
            self.addends.assign(np.zeros(self.addends.shape, np.float32))
        self.validation_addend = 0.0
        trainer.run()

    def final_weights(self) -> list[np.ndarray]:
        return [weight.numpy() for weight in self.weights]

    def places(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """Each place, and the function that puts a NaN there."""
        for variable in self.trainer._variables:
            if "float" in variable.dtype:
                yield f"variable {variable.path}", lambda variable=variable: self._spoil(variable)
        for place, name in enumerate(self.by_step):
            yield name, lambda place=place: self._add(place)
        yield "validation loss", self._spoil_validation

    def overlooked(self, places: Iterable[tuple[str, Callable[[], None]]]) -> list[str]:
        """Trains with a NaN in each of these places; returns those that did not end the training."""
        found = []
        for name, spoil in places:
            self.before_step = {SPOILT: spoil}
            try:
                self.resume()
                found.append(name)
            except TrainingError:
                changed = [path for path, content in self.saved.items() if self.files().get(path) != content]
                assert set(changed) <= {"history.csv", "manifest.json", "best.npz"}, (name, changed)
            require_finite_files(self.run)
        self.before_step = {}
        return found

    def _add(self, place: int) -> None:
        addends = self.addends.numpy()
        addends[place] = math.nan
        self.addends.assign(addends)

    def _spoil_validation(self) -> None:
        self.validation_addend = math.nan

    @staticmethod
    def _spoil(variable: Any) -> None:
        value = np.array(variable.numpy())
        value[tuple(length - 1 for length in value.shape)] = math.nan
        variable.assign(value)


TRANSFORMER = {
    "architecture": "transformer",
    "transformer": {"heads": 2, "feed_forward": 32, "encoder_layers": 1, "decoder_layers": 1},
}
GUIDED = {"guided": {"links": "train.align"}}
FLOAT16 = {"precision": "mixed_float16"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "Transformer": (TRANSFORMER, {}),
    "LSTM decoder": ({"cell": "lstm"}, {}),
    "guided": ({}, GUIDED),
    "accumulating": ({}, {"accumulate": 2}),
    "float16": ({}, FLOAT16),
    "guided Transformer, accumulating, float16": (TRANSFORMER, {**GUIDED, "accumulate": 2, **FLOAT16}),
}
"""Changes of the model and of the training."""


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_nan_in_any_weight_moment_gradient_or_loss(
    case: str, corpus: Path, tmp_path: Path, trainer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One entry of each array. A NaN in a gradient of float16 alone does not end the training: that update is left
    out."""
    monkeypatch.chdir(corpus)
    model, changes = CASES[case]
    spoiler = Spoiler(
        trainer(passes=1, checkpoints={"every": SAVED, "keep": 3}, ema=0.5, model=model, **changes), monkeypatch
    )
    spoiler.trainer.run()
    expected = spoiler.final_weights()
    places = list(spoiler.places())
    mended = [name for name, _ in places if name.startswith("gradient ") and "precision" in changes]
    assert spoiler.overlooked(places) == mended and len(places) > 10
    spoiler.resume()
    for one, other in zip(spoiler.final_weights(), expected, strict=True):
        np.testing.assert_array_equal(one, other)


ON_JAX = """
import json
from pathlib import Path

import copy_task
import pytest
from short_runs import make_trainer
from test_nan import SAVED, Spoiler

place = Path(".")
copy_task.write_corpus(place, train=200, validation=8)
trainer = make_trainer(place, place, passes=1, checkpoints={"every": SAVED, "keep": 3}, ema=0.5)
spoiler = Spoiler(trainer, pytest.MonkeyPatch())
spoiler.trainer.run()
expected = spoiler.final_weights()
places = list(spoiler.places())[::-7]
overlooked = spoiler.overlooked(places)
spoiler.resume()
same = all((one == other).all() for one, other in zip(spoiler.final_weights(), expected, strict=True))
print(json.dumps([[name for name, _ in places], overlooked, same]))
"""


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="jax is not installed: pip install -e .[jax]")
def test_a_nan_on_jax(tmp_path: Path) -> None:
    """In every seventh weight, moment or average, or in the validation loss."""
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "tests", "tests/training"))
    environment = {**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu", "PYTHONPATH": paths}
    ran = subprocess.run([sys.executable, "-c", ON_JAX], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    places, overlooked, same = json.loads(ran.stdout)
    assert overlooked == [] and same
    for kind in ("validation loss", "momentum", "velocity", "average", "seq2seq/"):
        assert any(kind in place for place in places), kind


@pytest.mark.parametrize("first", [True, False])
def test_a_validation_loss_that_is_not_a_number_ends_the_training(
    first: bool, corpus: Path, tmp_path: Path, counting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint with such a loss could not be read again."""
    losses = [math.nan] if first else [1.0, math.inf]
    let_validations_find(monkeypatch, [1.0, 2.0], losses)
    with pytest.raises(TrainingError, match=f"^step {4 * len(losses)}: the validation loss is {losses[-1]}, "):
        train(config(corpus, tmp_path, validate_every=4, passes=1))
    run = Run.open(tmp_path / "run")
    assert [path.name for path in run.checkpoints()] == ([] if first else ["000000004.npz"])
    require_finite_files(run)


def test_an_attention_loss_that_is_not_a_number_ends_the_training(tmp_path: Path) -> None:
    run: Any = SimpleNamespace(directory=tmp_path, config=RunConfig())
    losses = PendingLosses(run, TrainingState())
    losses.put(3, 1.0, math.nan)
    with pytest.raises(TrainingError, match="^step 3: the attention loss is nan, "):
        losses.settle()


@pytest.mark.parametrize(("scale", "ends"), [(2.0**-24, False), (2.0**-25, True), (0.0, True), (math.nan, True)])
def test_float16_gradients_that_overflow_at_each_step_end_it(scale: float, ends: bool, tmp_path: Path) -> None:
    """The optimizer halves the loss scale and leaves out the update, for ever; the loss itself stays finite."""
    from nmt.training.divergence import require_loss_scale

    run = SimpleNamespace(directory=tmp_path, config=RunConfig())
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())
    optimizer.build([keras.Variable(np.ones(2, np.float32))])
    optimizer.dynamic_scale.assign(scale)
    require_loss_scale(optimizer.inner_optimizer, run, 7)
    with pytest.raises(TrainingError, match="^step 7: gradients overflow float16") if ends else nullcontext():
        require_loss_scale(optimizer, run, 7)
