"""Validation: loss, BLEU and alignment error rate of the averaged weights."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from nmt.batches.arrays import Batch
from nmt.config import SearchConfig
from nmt.run.arrays import load_arrays
from nmt.text.pairs import Pair
from nmt.training import validation
from nmt.training.optimizer import AVERAGED_EVERY
from nmt.training.trainer import Trainer


@pytest.mark.parametrize(("passes", "every"), [(3, 1), pytest.param(50, AVERAGED_EVERY, marks=pytest.mark.slow)])
def test_averaged_weights_are_validated_and_saved(trainer, passes, every):
    """An epoch has 10 batches: every update of a short run enters the average, and every eighth of a long one."""
    one = trainer(ema=0.95, passes=passes)
    expected: list[np.ndarray] = []
    for t in range(10):
        one._step(first_batch(one))
        if t % every:
            continue
        taken = t // every
        decay = min(0.95**every, taken / (taken + 19))
        now = [np.asarray(v.value) for v in one.model.trainable_variables]
        # The average begins with the weights of the first step.
        expected = [decay * old + (1 - decay) * new for old, new in zip(expected or now, now, strict=True)]
    one._validate()
    best = load_arrays(one.prepared.run.directory / "best.npz")
    for name, average in zip(best, expected, strict=True):
        np.testing.assert_allclose(best[name], average, atol=1e-6, err_msg=name)
    for variable, average in zip(one.validation.model.trainable_variables, expected, strict=True):
        np.testing.assert_allclose(np.asarray(variable.value), average, atol=1e-6)


def first_batch(trainer: Trainer) -> Batch:
    return trainer.prepared.train.batch(next(trainer.plan.batches(0)))


def test_validation_measures_loss_bleu_and_alignment_error(trainer, corpus):
    one = trainer()
    measured = validation.measure(one.validation.translator, one.prepared.validation)
    assert list(measured) == ["loss", "bleu", "chrf", "aer"]
    assert measured["loss"] == pytest.approx(mean_loss(one, one.prepared.validation), rel=1e-5)
    without = [pair._replace(alignment=None) for pair in one.prepared.validation]
    assert list(validation.measure(one.validation.translator, without)) == ["loss", "bleu", "chrf"]


def mean_loss(trainer: Trainer, pairs: list[Pair], longest: int | None = None) -> float:
    """Cross-entropy per target piece, computed sentence by sentence from the logits of the model.

    Args:
        longest: pieces of a target that count, in which case its end does not; None: all of them and the end.
    """
    run, total, tokens = trainer.prepared.run, 0.0, 0
    for pair in pairs:
        source, target = run.source.encode([pair.source])[0] + [3], run.target.encode([pair.target])[0] + [3]
        logits = np.asarray(trainer.validation.model(np.array([source]), np.array([[2, *target[:-1]]]))[0][0])
        probabilities = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(axis=-1, keepdims=True)
        total -= sum(math.log(probabilities[i, piece]) for i, piece in enumerate(target[:longest]))
        tokens += len(target[:longest])
    return total / tokens


def test_the_loss_is_a_mean_over_the_pieces_that_were_scored(trainer):
    """A target longer than any translation is cut: the pieces behind the cut do not count, and the cut is no end."""
    one = trainer()
    search = replace(one.validation.translator.config.search, max_source=6)  # 22 pieces of a target are read
    one.validation.translator.config = replace(one.validation.translator.config, search=search)
    long = Pair("ba be", " ".join(["abo", "ebo"] * 30))
    assert validation.measure(one.validation.translator, [long])["loss"] == pytest.approx(
        mean_loss(one, [long], longest=22), rel=1e-5
    )


def test_validation_is_greedy_whatever_the_search_settings(trainer):
    one = trainer()
    expected = validation.measure(one.validation.translator, one.prepared.validation)
    sampling = replace(one.validation.translator.config, search=SearchConfig(method="sample", temperature=5.0))
    one.validation.translator.config = sampling
    assert validation.measure(one.validation.translator, one.prepared.validation) == expected


def test_a_pair_too_long_to_draw_has_no_image(trainer, monkeypatch):
    made = trainer()
    made.validation.pairs = [Pair("ba", " ".join(["ba"] * (validation.MOST_IMAGE_WORDS + 1)))]
    assert made.validation.alignment_image() is None
    # A language without spaces, whose words are its characters.
    made.validation.translator.run.target.words = list
    monkeypatch.setattr(validation, "heatmap", pytest.fail)
    monkeypatch.setattr(made.validation.translator, "align", pytest.fail)
    made.validation.pairs = [Pair("ba", "b" * (validation.MOST_IMAGE_WORDS + 1))]
    assert made.validation.alignment_image() is None
