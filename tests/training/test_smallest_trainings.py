"""The smallest text that can be trained on, and weights so small that they round to subnormal numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import copy_task
import keras
import numpy as np
import pytest

from nmt.batches.arrays import Batch
from nmt.config import RunConfig, VocabularyConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.text.pieces import BOS, EOS, PAD
from nmt.text.tokenizer import Tokenizer
from nmt.training.step import TrainStep
from nmt.training.trainer import train
from nmt.translation.translator import Translator

BATCH = Batch(
    np.array([[4, 7, EOS], [6, EOS, PAD]], np.int32),
    np.array([[BOS, 5], [BOS, PAD]], np.int32),
    np.array([[5, EOS], [EOS, PAD]], np.int32),
)


WORD, SWAPPED = [("a", "b")], [("ab", "ba"), ("ba", "ab")]
LEAST = {"word": 6, "char": 7, "unigram": 7, "bpe": 7}
"""Pieces of both texts: four special pieces, with two words, or with two letters and the space."""
TRANSFORMER = {
    "architecture": "transformer",
    "transformer": {"heads": 4, "feed_forward": 64, "encoder_layers": 1, "decoder_layers": 1},
}


def config(directory: Path, vocabulary: dict[str, Any], pairs: list[tuple[str, str]], **model: Any) -> RunConfig:
    """A training on these pairs, which are its validation set too."""
    for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
        for name in ("train", "validation"):
            copy_task.write_lines(directory / f"{name}.{side}", list(lines))
    copy_task.write_lines(directory / "validation.align", ["0-0"] * len(pairs))
    training = {"passes": 150, "patience": 0, "ema": 0.0, "validate_every": 50}
    return copy_task.config(directory, vocabulary=vocabulary, training=training, model=model)


def require_learned(made: RunConfig, pairs: list[tuple[str, str]], size: int) -> None:
    run = Run.open(train(made).directory)
    assert run.source.size == size
    sources, targets = zip(*pairs, strict=True)
    found = [translation.text for translation in Translator.load(str(run.directory)).translate(list(sources))]
    assert found == list(targets)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pairs", "model"),
    [(WORD, {}), (SWAPPED, {}), (WORD, TRANSFORMER)],
    ids=["one pair", "two pairs", "one pair, Transformer"],
)
@pytest.mark.parametrize("kind", LEAST)
def test_pairs_of_one_word_are_learned_with_the_smallest_vocabulary(
    kind: str, pairs: list[tuple[str, str]], model: dict[str, Any], tmp_path: Path
) -> None:
    require_learned(config(tmp_path, {"type": kind, "size": LEAST[kind]}, pairs, **model), pairs, LEAST[kind])


@pytest.mark.slow
def test_one_word_that_is_its_own_translation_needs_five_pieces(tmp_path: Path) -> None:
    require_learned(config(tmp_path, {"type": "word", "size": 5}, [("a", "a")]), [("a", "a")], 5)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_size_that_a_refusal_names_is_accepted(kind: str) -> None:
    """The smallest text: one letter, which has a piece with the space in front or not."""
    for text, least, most in (("a", 6, 7), ("ab", 7, 8)):
        sentences = [text, text]
        with pytest.raises(NmtError, match=r"at least (\d+) and at most (\d+)") as refused:
            Tokenizer.train(sentences, VocabularyConfig(type=kind, size=20))
        found = [int(number) for number in re.findall(r"at (?:least|most) (\d+)", str(refused.value))]
        assert found[0] == least and found[1] >= most - (kind == "unigram")
        for size in found:
            assert Tokenizer.train(sentences, VocabularyConfig(type=kind, size=size)).size == size


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
