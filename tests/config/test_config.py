"""The configuration: refused values and their messages; conversion to dictionaries and back."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import (
    AttentionConfig,
    CheckpointConfig,
    ConfigError,
    CorpusConfig,
    DropoutConfig,
    GuidedConfig,
    ModelConfig,
    PairsConfig,
    RunConfig,
    ScheduleConfig,
    SearchConfig,
    TrainingConfig,
    VocabularyConfig,
    config_from_dict,
    config_to_dict,
)
from nmt.config.fields import Setting, settings_of
from nmt.errors import NmtError

REFUSED: list[tuple[type, dict[str, Any], str]] = [
    (PairsConfig, {"source": "a", "target": "b", "tsv": "c"}, "more than one way"),
    (PairsConfig, {"tsv": "c", "tfds": "d"}, "more than one way"),
    (PairsConfig, {"source": "a"}, ": target is missing"),
    (PairsConfig, {"target": "a"}, ": source is missing"),
    (PairsConfig, {"source": "a\0b", "target": "c"}, "source is not a file name: it contains a NUL character"),
    (VocabularyConfig, {"size": 3 * 10**9}, "size is 3000000000: expected a million at most"),
    (PairsConfig, {"tsv": "a", "source_column": 0}, "source_column is 0: expected more than 0"),
    (PairsConfig, {"tsv": "a", "source_column": 2}, "source_column and target_column are both 2: expected two"),
    (PairsConfig, {"tsv": "a", "target_column": -1}, "target_column is -1: expected more than 0"),
    (CorpusConfig, {"held_out": 0}, "held_out is 0: expected more than 0"),
    (CorpusConfig, {"max_pieces": 0}, "max_pieces is 0: expected more than 0"),
    (VocabularyConfig, {"size": 4}, "size is 4: a vocabulary needs at least 5 pieces"),
    (VocabularyConfig, {"character_coverage": 0.5}, "character_coverage is 0.5: expected a number from 0.98 to 1"),
    (VocabularyConfig, {"longest_piece": 513}, "longest_piece is 513: expected a number up to 512"),
    (VocabularyConfig, {"longest_piece": 8, "type": "word"}, "pieces of type word have no such limit"),
    (VocabularyConfig, {"character_coverage": 1.01}, "character_coverage is 1.01: expected a number from 0.98 to 1"),
    (VocabularyConfig, {"shared": False, "target_size": -1}, "target_size: expected 0 or more"),
    (VocabularyConfig, {"target_size": 100}, "target_size is for separate vocabularies: set shared to false"),
    *((DropoutConfig, {name: 1.0}, f"{name} is 1.0: expected a number from 0 up") for name in vars(DropoutConfig())),
    (DropoutConfig, {"state": -0.1}, "state is -0.1: expected a number from 0 up to, not including, 1"),
    *(
        (ModelConfig, {name: 0}, f"{name} is 0: expected more than 0")
        for name in ("units", "embedding", "encoder_layers")
    ),
    (ModelConfig, {"units": 7}, "units is 7: expected an even number"),
    (AttentionConfig, {"units": 0}, "units is 0: expected more than 0"),
    (AttentionConfig, {"score": "none", "window": "hard"}, "window is hard, but score none attends to nothing"),
    *(
        (AttentionConfig, {"score": score, "coverage": True}, f"score {score} reads no keys that could carry it")
        for score in ("none", "location")
    ),
    (
        ModelConfig,
        {"memory": 64, "attention": AttentionConfig(score="dot")},
        "compares a state of 512 with a memory of 64",
    ),
    (
        ModelConfig,
        {"architecture": "transformer", "tie": "none", "readout": 8},
        "readout is 8, but the output layer is tied to embeddings of width 256",
    ),
    (ScheduleConfig, {"learning_rate": 0.0}, "learning_rate is 0.0: expected more than 0"),
    (ScheduleConfig, {"warmup_steps": -1}, "warmup_steps: expected 0 or more"),
    (ScheduleConfig, {"final_share": 1.5}, "final_share: expected a number from 0 to 1"),
    (CheckpointConfig, {"every": -1}, "every: expected 0 or more steps"),
    (CheckpointConfig, {"keep": 0}, "keep is 0: expected more than 0"),
    *(
        (TrainingConfig, {name: 0}, f"{name} is 0: expected more than 0")
        for name in ("passes", "batch_tokens", "window", "log_every")
    ),
    (GuidedConfig, {"weight": 0.0}, "weight is 0.0: expected more than 0"),
    (GuidedConfig, {"decay": 0.0}, "decay is 0.0: expected more than 0"),
    (GuidedConfig, {"decay": 1.1}, "decay is 1.1: expected 1 or less"),
    (TrainingConfig, {"label_smoothing": 1.0}, "label_smoothing is 1.0: expected a number from 0 up"),
    (TrainingConfig, {"ema": 1.0}, "ema is 1.0: expected a number from 0 up"),
    *(
        (TrainingConfig, {name: -1}, f"{name} is -1: expected 0 or more")
        for name in ("clip_norm", "weight_decay", "validate_every", "patience")
    ),
    (TrainingConfig, {"weight_decay": 700.0}, "weight_decay is 700.0: expected less than 1 / schedule.learning_rate"),
    *(
        (SearchConfig, {name: 0}, f"{name} is 0: expected more than 0")
        for name in ("beam_size", "max_length_ratio", "max_source", "batch_tokens")
    ),
    (SearchConfig, {"top_p": 0.0}, "top_p is 0.0: expected a number above 0, at most 1"),
    (SearchConfig, {"min_length_ratio": 3.0}, "min_length_ratio is 3.0, above max_length_ratio, 2.0: lower it"),
    (SearchConfig, {"max_length_ratio": math.inf}, "max_length_ratio is inf: expected a number"),
    (SearchConfig, {"max_length_ratio": 101.0}, "max_length_ratio is 101.0: expected 100 at most"),
    (ModelConfig, {"units": 10**9}, "units is 1000000000: expected 16,384 at most"),
    (ModelConfig, {"encoder_layers": 101}, "encoder_layers is 101: expected 100 at most"),
    (TrainingConfig, {"clip_norm": math.nan}, "clip_norm is nan: expected 0 or more"),
    (TrainingConfig, {"seed": -1}, "seed is -1: expected a number from 0 to 2147483647"),
    (TrainingConfig, {"seed": 2**31}, "seed is 2147483648: expected a number from 0"),
    (SearchConfig, {"seed": -1}, "seed is -1: expected a number from 0"),
    (SearchConfig, {"length_penalty": -0.5}, "length_penalty is -0.5: expected 0 or more"),
    (RunConfig, {"name": ""}, "name is '': expected a plain folder name"),
    (RunConfig, {"name": ".."}, "name is '..': expected a plain folder name"),
    (RunConfig, {"name": "a/b"}, "name is 'a/b': expected a plain folder name"),
    (RunConfig, {"vocabulary": VocabularyConfig(shared=False)}, "model.tie is 'all' but the vocabularies are separate"),
    (
        RunConfig,
        {
            "model": ModelConfig(attention=AttentionConfig("none")),
            "training": TrainingConfig(guided=GuidedConfig(links="a")),
        },
        "training.guided.links guides attention, but model.attention.score is none",
    ),
]


@pytest.mark.parametrize(("kind", "values", "message"), REFUSED)
def test_unusable_values_are_refused_in_one_line(kind: type, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kind(**values)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, NmtError)


ACCEPTED: list[tuple[type, dict[str, Any]]] = [
    (DropoutConfig, dict.fromkeys(vars(DropoutConfig()), 0.0)),
    (ScheduleConfig, {"warmup_steps": 0, "final_share": 0.0}),
    (TrainingConfig, {"clip_norm": 0.0, "ema": 0.0, "label_smoothing": 0.0, "validate_every": 0, "patience": 0}),
    (VocabularyConfig, {"size": 8, "character_coverage": 0.98, "shared": False, "target_size": 9}),
    (SearchConfig, {"length_penalty": 0.0, "beam_size": 1}),
    (RunConfig, {"vocabulary": VocabularyConfig(shared=False), "model": ModelConfig(tie="target")}),
    (CheckpointConfig, {"every": 0, "keep": 1}),
    (GuidedConfig, {"decay": 1.0}),
]


@pytest.mark.parametrize(("kind", "values"), ACCEPTED)
def test_values_at_the_limits_are_accepted(kind: type, values: dict[str, Any]) -> None:
    assert {name: getattr(kind(**values), name) for name in values} == values


def test_pairs_are_true_if_they_are_given() -> None:
    assert not PairsConfig()
    assert not PairsConfig(split="test")
    for given_pairs in (PairsConfig(source="a", target="b"), PairsConfig(tsv="c"), PairsConfig(tfds="d")):
        assert given_pairs


def test_the_default_configuration_is_a_run() -> None:
    config = RunConfig()
    assert not config.corpus.train
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.name = "other"  # type: ignore[misc]


RATES = st.floats(0, 0.99)
FILE_NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5)
CONFIGS = st.builds(
    RunConfig,
    name=st.text("abc-é ", min_size=1),
    corpus=st.builds(
        CorpusConfig,
        train=st.builds(
            PairsConfig,
            tsv=FILE_NAMES,
            source_column=st.integers(3, 9),
        ),
        on_long=st.sampled_from(["drop", "truncate"]),
    ),
    vocabulary=st.builds(VocabularyConfig, size=st.integers(8, 99_999), symbols=st.lists(st.text()).map(tuple)),
    model=st.builds(
        ModelConfig,
        units=st.integers(1, 999).map(lambda n: 2 * n),
        tie=st.sampled_from(["none", "target", "all"]),
        dropout=st.builds(DropoutConfig, embedding=RATES, state=RATES),
    ),
    training=st.builds(
        TrainingConfig,
        ema=RATES,
        schedule=st.builds(ScheduleConfig, learning_rate=st.floats(1e-9, 1)),
        checkpoints=st.builds(CheckpointConfig, keep=st.integers(1, 9)),
        deterministic=st.booleans(),
    ),
    search=st.builds(SearchConfig, length_penalty=st.floats(0, 9), beam_size=st.integers(1, 99)),
)


@given(config=CONFIGS)
def test_a_configuration_survives_json(config: RunConfig) -> None:
    assert config_from_dict(RunConfig, json.loads(json.dumps(config_to_dict(config)))) == config


@pytest.mark.parametrize(
    ("fields", "unread"),
    [
        ({}, []),
        ({"units": 64, "attention": {"score": "general"}}, []),
        ({"transformer": {"heads": 8}, "dropout": {"residual": 0.3}}, ["transformer", "dropout.residual"]),
        ({"input_feeding": False}, ["input_feeding"]),
        ({"decoder": "luong", "input_feeding": False, "piece_in_query": False}, ["piece_in_query"]),
        ({"architecture": "mixed", "units": 64, "memory": 64}, ["memory"]),
        ({"architecture": "transformer", "units": 64, "attention": {"units": 64}}, ["units", "attention"]),
    ],
)
def test_settings_that_a_network_ignores_are_listed(fields: dict[str, Any], unread: list[str]) -> None:
    assert config_from_dict(ModelConfig, fields).unread == unread


def test_the_dictionary_is_plain_and_nested() -> None:
    values = config_to_dict(RunConfig(vocabulary=VocabularyConfig(symbols=("<de>",))))
    assert values["vocabulary"]["symbols"] == ["<de>"]
    assert values["model"]["dropout"]["readout"] == 0.3
    assert values["corpus"]["train"]["source"] == ""


def test_missing_fields_have_their_defaults() -> None:
    assert config_from_dict(RunConfig, {"vocabulary": {"symbols": ["<de>"]}}).vocabulary.symbols == ("<de>",)
    assert config_from_dict(RunConfig, {"model": {"units": 64}}) == RunConfig(model=ModelConfig(units=64))
    assert config_from_dict(RunConfig, {}) == RunConfig()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nmae": "x"}, "unknown field nmae"),
        ({"zeta": 1, "alpha": 2}, "unknown field alpha, zeta"),
        ({"model": {"layers": 3}}, "model: unknown field layers"),
        ({"corpus": {"train": {"sauce": "a"}}}, "corpus.train: unknown field sauce"),
        ({"training": {"schedule": {"learning_rate": -1}}}, "training.schedule.learning_rate is -1"),
        ({"model": {"units": 7}}, "model.units is 7: expected an even number"),
        ({"model": {"units": "x"}}, "model.units is 'x': expected a whole number"),
        ({"model": {"units": True}}, "model.units is True: expected a whole number"),
        ({"training": {"ema": "0.9"}}, "training.ema is '0.9': expected a number"),
        ({"model": {"input_feeding": 1}}, "model.input_feeding is 1: expected true or false"),
        ({"name": None}, "name is None: expected text"),
        (
            {"corpus": {"source_language": False}},
            "corpus.source_language is False: expected text, in quotes such as 'no' if",
        ),
        ({"model": 3}, "model: expected fields and their values"),
        ({"search": None}, "search: expected fields and their values"),
    ],
)
def test_a_refused_value_is_named_with_its_group(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config_from_dict(RunConfig, values)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("setting", [s for s in settings_of(RunConfig) if s.type in (int, float)], ids=lambda s: s.name)
def test_every_number_has_bounds(setting: Setting) -> None:
    """A number of any size costs a message that begins with its field, and never memory or time."""
    for value in (math.inf, -math.inf, math.nan, 10**12, -(10**12), 10**400, -(10**5000)):
        fields: Any = value
        for name in reversed(setting.name.split(".")):
            fields = {name: fields}
        if value == 10**12 and setting.type is float and setting.name.startswith("search."):
            continue  # a penalty of any weight can be searched with
        with pytest.raises(ConfigError) as caught:
            config_from_dict(RunConfig, fields)
        assert setting.name.rpartition(".")[2] in str(caught.value)
        assert len(str(caught.value)) < 250


def test_every_setting_has_a_default_and_a_help_text() -> None:
    settings = list(settings_of(RunConfig))
    assert len(settings) > 80
    for setting in settings:
        assert setting.help.endswith("."), setting.name
        assert setting.default is not dataclasses.MISSING, setting.name


def test_the_configuration_loads_only_the_standard_library() -> None:
    code = "import sys, nmt.config; print([m for m in ('numpy', 'keras', 'tensorflow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
