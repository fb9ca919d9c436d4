"""Recipes: the choice by "auto", and their order with files and flags."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt.cli import main
from nmt.config import ConfigError, CorpusConfig, PairsConfig, RunConfig, recipes
from nmt.config.yaml_files import load_fields
from nmt.training.auto_recipe import choose_recipe
from nmt.training.settings import load_config


def corpus(directory: Path, pairs: int, validation: bool = True) -> CorpusConfig:
    for side in ("en", "de"):
        (directory / side).write_text("a b\n" * pairs, encoding="utf-8")
    files = PairsConfig(str(directory / "en"), str(directory / "de"))
    return CorpusConfig(files, files) if validation else CorpusConfig(files)


@pytest.mark.parametrize(
    ("pairs", "name"),
    [(1, "10k"), (3000, "10k"), (17_000, "10k"), (18_000, "30k"), (60_000, "30k"), (80_000, "150k"), (300_000, "150k")],
)
def test_auto_chooses_the_recipe_with_the_nearest_number_of_pairs(tmp_path, pairs, name):
    chosen, reason = choose_recipe(corpus(tmp_path, pairs))
    assert chosen == name
    assert f"recipe {name}: there are {pairs:,} pairs" in reason
    others = [other for other in recipes.OTHERS if other.startswith(f"{name}-")]
    assert [other for other in recipes.OTHERS if other in reason] == others  # others of this size


def test_held_out_pairs_do_not_count(tmp_path):
    assert "17,000 pairs" in choose_recipe(corpus(tmp_path, 18_000, validation=False))[1]
    assert "6 pairs" in choose_recipe(corpus(tmp_path, 6, validation=False))[1]  # too few to hold out a thousand


@pytest.mark.parametrize("name", recipes.NAMES)
def test_the_file_overrides_the_recipe_and_flags_override_both(tmp_path, name):
    fields = load_fields(recipes.path(name))
    assert set(fields) <= {"vocabulary", "model", "training", "search"}  # recipes set neither names nor corpora
    size = fields["vocabulary"]["size"]
    alone = load_config(recipe=name)
    assert alone.vocabulary.size == size
    file = tmp_path / "c.yaml"
    file.write_text(f"vocabulary: {{size: {size + 1}}}\nmodel: {{units: 64}}\n", encoding="utf-8")
    config = load_config(file, ["--model.units", "32"], recipe=name)
    assert (config.vocabulary.size, config.model.units) == (size + 1, 32)
    assert config.training == alone.training


def test_the_defaults_are_the_recipe_for_30k():
    assert load_config(recipe="30k") == RunConfig()


def test_every_recipe_file_has_a_name():
    assert {place.stem for place in recipes.path("30k").parent.glob("*.yaml")} == set(recipes.NAMES)


def test_unknown_recipe_is_refused():
    with pytest.raises(ConfigError, match="recipe is 20k: expected 10k, 30k, 150k, 30k-transformer, or auto"):
        load_config(recipe="20k")


def test_train_prints_the_recipe_that_auto_chose(tmp_path, capsys):
    corpus(tmp_path, 20)
    sides = {"source": str(tmp_path / "en"), "target": str(tmp_path / "de")}
    flags = [f"--corpus.{part}.{side}={file}" for part in ("train", "validation") for side, file in sides.items()]
    assert main(["train", "--recipe", "auto", *flags, "--print_config"]) == 0
    captured = capsys.readouterr()
    assert "recipe 10k: there are 20 pairs to train on" in captured.err
    printed = tmp_path / "printed.yaml"
    printed.write_text(captured.out, encoding="utf-8")
    assert load_config(printed) == load_config(None, flags, "10k")


def test_a_missing_corpus_is_one_line(tmp_path, capsys):
    files = ["--corpus.train.source", str(tmp_path / "no"), "--corpus.train.target", str(tmp_path / "no")]
    assert main(["train", "--recipe", "auto", *files]) == 2
    assert "no: No such file" in capsys.readouterr().err
