"""Flags of the command line: their spelling, their values, and the messages about wrong ones."""

from __future__ import annotations

import pytest

from nmt.config import RunConfig, SearchConfig
from nmt.config.fields import Setting, settings_of
from nmt.config.flags import add_settings, parse_flags
from nmt.config.parser import Parser
from nmt.errors import NmtError


def parsed(*flags: str) -> dict:
    return parse_flags(RunConfig, flags, "nmt train")


@pytest.mark.parametrize("flag", ["--search.beam_size", "--search.beam-size"])
def test_dashes_and_underscores_are_equal(flag):
    assert parsed(flag, "3") == {"search": {"beam_size": 3}}
    assert parsed(f"{flag}=4") == {"search": {"beam_size": 4}}


def test_only_given_flags_are_in_the_result():
    assert parsed() == {}
    assert parsed("--name", "a", "--model.attention.units", "8") == {"name": "a", "model": {"attention": {"units": 8}}}


def test_the_last_of_repeated_flags_wins():
    assert parsed("--model.units", "8", "--model.units", "16") == {"model": {"units": 16}}


@pytest.mark.parametrize(
    ("flags", "value"),
    [
        (["--training.deterministic"], True),
        (["--training.deterministic", "true"], True),
        (["--training.deterministic=no"], False),
        (["--training.deterministic", "False"], False),
        (["--no-training.deterministic"], False),
        (["--no_training.deterministic"], False),
    ],
)
def test_a_truth_value_is_a_flag_or_its_negation_or_a_word(flags, value):
    assert parsed(*flags) == {"training": {"deterministic": value}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [(["<de>", "<fr>"], ["<de>", "<fr>"]), (["[<de>, <fr>]"], ["<de>", "<fr>"]), (["[]"], []), (["a b"], ["a b"])],
)
def test_a_list_is_given_by_its_texts_or_as_yaml(values, expected):
    assert parsed("--vocabulary.symbols", *values) == {"vocabulary": {"symbols": expected}}


@pytest.mark.parametrize("value", ["512", "1e-4", "3"])
def test_text_that_looks_like_a_number_stays_text(value):
    assert parsed("--name", value) == {"name": value}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model.units", "many"], "--model.units is 'many': expected a whole number"),
        (["--model.units", "1.5"], "--model.units is '1.5': expected a whole number"),
        (["--model.units", "9" * 5000], "9...9"),
        (["--training.ema", "high"], "--training.ema is 'high': expected a number"),
        (["--training.ema", "nan"], "--training.ema is 'nan': expected a number"),
        (["--model.cell", "rnn"], "--model.cell is 'rnn': expected one of gru, lstm"),
        (["--model.cell", "ltsm"], "--model.cell is 'ltsm': expected one of gru, lstm; did you mean lstm?"),
        (["--training.deterministic", "maybe"], "--training.deterministic is 'maybe': expected true or false"),
        (["--no-training.deterministic", "true"], "--no-training.deterministic is 'true': expected no value"),
        (["--vocabulary.symbols", "[a, 1]"], "--vocabulary.symbols is '[a, 1]': expected a list of texts"),
        (["--vocabulary.symbols", "[a: ]]"], "--vocabulary.symbols is '[a: ]]': expected a list of texts"),
        (["--vocabulary.symbols", "[2020-13-45]"], "--vocabulary.symbols is '[2020-13-45]': expected a list of texts"),
        (["--vocabulary.symbols", "[" * 3000 + "]" * 3000], "expected a list of texts"),
        (["--beam-size", "3"], "unrecognized argument: --beam-size, did you mean --search.beam_size?"),
        (["--model.unit", "3"], "unrecognized argument: --model.unit, did you mean --model.units? (see nmt train"),
        (["--epochs", "3"], "unrecognized argument: --epochs, did you mean --training.passes?"),
        (["--training.lr", "3"], "did you mean --training.schedule.learning_rate?"),
        (["--seed", "3"], "did you mean --search.seed or --training.seed?"),
        (["--zzz"], "unrecognized argument: --zzz (see nmt train --help)"),
        (["--model.units"], "--model.units: expected one argument"),
        (
            ["--training.schedule", "cosine"],
            "training.schedule is a group: set one of --training.schedule.learning_rate, --training.schedule.warmup_",
        ),
        (["--model.attention", "256"], "model.attention is a group: set one of --model.attention.score, --model.att"),
    ],
)
def test_a_wrong_flag_is_named_with_the_expected_value(flags, message):
    with pytest.raises(NmtError) as error:
        parsed(*flags)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_flag_has_a_short_and_a_full_name_where_the_parser_says_so():
    parser = Parser(prog="nmt translate")
    add_settings(parser, settings_of(SearchConfig), spell=lambda name: name.replace("_", "-"))
    parser.aliases["--search.beam_size"] = "--beam-size"
    for flag in ("--beam-size", "--beam_size", "--search.beam_size", "--search.beam-size"):
        assert parser.parse_args([flag, "7"]).beam_size == 7


def test_words_after_two_dashes_are_not_flags():
    parser = Parser(prog="nmt")
    parser.add_argument("word", nargs="*")
    assert parser.parse_args(["--", "--beam"]).word == ["--beam"]


def test_the_default_stands_in_the_last_sentence_of_the_help():
    parser = Parser(prog="test")
    add_settings(parser, [Setting("longest", int, 100, "Most words of a sentence.")])
    assert "Most words of a sentence (default: 100)\n" in parser.format_help()
