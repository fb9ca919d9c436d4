"""Relative paths in configuration files, and in the files of comparisons and sweeps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nmt.config import config_to_dict
from nmt.config.relative_paths import from_file, same_path
from nmt.training.comparison import read_plan
from nmt.training.settings import load_config
from nmt.training.sweep.space import read_space

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a text, below the working directory, which has a text of the same name."""
    (tmp_path / "mine").mkdir()
    for name in ("a.en", "mine/a.en", "b.en"):
        (tmp_path / name).write_text("a\n")
    (tmp_path / "mine" / "c.yaml").write_text("name: x")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "mine"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.en", "mine/a.en"),
        ("../b.en", "b.en"),
        ("b.en", "b.en"),  # as older files have it
        ("missing.en", "mine/missing.en"),
        ("/a.en", "/a.en"),
        ("-", "-"),
        ("", ""),
    ],
)
def test_a_path_begins_at_the_folder_of_its_file(folder, name, found):
    assert from_file(name, "mine/c.yaml") == found


def test_a_file_in_the_working_directory_has_plain_paths(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert from_file("a.en", "c.yaml") == "a.en"


@pytest.mark.parametrize(
    ("saved", "named", "same"),
    [
        ("a.en", "./a.en", True),
        ("a.en", "mine/../a.en", True),
        ("a.en", "mine/a.en", False),  # both are there
        ("mine/a.en", "gone/a.en", False),
        ("gone/b.en", "a.en", False),
        ("./gone.en", "mine/gone.en", True),
        ("/data/gone.en", "data/gone.en", True),
        ("gone.en", "mine/all-gone.en", False),
        ("", "mine", False),
        ("", ".", False),
        ("", "", True),
        ("gone/a.en", "mine/gone/a.en", True),
    ],
)
def test_two_paths_of_one_file(folder, saved, named, same):
    assert same_path(saved, named) == same_path(named, saved) == same


def test_a_saved_path_may_begin_at_another_working_directory(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert same_path("mine/a.en", "a.en") and not same_path("a.en", "mine/a.en")  # the last begins at a file
    assert same_path("b.en", "../b.en") and not same_path("mine/b.en", "../b.en")
    assert not same_path("/gone/a.en", "a.en")


def test_files_are_relative_to_the_configuration_file_and_flags_to_the_working_directory(folder):
    groups = {
        "corpus": {"train": {"source": "a.en", "target": "missing"}},
        "vocabulary": {"run": "old"},
        "training": {"initial": "old", "guided": {"links": "l"}},
        "directory": "runs",
    }
    (folder / "c.yaml").write_text(json.dumps(groups))
    config = load_config("mine/c.yaml", ["--corpus.train.target", "b.en"])
    assert (config.corpus.train.source, config.corpus.train.target) == ("mine/a.en", "b.en")
    assert config.training.guided.links == "mine/l"
    assert config.vocabulary.run == config.training.initial == "mine/old"
    assert config.directory == "runs"


def test_the_saved_configuration_of_a_run_keeps_its_paths(folder):
    saved = {"format": 2} | config_to_dict(load_config(None, ["--corpus.train.tsv", "a.en"]))
    (folder / "config.json").write_text(json.dumps(saved))
    assert load_config("mine/config.json").corpus.train.tsv == "a.en"


def test_the_files_of_a_comparison_and_a_sweep_begin_at_the_folder(folder):
    fields = {"config": "c.yaml", "common": {"training": {"guided": {"links": "a.en"}}}}
    test = {"source": "a.en", "target": "a.en", "tokenize": "13a"}
    (folder / "v.yaml").write_text(json.dumps(fields | {"test": test, "variants": {"one": {}}}))
    plan = read_plan(Path("mine/v.yaml"), Path("out"))
    assert (plan.test.source, plan.test.tokenize) == ("mine/a.en", "13a")
    assert plan.runs[0].config.training.guided.links == "mine/a.en"
    pytest.importorskip("optuna")
    (folder / "s.yaml").write_text(json.dumps(fields | {"space": {"model.units": {"choices": [8, 16]}}}))
    assert read_space(Path("mine/s.yaml")).common["training"]["guided"]["links"] == "mine/a.en"


def test_the_demo_trains_from_any_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for side in load_config(REPOSITORY / "data" / "demo" / "config.yaml").corpus.train.source, "train.fr":
        assert (REPOSITORY / "data" / "demo" / side).is_file()
    monkeypatch.chdir(REPOSITORY)
    assert load_config("data/demo/config.yaml").corpus.train.source == "data/demo/train.en"
