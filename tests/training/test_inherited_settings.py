"""Fine-tuning: the settings that come from the initial run, and what is left of its model."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import copy_task
import pytest

from nmt.config import ConfigError, ModelConfig, RunConfig, TrainingConfig, VocabularyConfig, config_to_dict
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer
from nmt.training.inherited_settings import UPDATES, fit_epochs
from nmt.training.settings import load_config

SCHEDULE = {"learning_rate": 0.01, "warmup_steps": 20, "decay": "constant"}


@pytest.fixture
def initial(tmp_path) -> Run:
    """A run on the copy task that has not been trained; the settings are all that counts."""
    from nmt.training.preparation.prepare import prepare

    copy_task.write_corpus(tmp_path, train=60, validation=5)
    changes: dict[str, Any] = {
        "training": {"schedule": SCHEDULE, "label_smoothing": 0.2, "seed": 5, "batch_tokens": 500, "metric": "last"},
        "search": {"length_penalty": 0.3},
    }
    return prepare(copy_task.config(tmp_path, **changes), "float32", lambda line: None).run


def tuned(initial: Run, *flags: str, pairs: int = 30, said: list[str] | None = None, recipe: str = "") -> Any:
    """The configuration of a fine-tuning on so many pairs, of which no two are near-duplicates."""
    place = initial.directory.parent
    for side in ("source", "target"):
        copy_task.write_lines(place / f"new.{side}", [f"{side}{n} ba" for n in range(pairs)])
    new = [f"--corpus.train.{side}={place}/new.{side}" for side in ("source", "target")]
    directory = ["--directory", str(place), "--name", "tuned"]
    say = (lambda line: None) if said is None else said.append
    return load_config(None, [*new, *directory, f"--training.initial={initial.directory}", *flags], recipe, say)


def test_network_vocabulary_search_and_a_tenth_of_the_rate_come_from_the_initial_run(initial):
    said: list[str] = []
    config = tuned(initial, said=said)
    assert config.model == initial.config.model
    assert config.search == initial.config.search
    assert config.vocabulary.run == str(initial.directory)
    assert config.vocabulary.shared == initial.config.vocabulary.shared
    assert (config.training.schedule.learning_rate, config.training.schedule.decay) == (0.001, "constant")
    assert (config.training.label_smoothing, config.training.seed) == (0.2, 1)
    assert config.training.metric == "bleu"  # the initial weights stay the best unless others are better
    assert said[0].endswith("its network, vocabulary and training settings, with a tenth of its learning rate, 0.001")
    assert said[1].startswith("4 pairs held out for validation, ")


def test_a_fine_tuning_that_has_begun_needs_its_initial_run_no_more(initial):
    begun = tuned(initial)
    place = initial.directory.parent / "tuned"
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config_to_dict(begun)), encoding="utf-8")
    shutil.rmtree(initial.directory)
    assert tuned(initial) == begun


def test_flags_override_each_setting(initial):
    flags = ["--training.schedule.learning_rate", "0.5", "--corpus.held_out", "7", "--training.passes", "2"]
    config = tuned(initial, *flags, "--training.batch_tokens", "64", "--model.dropout.embedding", "0.9")
    assert (config.training.schedule.learning_rate, config.corpus.held_out) == (0.5, 7)
    assert (config.training.passes, config.training.batch_tokens) == (2, 64)
    assert config.model.dropout.embedding == 0.9


def test_another_vocabulary_is_a_choice_with_a_warning(initial):
    same = tuned(initial, "--vocabulary.size", str(initial.config.vocabulary.size))
    assert same.vocabulary.run == str(initial.directory)
    for flags in (["--vocabulary.size", "30"], ["--vocabulary.run", ""]):
        said: list[str] = []
        config = tuned(initial, *flags, said=said)
        assert config.vocabulary.run == ""
        assert config.vocabulary.adapt_size == (flags[0] != "--vocabulary.size")
        assert f"{flags[0]} makes another vocabulary than that of {initial.directory}" in said[1]
        assert "its network and training settings" in said[0]
    named: list[str] = []
    config = tuned(initial, "--vocabulary.run", f"{initial.directory}/", said=named)
    assert config.vocabulary.run == f"{initial.directory}/"
    assert not any("makes another vocabulary" in line for line in named)


def test_a_named_recipe_trains_and_the_network_stays(initial):
    config, recipe = tuned(initial, recipe="10k"), load_config(recipe="10k")
    assert config.training.schedule == recipe.training.schedule
    assert config.model.dropout == recipe.model.dropout
    assert config.model.units == initial.config.model.units
    assert config.vocabulary.run == str(initial.directory)


def test_the_lines_have_the_settings_that_train(initial):
    said: list[str] = []
    config = tuned(initial, recipe="30k", said=said)
    assert said[0].endswith(
        "its network and vocabulary, the training settings and dropout of recipe 30k, with the learning rate 0.0015"
    )
    assert said[1].startswith("4 pairs held out for validation, 18 epochs of batches of 1,200 tokens; flags override")
    assert (config.training.passes, config.training.batch_tokens) == (18, 1200)
    said.clear()
    tuned(initial, "--training.schedule.learning_rate", "0.002", "--corpus.held_out", "7", said=said)
    assert said[0].endswith("its network, vocabulary and training settings, with the learning rate 0.002")
    assert said[1].startswith("7 pairs held out for validation, ")


def test_settings_are_checked_over_those_of_the_initial_run(tmp_path):
    """The defaults have one vocabulary for both languages."""
    settings = {"shared": False, "type": "word", "size": 8}
    config = RunConfig(model=ModelConfig(tie="target"), vocabulary=VocabularyConfig(**settings))
    pieces = Tokenizer.train(["a house"], config.vocabulary)
    separate = Run.create(tmp_path / "separate", config, pieces, pieces)
    vocabulary = tuned(separate, "--vocabulary.target_size", "9").vocabulary
    assert (vocabulary.shared, vocabulary.size, vocabulary.target_size, vocabulary.run) == (False, 8, 9, "")
    with pytest.raises(ConfigError, match="model.units is 7"):
        tuned(separate, "--model.units", "7")


def test_new_pairs_count_as_text(initial):
    """Epochs with four new pairs for each are five times as long."""
    flags = ["--corpus.held_out", "1", "--training.batch_tokens", "24"]
    said: list[str] = []
    passes = [
        tuned(initial, *flags, *more, pairs=100, said=said).training.passes
        for more in ([], ["--training.aligner", "true", "--training.recombine", "4"])
    ]
    assert passes[1] == pytest.approx(passes[0] / 5, abs=1)
    assert "4 new pairs for each pair, " in said[-1]


def test_held_out_pairs_are_no_part_of_the_batches(initial):
    """Half of the text in batches of the same size has half of the batches: twice the epochs for as many updates."""
    passes = [
        tuned(initial, "--training.batch_tokens", "24", *flags, pairs=200).training.passes
        for flags in (["--corpus.held_out", "1"], ["--corpus.held_out", "100"])
    ]
    assert passes[0] >= 4
    assert passes[1] == pytest.approx(2 * passes[0], abs=1)


@pytest.mark.parametrize("accumulate", [1, 4])
def test_batches_of_one_update_are_one_update(accumulate):
    training = TrainingConfig(batch_tokens=1000, accumulate=accumulate)
    fitted = fit_epochs(training, {"batch_tokens": 1000}, 40_000)
    assert fitted["passes"] * 40 == UPDATES * accumulate


@pytest.mark.parametrize("pieces", [50, 300, 3000, 30_000, 3_000_000])
def test_little_text_has_about_as_many_updates_and_much_text_few_epochs(pieces):
    fitted = fit_epochs(TrainingConfig(batch_tokens=1200), {}, pieces)
    updates = fitted["passes"] * math.ceil(pieces / fitted["batch_tokens"])
    assert UPDATES / 8 <= updates <= max(1.5 * UPDATES, 3.1 * pieces / 1200)
    assert 3 <= fitted["passes"] <= 30
    assert fitted["batch_tokens"] <= 1200


@pytest.mark.slow
def test_fine_tuning_on_few_pairs_keeps_what_the_model_has_learned(copier_run: Path, tmp_path):
    """The new text has another translation of one word, and the old text is measured without this word."""
    import nmt
    from nmt.text.pairs import Pair
    from nmt.training.validation import measure

    new = copy_task.sentences(30, seed=9)
    copy_task.write_lines(tmp_path / "new.source", new)
    other = [copy_task.translation(line).replace(copy_task.WORDS["ba"], "ebo") for line in new]
    copy_task.write_lines(tmp_path / "new.target", other)
    flags = [f"--corpus.train.{side}={tmp_path}/new.{side}" for side in ("source", "target")]
    command = [*flags, f"--training.initial={copier_run}", "--directory", str(tmp_path), "--name", "tuned"]
    result = nmt.train(nmt.load_config(None, command))
    old = [line for line in copy_task.sentences(60, seed=77) if "ba" not in line.split()]
    fresh = [Pair(line, copy_task.translation(line)) for line in old]
    before, after = (measure(nmt.Translator.load(run), fresh) for run in (copier_run, result.directory))
    assert after["bleu"] > before["bleu"] - 5
    assert after["loss"] < before["loss"] + 0.2
