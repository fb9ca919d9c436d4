"""The smallest text that can be trained on, and weights so small that they round to subnormal numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import copy_task
import keras
import numpy as np
import pytest

from nmt.batches.arrays import Batch
from nmt.config import RunConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.text.pieces import BOS, EOS, PAD
from nmt.training.step import TrainStep
from nmt.training.trainer import train
from nmt.translation.translator import Translator

BATCH = Batch(
    np.array([[4, 7, EOS], [6, EOS, PAD]], np.int32),
    np.array([[BOS, 5], [BOS, PAD]], np.int32),
    np.array([[5, EOS], [EOS, PAD]], np.int32),
)


def config(directory: Path, size: int, pairs: list[tuple[str, str]]) -> RunConfig:
    """A training on these pairs, which are its validation set too."""
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        for name in ("train", "validation"):
            copy_task.write_lines(directory / f"{name}.{side}", list(lines))
    copy_task.write_lines(directory / "validation.align", ["0-0"] * len(pairs))
    training = {"passes": 150, "patience": 0, "ema": 0.0, "validate_every": 50}
    return copy_task.config(directory, vocabulary={"size": size}, training=training)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [[("ab", "ba")], [("a", "b")], [("ab", "ba"), ("ba", "ab")]])
def test_one_pair_of_one_word_is_learned_with_the_smallest_vocabulary(
    pairs: list[tuple[str, str]], tmp_path: Path
) -> None:
    with pytest.raises(NmtError, match=r"at least (\d+)") as refused:
        train(config(tmp_path, 4, pairs))
    least = int(re.findall(r"at least (\d+)", str(refused.value))[0])
    run = Run.open(train(config(tmp_path, least, pairs)).directory)
    sources, targets = zip(*pairs, strict=True)
    found = [translation.text for translation in Translator.load(str(run.directory)).translate(list(sources))]
    assert found == list(targets)


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16"])
@pytest.mark.parametrize("scale", [1e-40, 1e-7, 0.0])
def test_weights_that_round_to_subnormal_numbers_give_finite_losses_and_updates(
    scale: float, dtype: str, make_model: Callable
) -> None:
    model = make_model(dtype=dtype)
    for variable in model.trainable_variables:
        variable.assign(np.array(variable) * scale)
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.build(model.trainable_variables)
    loss = float(TrainStep(model, optimizer, 0.0)(BATCH))
    assert loss == pytest.approx(np.log(12), abs=1e-3)  # all 12 pieces are as probable
    assert all(np.isfinite(np.array(variable)).all() for variable in model.trainable_variables)
    assert np.abs(np.array(model.output_bias)).max() > 0.05
