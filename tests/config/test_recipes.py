"""Recipes: the choice by "auto", and their order with files and flags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nmt.cli import main
from nmt.config import ConfigError, RunConfig, VocabularyConfig, recipes
from nmt.config.reading import build_config
from nmt.config.yaml_files import as_yaml, load_fields
from nmt.text.errors import CorpusError
from nmt.text.text_size import TextSize
from nmt.training.auto_recipe import Choice, fit_to_text
from nmt.training.settings import load_config


def fields(directory: Path, pairs: int, validation: bool = True, **corpus: Any) -> dict[str, Any]:
    """Fields of a run on so many pairs. No two pairs are near-duplicates."""
    for side in ("en", "de"):
        (directory / side).write_text("".join(f"{side}{n} b\n" for n in range(pairs)), encoding="utf-8")
    files = {"source": str(directory / "en"), "target": str(directory / "de")}
    return {"corpus": {"train": files, **({"validation": files} if validation else {}), **corpus}}


def chosen(given: dict[str, Any]) -> Choice:
    return fit_to_text(given, build_config(given, None, {}))


@pytest.mark.parametrize(
    ("pairs", "name"),
    [
        (20, "100"),
        (319, "100"),
        (320, "1k"),
        (1499, "1k"),
        (1500, "10k"),
        (16_999, "10k"),
        (17_000, "30k"),
        (60_000, "30k"),
        (80_000, "150k"),
        (380_000, "150k"),
        (400_000, "1m"),
        (3_000_000, "1m"),
        (4_000_000, "10m"),
        (500_000_000, "10m"),
    ],
)
def test_auto_chooses_the_recipe_that_suits_the_number_of_pairs(tmp_path, monkeypatch, pairs, name):
    monkeypatch.setattr("nmt.training.auto_recipe.measure_text", lambda _: TextSize(pairs, pairs, 10 * pairs))
    reason = chosen(fields(tmp_path, 1)).lines[0]
    assert f"recipe {name} is for " in reason and f": there are {pairs:,} to train on" in reason
    others = [other for other in recipes.OTHERS if other.startswith(f"{name}-")]
    assert [other for other in recipes.OTHERS if other in reason] == others  # others of this size


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (20, "fewer than 320 pairs"),
        (1000, "320 to 1,500 pairs"),
        (2663, "1,500 to 17,000 pairs"),
        (10**7, "3,200,000 pairs or more"),
    ],
)
def test_auto_says_which_sizes_a_recipe_suits(tmp_path, monkeypatch, pairs, said):
    monkeypatch.setattr("nmt.training.auto_recipe.measure_text", lambda _: TextSize(pairs, pairs, 10 * pairs))
    assert f" is for {said}: there are {pairs:,} " in chosen(fields(tmp_path, 1)).lines[0]


def test_one_epoch_is_one(tmp_path):
    given = fields(tmp_path, 20) | {"training": {"passes": 1}}
    assert "1 epoch of batches of" in chosen(given).lines[1]


@pytest.mark.parametrize(("pairs", "held_out"), [(2000, 200), (12_000, 1000)])
def test_auto_takes_larger_recipes_as_they_are(tmp_path, pairs, held_out):
    """All but the normalisation and the size of the vocabulary, which fit the text."""
    expected = load_fields(recipes.path("10k"))
    given = fields(tmp_path, pairs, validation=False) | {"training": {"recombine": 0}}
    made = chosen(given).fields
    assert made["corpus"] == {"held_out": held_out}
    assert made["vocabulary"] == {**expected["vocabulary"], "adapt_size": True, "normalization": "auto"}
    assert made["training"] == {**expected["training"], "validate_every": 0}
    assert (made["model"], made["search"]) == (expected["model"], expected["search"])


def new_pairs(choice: Choice) -> tuple[int, bool, int]:
    """New pairs for each pair, whether an aligner learns links, and the epochs."""
    training = choice.fields["training"]
    return training.get("recombine", 0), training.get("aligner", False), training["passes"]


def test_auto_makes_new_pairs_of_hundreds_and_thousands_of_pairs(tmp_path):
    """Each of the 6 epochs has five times the pairs: 30 times instead of 16. 500 pairs have 150 instead of 80."""
    choice = chosen(fields(tmp_path, 2000))
    assert new_pairs(choice) == (4, True, 6)
    assert new_pairs(chosen(fields(tmp_path, 500))) == (4, True, 30)
    assert "4 new pairs for each pair, made of phrases of other pairs, 6 epochs" in choice.lines[1]
    assert new_pairs(chosen(fields(tmp_path, 300)))[:2] == (0, False)


@pytest.mark.parametrize(
    "given",
    [
        {"training": {"recombine": 0}},
        {"training": {"aligner": False}},
        {"training": {"guided": {"links": "my.links"}}},
        {"model": {"attention": {"score": "none"}}},
        {"model": {"attention": {"window": "hard"}}},
    ],
)
def test_auto_makes_no_new_pairs_against_the_users_settings(tmp_path, given):
    assert new_pairs(chosen(fields(tmp_path, 2000) | given)) == (0, False, 16)


def test_auto_has_as_many_updates_for_another_number_of_new_pairs(tmp_path):
    given = {"aligner": True, "recombine": 24}
    assert chosen(fields(tmp_path, 2000) | {"training": given}).fields["training"]["passes"] == 1
    assert new_pairs(chosen(fields(tmp_path, 2000) | {"training": {"passes": 2}})) == (4, True, 2)


@pytest.mark.parametrize(("pairs", "held_out"), [(20, 4), (25, 4), (200, 20), (3000, 300), (10_000, 1000)])
def test_auto_holds_out_a_tenth_of_a_small_text(tmp_path, pairs, held_out):
    choice = chosen(fields(tmp_path, pairs, validation=False))
    assert choice.fields["corpus"] == {"held_out": held_out}
    assert f"{pairs - held_out:,} to train on" in choice.lines[0]
    assert f"{held_out:,} pairs held out for validation" in choice.lines[1]


def test_fewer_pairs_are_held_out_where_near_duplicates_would_cost_too_much(tmp_path):
    """Twenty sentences occur five times, each time with another last word."""
    given = fields(tmp_path, 100, validation=False)
    lines = [" ".join(f"{word}{n}" for word in "abcde") + f" {last}" for n in range(20) for last in range(5)]
    for side in ("en", "de"):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    choice = chosen(given)
    assert choice.fields["corpus"] == {"held_out": 5}
    assert "there are 80 to train on (20 of 100 are held out or nearly" in choice.lines[0]  # four of the sentences


@pytest.mark.parametrize("held_out", [30, 100])
def test_held_out_pairs_that_leave_none_to_train_on_are_refused(tmp_path, held_out):
    with pytest.raises(CorpusError, match=rf"^{held_out} pairs cannot be held out: .*--corpus.held_out 3"):
        chosen(fields(tmp_path, 30, validation=False, held_out=held_out))


def test_pairs_that_stay_are_counted_as_the_user_treats_near_duplicates(tmp_path):
    """Thirty pairs of one pattern and ten others."""
    given = fields(tmp_path, 40, validation=False)
    lines = [f"here is the word number {n}" for n in range(30)] + [f"{n} other{n} {n}{n}" for n in range(10)]
    for side in ("en", "de"):
        (tmp_path / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    said = {}
    for treatment in ("keep", "drop"):
        given["corpus"]["near_duplicates"] = treatment
        said[treatment] = chosen(given).lines[0]
    assert "there are 36 to train on" in said["keep"]
    assert "there are 36 pairs" not in said["drop"]


def test_the_pieces_of_another_run_are_not_announced_as_new_ones(tmp_path):
    given = fields(tmp_path, 20) | {"vocabulary": {"run": "saved_models/other"}}
    assert "pieces" not in chosen(given).lines[1]


def test_text_of_one_pattern_keeps_its_near_duplicates(tmp_path):
    given = fields(tmp_path, 40, validation=False)
    for side in ("en", "de"):
        (tmp_path / side).write_text("".join(f"here is the word number {n}\n" for n in range(40)), encoding="utf-8")
    choice = chosen(given)
    assert choice.fields["corpus"] == {"held_out": 4, "near_duplicates": "keep"}
    assert "their near-duplicates kept" in choice.lines[1]


def test_fewer_pairs_have_about_as_many_updates(tmp_path):
    updates = []
    for pairs in (20, 100, 300):
        training = chosen(fields(tmp_path, pairs)).fields["training"]
        updates.append(training["passes"] * pairs)
        assert training["validate_every"] > 0
    assert max(updates) - min(updates) < 0.05 * max(updates)


def test_long_epochs_are_validated_within(tmp_path, monkeypatch):
    monkeypatch.setattr("nmt.training.auto_recipe.measure_text", lambda _: TextSize(2_000_000, 10_000, 40_000_000))
    assert chosen(fields(tmp_path, 1)).fields["training"]["validate_every"] == 5000


def test_the_users_settings_override_every_choice_and_the_others_heed_them(tmp_path):
    given = fields(tmp_path, 200, validation=False, held_out=50)
    flags = ["--vocabulary.size", "77", "--training.passes", "3", "--training.batch_tokens", "64"]
    names = [f"--corpus.train.{side}={given['corpus']['train'][side]}" for side in ("source", "target")]
    lines: list[str] = []
    config = load_config(None, [*names, "--corpus.held_out", "50", *flags], "auto", lines.append)
    assert (config.corpus.held_out, config.vocabulary.size, config.vocabulary.adapt_size) == (50, 77, False)
    assert (config.training.passes, config.training.batch_tokens) == (3, 64)
    assert "150 to train on" in lines[0]
    assert lines[1].startswith("50 pairs held out for validation, 77 pieces, 3 epochs of batches of 64 tokens")
    assert config.training.validate_every < chosen(fields(tmp_path, 200)).fields["training"]["validate_every"]


@pytest.mark.parametrize(
    ("pairs", "found"),
    [(0, "en and .*de: there are no sentence pairs to train on"), (19, "the text has 19 pairs, and training needs 20")],
)
def test_too_few_pairs_are_refused(tmp_path, pairs, found):
    with pytest.raises(CorpusError, match=found):
        chosen(fields(tmp_path, pairs, validation=False))


def test_one_sentence_alone_is_refused(tmp_path):
    given = fields(tmp_path, 1, validation=False)
    for side in ("en", "de"):
        (tmp_path / side).write_text("a b\n" * 30, encoding="utf-8")
    with pytest.raises(CorpusError, match="the text has one source sentence"):
        chosen(given)


def test_a_run_that_has_begun_keeps_the_choice(tmp_path):
    """The text has changed since; another choice could not be resumed."""
    given = fields(tmp_path, 200)
    flags = [f"--corpus.{part}.{side}={given['corpus']['train'][side]}" for part in ("train", "validation")
             for side in ("source", "target")] + ["--directory", str(tmp_path)]  # fmt: skip
    begun = load_config(None, flags, "auto")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text(as_yaml(begun), encoding="utf-8")
    fields(tmp_path, 5000)
    said: list[str] = []
    assert load_config(None, flags, "auto", said.append) == begun
    assert "has begun already, so nothing is chosen anew" in said[0]
    assert load_config(None, [*flags, "--training.passes", "99"], "auto").training.passes == 99


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
    """But for the normalisation, which the measured results have."""
    assert load_config(recipe="30k") == RunConfig(vocabulary=VocabularyConfig(normalization="nmt_nfkc"))


def test_every_recipe_file_has_a_name():
    assert {place.stem for place in recipes.path("30k").parent.glob("*.yaml")} == set(recipes.NAMES)


@pytest.mark.parametrize("flags", [["--model.transformer.alignment_layer", "4"], ["--model.readout", "128"]])
def test_flags_are_checked_over_the_recipe(flags):
    """The defaults have three decoder layers and embeddings of another width."""
    load_config(None, flags, "30k-transformer")
    with pytest.raises(ConfigError):
        load_config(None, flags)


def test_flags_are_checked_over_the_recipes_of_auto_before_the_text_is_read(tmp_path):
    sides = fields(tmp_path, 20)["corpus"]["train"]
    flags = [f"--corpus.{part}.{side}={file}" for part in ("train", "validation") for side, file in sides.items()]
    assert load_config(None, [*flags, "--model.readout", "64"], "auto").model.readout == 64
    with pytest.raises(ConfigError, match="readout is 65"):
        load_config(None, ["--corpus.train.tsv", "nowhere", "--model.readout", "65"], "auto")


def test_new_pairs_that_the_user_asks_for_have_links(tmp_path):
    sides = fields(tmp_path, 2000)["corpus"]["train"]
    flags = [f"--corpus.{part}.{side}={file}" for part in ("train", "validation") for side, file in sides.items()]
    asked = [*flags, "--training.recombine", "2"]
    training = load_config(None, asked, "auto").training
    assert (training.recombine, training.aligner, training.passes) == (2, True, 10)
    for refused in (["--training.aligner", "false"], ["--model.attention.score", "none"]):
        with pytest.raises(ConfigError):
            load_config(None, [*asked, *refused], "auto")
    (tmp_path / "wrong.yaml").write_text(f"training: {{recombine: two}}\ncorpus: {{train: {{tsv: {tmp_path}/t}}}}\n")
    with pytest.raises(ConfigError, match="recombine"):
        load_config(tmp_path / "wrong.yaml", [], "auto")


def test_unknown_recipe_is_refused():
    with pytest.raises(
        ConfigError, match="recipe is 20k: expected 100, .*, 10m, 30k-transformer, 30k-tiny, 150k-transformer, or auto"
    ):
        load_config(recipe="20k")


def test_train_prints_the_recipe_that_auto_chose(tmp_path, capsys):
    sides = fields(tmp_path, 20)["corpus"]["train"]
    flags = [f"--corpus.{part}.{side}={file}" for part in ("train", "validation") for side, file in sides.items()]
    assert main(["train", "--recipe", "auto", *flags, "--print_config"]) == 0
    captured = capsys.readouterr()
    assert "recipe 100 is for fewer than 320 pairs: there are 20 to train on" in captured.err
    printed = tmp_path / "printed.yaml"
    printed.write_text(captured.out, encoding="utf-8")
    assert load_config(printed) == load_config(None, flags, "auto")


def test_a_missing_corpus_is_one_line(tmp_path, capsys):
    files = ["--corpus.train.source", str(tmp_path / "no"), "--corpus.train.target", str(tmp_path / "no")]
    assert main(["train", "--recipe", "auto", *files]) == 2
    assert "no: No such file" in capsys.readouterr().err
