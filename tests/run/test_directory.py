"""The run directory: a run opens as it was created, and damaged or missing files are named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nmt.config import CorpusConfig, ModelConfig, PairsConfig, RunConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.tokenizer import Tokenizer


@pytest.mark.parametrize("shared", [True, False])
def test_a_run_opens_as_it_was_created(shared, tmp_path, tokenizer):
    other = Tokenizer.train(["une maison"], VocabularyConfig(type="word", size=8))
    config = RunConfig(vocabulary=VocabularyConfig(shared=shared), model=ModelConfig(tie="target"))
    created = Run.create(tmp_path, config, tokenizer, tokenizer if shared else other)
    assert Run.open(tmp_path) == created
    assert len(list(tmp_path.glob("*.model"))) == (1 if shared else 2)


@pytest.mark.parametrize(
    ("architecture", "saved_value", "expected_value"),
    [("rnn", None, False), ("rnn", True, True), ("transformer", None, False), ("transformer", True, False)],
)
def test_a_run_of_the_first_format_reads_words_only_where_its_weights_allow(
    architecture, saved_value, expected_value, run
):
    """`words_in_readout` came to recurrent networks first. Transformers saved it as true without having its weights."""
    (run.directory / "manifest.json").unlink()  # the first format has none
    path = run.directory / "config.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved.pop("format") == 2
    assert saved["model"].pop("words_in_readout")
    saved["model"] |= {"architecture": architecture} | (
        {} if saved_value is None else {"words_in_readout": saved_value}
    )
    path.write_text(json.dumps(saved), encoding="utf-8")
    expected = replace(run.config.model, architecture=architecture, words_in_readout=expected_value)
    assert Run.open(run.directory).config.model == expected


def test_a_transformer_opens_as_it_was_created(tmp_path, tokenizer):
    config = RunConfig(model=ModelConfig(architecture="transformer"))
    Run.create(tmp_path, config, tokenizer, tokenizer)
    assert Run.open(tmp_path).config.model.words_in_readout


def test_a_file_name_of_invalid_utf_8_returns(run):
    """Python reads the byte of a name in Latin-1 as a surrogate."""
    corpus = CorpusConfig(train=PairsConfig(source="caf\udce9.en", target="café.fr"))
    replace(run, config=replace(run.config, corpus=corpus)).save_config()
    assert Run.open(run.directory).config.corpus == corpus
    assert "café.fr" in (run.directory / "config.json").read_text(encoding="utf-8")


def test_a_directory_without_a_run_is_named(tmp_path):
    with pytest.raises(RunError, match=f"{tmp_path}: not a run directory, it has no config.json"):
        Run.open(tmp_path)
    with pytest.raises(
        RunError, match=f"{tmp_path}/nowhere: no such run directory; nmt train makes one, and nmt runs lists all"
    ):
        Run.open(tmp_path / "nowhere")


def test_a_pack_that_is_not_there_is_named_with_a_similar_one(tmp_path):
    with pytest.raises(RunError, match="mine.nmt: no such pack; nmt pack makes one$"):
        Run.open(tmp_path / "mine.nmt")
    (tmp_path / "mien.nmt").touch()
    with pytest.raises(RunError, match=f"no such pack; did you mean {tmp_path}/mien.nmt[?]$"):
        Run.open(tmp_path / "mine.nmt")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"model": 3}', '{"modle": {}}', '{"model": {"units": ""}}', '{"model": {"units": 3}}', "\xff"]
    + ['{"format": 3, "model": {}}', '{"format": "x", "model": {}}'],
)  # fmt: skip
def test_a_damaged_configuration_is_named(text, run):
    (run.directory / "manifest.json").unlink()
    (run.directory / "config.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(RunError, match=r"config\.json: cannot be read") as error:
        Run.open(run.directory)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"model": {"units": 1000000000}}', "model.units is 1000000000: expected 16,384 at most"),
        (
            '{"model": {"units": ' + "9" * 5000 + "}}",
            "model.units is a number of thousands of digits: expected fewer digits",
        ),
        ('{"model": {"encoder_layers": 1000000000}}', "model.encoder_layers is 1000000000: expected 100 at most"),
        ('{"format": ' + "9" * 5000 + ', "model": {}}', "format a number of thousands of digits is unknown"),
        ("[" * 100_000, "nested too deeply"),
        ('{"name": ' + "[" * 700 + "]" * 700 + "}", "name is [[[[[[[...]]]]]]]: expected text"),
    ],
)
def test_sizes_of_a_configuration_that_nothing_can_hold_are_refused(text, message, run):
    (run.directory / "manifest.json").unlink()
    (run.directory / "config.json").write_text(text)
    with pytest.raises(RunError) as error:
        Run.open(run.directory)
    assert str(error.value).startswith(f"{run.directory / 'config.json'}: cannot be read ({message}")
    assert len(str(error.value)) < 400


def test_a_configuration_that_is_no_file_is_named(run):
    (run.directory / "config.json").unlink()
    (run.directory / "config.json").mkdir()
    with pytest.raises(RunError, match=r"config\.json: Is a directory"):
        Run.open(run.directory)


def test_a_missing_vocabulary_is_named(run):
    (run.directory / "shared.model").unlink()
    with pytest.raises(ValueError, match=r"shared\.model: No such file"):
        Run.open(run.directory)
