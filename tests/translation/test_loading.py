"""Which weights a translator loads, and which models translate together."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import copy_task
import numpy as np
import pytest
from demo_sides import lines, profile, vocabularies
from same_translations import same

import nmt
from nmt.config import CorpusConfig, RunConfig
from nmt.run.arrays import load_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.text_profile import save_profile
from nmt.text.swapped_sides import measure_profile
from nmt.translation.loading import _require_one_direction
from nmt.translation.translator import Translator

SENTENCES = copy_task.sentences(5, seed=5, longest=9)


@pytest.fixture(scope="module")
def directory(copier_run) -> Path:
    return copier_run


def run(directory: Path, source: str = "und-Latn", target: str = "und-Latn") -> Run:
    corpus = CorpusConfig(source_language=source, target_language=target)
    return Run(directory, RunConfig(corpus=corpus), vocabularies().source, vocabularies().target)


@pytest.mark.parametrize(
    ("languages", "refused"),
    [(("en", "fr"), False), (("und-Latn", "fr"), False), (("fr", "en"), True), (("en", "de"), True)],
)
def test_models_of_an_ensemble_have_one_pair_of_languages(tmp_path, languages, refused):
    runs = [run(tmp_path / "one", "en", "fr"), run(tmp_path / "two", *languages)]
    if not refused:
        _require_one_direction(runs, None)
        return
    with pytest.raises(RunError, match=r"one is from en to fr, and .*two is from \w+ to \w+: an ensemble needs"):
        _require_one_direction(runs, None)


@pytest.mark.parametrize("exchanged", [False, True])
def test_the_text_shows_the_direction_of_unknown_languages(tmp_path, exchanged):
    runs = [run(tmp_path / "one"), run(tmp_path / "two")]
    pairs = list(zip(lines("test.en", 300), lines("test.fr", 300), strict=True))
    text = [(target, source) for source, target in pairs] if exchanged else pairs
    (tmp_path / "two").mkdir()
    save_profile(tmp_path / "two", measure_profile(text, vocabularies()))
    if not exchanged:
        _require_one_direction(runs, profile())
        return
    with pytest.raises(RunError, match=r"two translates in the opposite direction of .*one: an ensemble needs models"):
        _require_one_direction(runs, profile())


def test_run_without_weights_is_refused(directory, tmp_path):
    for name in ("config.json", "shared.model"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    with pytest.raises(
        RunError, match=r"has no best\.npz yet, which training saves when it validates: continue with nmt train"
    ):
        Translator.load(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"units": 32', '"units": 16', r"config\.json says model\.units 16, best\.npz has 32"),
        ('"cell": "gru"', '"cell": "lstm"', r"best\.npz: has an array .*, which the model does not have"),
    ],
)
def test_weights_of_another_model_are_refused(old, new, message, directory, tmp_path):
    for name in ("config.json", "shared.model", "best.npz"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    config = (tmp_path / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace(old, new))
    with pytest.raises(ValueError, match=message):
        Translator.load(tmp_path)


def test_an_ensemble_of_a_run_with_itself_translates_like_the_run(directory):
    translator, both = Translator.load(directory), Translator.load(directory, directory)
    assert all(map(same, translator.translate(SENTENCES), both.translate(SENTENCES)))


@pytest.mark.slow
def test_an_ensemble_needs_one_vocabulary(directory, tmp_path):
    config = Run.open(directory).config
    symbols = replace(config.vocabulary, symbols=("<new>",), size=config.vocabulary.size + 1)
    other = replace(config, name="other", directory=str(tmp_path), vocabulary=symbols)
    nmt.train(replace(other, training=replace(config.training, passes=1)))
    with pytest.raises(RunError, match="has other vocabularies than"):
        Translator.load(directory, tmp_path / "other")


def test_the_mean_of_the_newest_checkpoints(directory):
    """The run keeps one checkpoint, which is its own mean; a mean of two is refused."""
    run = Run.open(directory)
    arrays = load_arrays(run.checkpoints()[-1])
    translator = Translator.load(directory, checkpoints=1)
    weights = {v.path: np.array(v.value) for v in translator.inference.models[0].trainable_variables}
    assert len(weights) > 10
    for path, value in weights.items():
        np.testing.assert_array_equal(value, arrays[path])
    with pytest.raises(RunError, match=r"keeps 1 checkpoint, 2 are needed: train with --training\.checkpoints\.keep 2"):
        Translator.load(directory, checkpoints=2)


def test_a_checkpoint_translates_before_there_are_best_weights(directory, tmp_path):
    shutil.copytree(directory, tmp_path / "early")
    (tmp_path / "early" / "best.npz").unlink()
    with pytest.raises(RunError, match=r"early has no best.npz yet, .*, --checkpoints 1$"):
        Translator.load(tmp_path / "early")
    early, whole = (Translator.load(place, checkpoints=1) for place in (tmp_path / "early", directory))
    assert all(map(same, early.translate(SENTENCES), whole.translate(SENTENCES)))


def test_checkpoints_of_another_model_are_refused(directory, tmp_path):
    shutil.copytree(directory, tmp_path / "other")
    (tmp_path / "other" / "manifest.json").unlink()  # it would name the changed file first
    config = (tmp_path / "other" / "config.json").read_text()
    (tmp_path / "other" / "config.json").write_text(config.replace('"coverage": false', '"coverage": true', 1))
    with pytest.raises(RunError, match=r"\.npz: has no array .*, so it belongs to another model than config\.json"):
        Translator.load(tmp_path / "other", checkpoints=1)
