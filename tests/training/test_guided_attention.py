"""Guided alignment: attention learns from word links."""

from __future__ import annotations

import math
import os
import signal
from typing import Any

import copy_task
import numpy as np
import pytest
from short_runs import CountingStep, config, guided, history, let_validations_find

from nmt.run.arrays import load_arrays
from nmt.training.step import TrainStep
from nmt.training.trainer import train
from nmt.training.validation import Validation


def test_the_weight_of_the_links_decays_from_epoch_to_epoch(corpus, tmp_path, monkeypatch):
    weights: list[float] = []

    class Step(CountingStep):
        def __call__(self, *arguments: Any) -> Any:
            plain = super().__call__(*arguments)

            def step(batch: Any, weight: float) -> tuple[float, float]:
                weights.append(weight)
                return plain(batch[:3]), 2.0

            plain.guided = step
            return plain

    monkeypatch.setattr("nmt.training.trainer.TrainStep", Step({}))
    monkeypatch.setattr(Validation, "alignment_image", lambda self: np.zeros((2, 2, 3), np.uint8))
    let_validations_find(monkeypatch, range(9))
    settings = guided(corpus, tmp_path, "run", str(corpus / "train.align"), guided={"weight": 0.8, "decay": 0.5})
    result = train(settings)
    assert sorted(set(weights), reverse=True) == [0.8, 0.4, 0.2]
    assert [row["guided_loss"] for row in history(result)] == ["2.0", "2.0", "2.0"]


@pytest.mark.slow
def test_a_guided_run_resumes_with_the_same_results_to_the_bit(corpus, tmp_path, monkeypatch, capsys):
    """The interruption is within an epoch. The history has both losses, and the attention's loss falls."""
    links = str(corpus / "train.align")
    whole = train(guided(corpus, tmp_path, "whole", links, deterministic=True, passes=2, log_every=5))
    assert "  attention " in capsys.readouterr().err
    rows = history(whole)
    assert list(rows[0])[:4] == ["pass", "step", "train_loss", "guided_loss"]
    losses = [float(row["guided_loss"]) for row in rows]
    assert losses[1] < losses[0] < math.log(7)  # attention begins nearly uniform over at most 7 positions
    real, after = TrainStep.guided, [4]

    def step(self: Any, *arguments: Any) -> Any:
        after[0] -= 1
        if after[0] == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, *arguments)

    monkeypatch.setattr(TrainStep, "guided", step)
    settings = guided(corpus, tmp_path, "parts", links, deterministic=True, passes=2, log_every=5)
    assert not train(settings).finished
    parts = train(settings)
    expected, found = (load_arrays(run.directory / "best.npz") for run in (whole, parts))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)
    recorded = [[(row["train_loss"], row["guided_loss"]) for row in history(run)] for run in (whole, parts)]
    assert recorded[0] == recorded[1]


@pytest.mark.slow
def test_guided_attention_lowers_the_alignment_error(tmp_path):
    """The same short training with and without links; the gold links of the validation pairs only measure."""
    copy_task.write_corpus(tmp_path, train=600, validation=30)
    fields = {"passes": 3, "batch_tokens": 200, "ema": 0.0}
    plain = train(config(tmp_path, tmp_path, "plain", **fields))
    links = str(tmp_path / "train.align")
    led = train(guided(tmp_path, tmp_path, "led", links, guided={"weight": 1.0}, **fields))
    errors = [float(history(run)[-1]["validation_aer"]) for run in (plain, led)]
    assert errors[1] < 0.6 * errors[0]
