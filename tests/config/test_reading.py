"""The configuration of a run, read from files and flags; messages about mistakes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from nmt.cli import main
from nmt.config import ConfigError, DropoutConfig, ModelConfig, RunConfig, VocabularyConfig, config_to_dict
from nmt.config.yaml_files import read_yaml
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer
from nmt.training.settings import load_config


def test_fields_from_yaml_json_and_flags(write):
    yaml = write("c.yaml", "name: first", "model:", "  units: 32", "training: {schedule: {learning_rate: 1e-4}}")
    config = load_config(yaml, ["--model.units=64", "--vocabulary.symbols", "[<de>,<fr>]"])
    assert config.name == "first"
    assert config.model == ModelConfig(units=64)
    assert config.training.schedule.learning_rate == 1e-4
    assert config.vocabulary.symbols == ("<de>", "<fr>")
    assert load_config(write("c.json", '{"name": "first", "model": {"units": 32}}')).model.units == 32
    assert load_config() == RunConfig()


def test_saved_configuration_reads_back(write):
    config = replace(
        RunConfig(name="1e3"), vocabulary=VocabularyConfig(symbols=("<a>", "no")), model=ModelConfig(tie="none")
    )
    assert load_config(write("c.json", json.dumps(config_to_dict(config)))) == config


@pytest.fixture
def origin(tmp_path) -> Run:
    """A run with another network and dropout than the defaults."""
    model = ModelConfig(units=32, embedding=16, dropout=DropoutConfig(embedding=0.5))
    pieces = Tokenizer.train(["a house"], VocabularyConfig(type="word", size=8))
    return Run.create(tmp_path / "origin", RunConfig(name="origin", model=model), pieces, pieces)


def test_the_configuration_of_a_run_reads_back(origin):
    assert load_config(origin.directory / "config.json") == origin.config
    assert load_config(origin.directory / "config.json", ["--name", "other"]) == replace(origin.config, name="other")


def test_fine_tuning_takes_the_network_of_the_initial_run(origin, write, tmp_path):
    initial = ["--training.initial", str(origin.directory)]
    assert load_config(None, initial).model == origin.config.model
    assert load_config(None, initial, "150k").model.units == 32
    assert load_config(None, initial, "150k").model.dropout == load_config(None, (), "150k").model.dropout
    path = write("c.yaml", f"training: {{initial: {origin.directory}}}", "model: {embedding: 64}")
    expected = replace(origin.config.model, embedding=64, cell="lstm")
    assert load_config(path, ["--model.cell", "lstm"]).model == expected
    assert load_config(None, ["--training.initial", str(tmp_path / "nowhere")]).model == ModelConfig()


def test_printed_configuration_of_fine_tuning_has_the_network_of_the_initial_run(origin, capsys):
    assert main(["train", "--training.initial", str(origin.directory), "--print_config"]) == 0
    assert "  units: 32\n" in capsys.readouterr().out


def test_an_empty_group_has_its_defaults(write):
    assert load_config(write("c.yaml", "name: a", "model:", "  # units: 32", "training: {seed:}")).name == "a"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["expected fields"]),
        ("just words", ["expected fields"]),
        ("name: [", ["not valid YAML, line 2, column 1: expected the node content, but found"]),
        ("name: a\nmodel: {units: 4", ["not valid YAML, line 3, column 1: expected"]),
        ("name: \0", ["not valid YAML: character 7 of the file cannot be in YAML"]),
        ("name: @a", ["not valid YAML, line 1, column 7: found character '@'"]),
        (f"training: {{ema: {'9' * 5000}}}", ["training.ema is a number of thousands of digits: expected fewer"]),
        ("format: 9\nmodel: {units: 4}", ["format 9 is unknown: this nmt reads formats up to 2"]),
        ("format: new\nmodel: {units: 4}", ["format 'new' is unknown"]),
        ("name: !!python/object/apply:os.getcwd []", ["not valid YAML"]),
        ("nam: a\nmodel: {unitz: 3, units: 4}", ["nam, did you mean name?", "model.unitz, did you mean model.units?"]),
        ("corpus: {train: {sauce: a}}", ["unknown field corpus.train.sauce, did you mean corpus.train.source?"]),
        ("3: a", ["unknown field 3"]),
        ("model: large", ["model is 'large': expected its fields"]),
        ("model: {units: many}", ["model.units is 'many': expected a whole number"]),
        ("training: {ema: x}", ["training.ema is 'x': expected a number"]),
        ("model: {words_in_readout: 3}", ["model.words_in_readout is 3: expected true or false"]),
        ("training: {precision: half}", ["training.precision is 'half': expected one of auto, float32, "]),
        ("training: {seed: 2}\nname: a\ntraining: {passes: 1}", ["not valid YAML, line 3, column 1: training stands"]),
        ("name: 2024-02-30", ["day is out of range", "text is written in quotes"]),
        ("name: " + 2000 * "[", ["nested too deeply"]),
        ("model: {units: 7}", ["model.units is 7: expected an even number"]),
        (f"model: {{units: {10**9}}}", ["model.units is 1000000000: expected 16,384 at most"]),
        (f"model: {{units: {'9' * 5000}}}", ["model.units is a number of thousands of digits: expected fewer digits"]),
        (f"model: {{units: 0x{'f' * 5000}}}", ["model.units is a number of about 6001 digits: expected fewer digits"]),
        (f"name: {'9' * 5000}", ["name is a number of thousands of digits: expected text"]),
        ("model: {5: 1}", ["unknown field model.5"]),
    ],
)  # fmt: skip
def test_mistakes_in_a_file_are_named(text, parts, write):
    path = write("c.yaml", text)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value) and "<unicode" not in str(error.value)
    for part in parts:
        assert part in str(error.value)


def test_file_that_is_not_utf8(tmp_path):
    (tmp_path / "c.yaml").write_bytes(b"name: \xff")
    with pytest.raises(ConfigError, match="not valid UTF-8 at byte 6"):
        load_config(tmp_path / "c.yaml")


def test_a_run_directory_in_place_of_its_configuration(tmp_path):
    with pytest.raises(ConfigError, match=f"{tmp_path}: is a directory: name a file, such as {tmp_path}/config.json"):
        load_config(tmp_path)


@pytest.fixture
def trained(monkeypatch) -> list[RunConfig]:
    """The configurations that training was called with; a fake replaces the real training."""
    calls: list[RunConfig] = []

    def train(config: RunConfig) -> SimpleNamespace:
        calls.append(config)
        return SimpleNamespace(directory=Path(config.directory, config.name), finished=config.name != "interrupted")

    room = ModuleType("nmt.training.trainer")
    room.train = train  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "nmt.training.trainer", room)
    return calls


def test_train_flags_win_over_the_file_in_any_order(write, trained, capsys):
    path = write("c.yaml", "name: a", "model: {units: 32}")
    assert main(["train", "--model.units", "64", "--config", path]) == 0
    assert main(["train", f"--config={path}", "--name", "b"]) == 0
    assert [(c.name, c.model.units) for c in trained] == [("a", 64), ("b", 32)]
    assert "saved_models/b" in capsys.readouterr().err


def test_printed_configuration_is_the_one_that_trains(write, trained, capsys):
    flags = ["--config", write("c.yaml", "name: a"), "--model.units", "64"]
    assert main(["train", *flags, "--print_config"]) == 0
    assert trained == []
    assert load_config(write("printed.yaml", capsys.readouterr().out)) == load_config(flags[1], flags[2:])


def test_train_help_explains_the_fields(capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "--help"])
    assert end.value.code == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Width of the recurrent decoder's state (default: 512)" in text
    assert "Paths in the file begin at its folder" in text


def test_an_interrupted_training_fails(trained, capsys):
    assert main(["train", "--name", "interrupted"]) == 130
    assert "translate with" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model.units", "7"], "model.units is 7: expected an even number"),
        (["--corpus.train.source", "a"], "corpus.train.source and target go together: target is missing"),
        (["--training.checkpoints.keep", "0"], "training.checkpoints.keep is 0: expected more than 0"),
        (["--name", "a/b"], "name is 'a/b': expected a plain folder name"),
        (["--units", "8"], "unrecognized argument: --units, did you mean --model.units?"),
        (["--model.heads", "4"], "unrecognized argument: --model.heads, did you mean --model.transformer.heads?"),
        (["--trainign.passes", "4"], "unrecognized argument: --trainign.passes, did you mean --training.passes?"),
        (["--model.unitz", "4"], "unrecognized argument: --model.unitz, did you mean --model.units?"),
    ],
)
def test_refused_value_is_named_with_its_group(flags, message):
    with pytest.raises(NmtError) as error:
        load_config(None, flags)
    assert str(error.value).startswith(message)


def test_an_error_caused_by_a_flag_does_not_name_the_file(write):
    with pytest.raises(ConfigError, match=r"^model.units is 7"):
        load_config(write("c.yaml", "model: {units: 8}"), ["--model.units", "7"])


def test_merged_yaml_anchors_may_override_fields(write):
    text = "model: &a {units: 32, embedding: 16}", "training: {seed: 3}", "search: {beam_size: 2}"
    assert load_config(write("c.yaml", *text)).model.units == 32
    merged = "a: &a {units: 32}\nb: &b {embedding: 16}\nmodel: {<<: *a, <<: *b, units: 64, 1: one, '1': two}\n"
    assert read_yaml(write("m.yaml", merged))["model"] == {"units": 64, "embedding": 16, 1: "one", "1": "two"}


@pytest.mark.parametrize("name", ["1e3", "3e-4-adam", "5e1f2a", "1e-3"])
def test_text_that_looks_like_a_number_stays_text_in_yaml(name, write):
    assert load_config(write("c.yaml", f"name: {name}")).name == name
    assert read_yaml(write("v.yaml", f"{name}: 1")) == {name: 1}
