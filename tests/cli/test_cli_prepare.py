"""`nmt prepare` on the command line: the settings that it takes, and what it says at the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nmt.cli import main

SIZES = ["--vocabulary.type", "word", "--vocabulary.size", "30", "--processes", "1"]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The flags of a text in the working directory."""
    monkeypatch.chdir(tmp_path)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    lines = [f"{a} {b} house" for a in words for b in words if a != b]
    for side in ("source", "target"):
        Path(f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    return ["--corpus.train.source", "train.source", "--corpus.train.target", "train.target"]


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The error of a command that is refused before it writes."""
    assert main(["prepare", "--output", "prepared", *SIZES, *arguments]) == 2
    assert not Path("prepared").exists()
    return capsys.readouterr().err.splitlines()[-1].removeprefix("nmt: error: ")


def test_settings_of_the_training_are_refused(text: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = refused([*text, "--training.passes", "3"], capsys)
    assert said == "--training.passes has no effect on a prepared corpus: give it to nmt train"


def test_no_recipe_is_chosen_by_the_size_of_the_text(text: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = refused([*text, "--recipe", "auto"], capsys)
    assert said == "--recipe auto reads the text to choose: name another recipe, or give --vocabulary.size"


def test_a_prepared_corpus_is_not_prepared_again(text: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prepare", "--output", "other", *SIZES, *text, "--corpus.held_out", "10"]) == 0
    Path("config.json").write_text(json.dumps({"corpus": {"prepared": "other"}}))
    said = refused(["--config", "config.json"], capsys)
    assert said == "corpus.prepared is a prepared corpus already: give the text that a new one is made from"


def test_the_text_is_given_once(text: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("parts.yaml").write_text("first: {source: train.source, target: train.target}\n")
    said = refused([*text, "--parts", "parts.yaml"], capsys)
    assert said == "--parts names the text, and corpus.train too: give one of them"


@pytest.mark.parametrize("parts", [False, True])
def test_the_end_names_the_next_command(text: list[str], parts: bool, capsys: pytest.CaptureFixture[str]) -> None:
    Path("parts.yaml").write_text("first: {source: train.source, target: train.target}\n")
    flags = ["--parts", "parts.yaml"] if parts else text
    assert main(["prepare", "--output", "prepared", *SIZES, *flags, "--corpus.held_out", "10"]) == 0
    said = capsys.readouterr().err
    assert "training pairs are in prepared; train with: nmt train --corpus.prepared prepared --recipe auto\n" in said
    assert Path("prepared/manifest.json").is_file()


def test_the_whole_help_has_the_settings_of_a_text_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["prepare", "--help"])
    usual = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["prepare", "--help-all"])
    everything = capsys.readouterr().out
    assert "--corpus.near_duplicates" not in usual and "--corpus.near_duplicates" in everything
    assert "--training.passes" not in usual + everything
    for flag in ("--output DIR", "--parts FILE", "--recipe NAME", "--processes N"):
        assert flag in usual and flag in everything
    assert len(everything.partition("\n\n")[0].splitlines()) == 1  # the usage
