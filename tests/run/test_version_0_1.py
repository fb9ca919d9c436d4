"""Runs of version 0.1 open, translate, score and resume as they did then, for each architecture."""

from __future__ import annotations

import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nmt
from nmt.network.weights import named_arrays
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run

SAVED = Path(__file__).parent / "version_0_1"


@pytest.fixture(scope="module", params=["rnn", "mixed", "transformer"])
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the run directory that version 0.1 wrote."""
    copy = tmp_path_factory.mktemp("version_0_1") / request.param
    with tarfile.open(SAVED / request.param / "run.tar.xz") as archive:
        archive.extractall(copy, filter="data")
    return copy


@pytest.fixture
def record(directory: Path) -> dict[str, Any]:
    """The translations and log-probabilities that version 0.1 gave."""
    return json.loads((SAVED / directory.name / "translations.json").read_text(encoding="utf-8"))


def test_its_sentences_get_the_same_translations_and_log_probabilities(directory: Path, record: dict[str, Any]) -> None:
    assert Run.open(directory).config.model.architecture == directory.name
    translator = nmt.Translator.load(directory)
    assert [found.text for found in translator.translate(record["source"])] == record["translations"]
    scored = [found.log_probability for found in translator.align(record["source"], record["target"])]
    np.testing.assert_allclose(scored, record["log_probabilities"], atol=1e-4)


@pytest.mark.slow
def test_its_checkpoint_translates(directory: Path, record: dict[str, Any]) -> None:
    translator = nmt.Translator.load(directory, checkpoints=1)
    weights = named_arrays(load_arrays(Run.open(directory).checkpoints()[0]))
    for variable in translator.inference.models[0].trainable_variables:
        np.testing.assert_array_equal(np.asarray(variable.value), weights[variable.path])
    assert len(list(translator.translate(record["source"]))) == len(record["source"])


@pytest.mark.slow
def test_its_training_resumes(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One epoch more, from the checkpoint's weights, averages and moments of Adam."""
    run = Run.open(directory)
    (before,) = run.checkpoints()
    training = replace(run.config.training, passes=run.config.training.passes + 1, validate_every=0)
    result = nmt.train(replace(run.config, name=directory.name, directory=str(directory.parent), training=training))
    assert (result.finished, result.steps) == (True, 755)
    assert "step 750" in capsys.readouterr().err
    (after,) = run.checkpoints()
    assert (before.name, after.name) == ("000000750.npz", "000000755.npz")
    losses = [float(row["train_loss"]) for row in run.read_history()]
    assert losses[-1] < 2 * losses[-2]  # a lost moment or weight would raise the loss to that of the first steps
    assert losses[-1] < losses[0] / 3
