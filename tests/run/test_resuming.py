"""Resuming a run: each setting may change, or a change is refused by name."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from nmt.config import RunConfig, TrainingConfig, VocabularyConfig, config_from_dict, config_to_dict
from nmt.config.training import GuidedConfig
from nmt.run.errors import RunError
from nmt.run.resuming import differing_settings, may_change, require_resumable, with_saved_values

MAY_CHANGE = {
    "name",
    "directory",
    "corpus.prepared",
    "corpus.source_language",
    "corpus.target_language",
    "corpus.source_words",
    "corpus.target_words",
    "training.passes",
    "training.log_every",
    "training.devices",
    "training.live_view",
    "training.validate_every",
    "training.schedule.more_passes",
    "training.patience",
    "training.precision",
    "training.checkpoints.every",
    "training.checkpoints.keep",
    "training.guided.weight",  # of a run that nothing guides, as here
    "training.guided.decay",
}
"""The settings that may change when a run is resumed, besides all settings of `search`."""


def leaves(values: dict[str, Any], prefix: str = "") -> list[str]:
    """Dotted names of all fields."""
    return [
        leaf
        for name, value in values.items()
        for leaf in (leaves(value, f"{prefix}{name}.") if isinstance(value, dict) else [prefix + name])
    ]


def changed(config: RunConfig, name: str) -> RunConfig:
    """A copy with another value in one field; nothing checks the type of the value."""
    first, _, rest = name.partition(".")
    old = getattr(config, first)
    copy = object.__new__(type(config))
    for field in dataclasses.fields(config):
        object.__setattr__(copy, field.name, getattr(config, field.name))
    object.__setattr__(copy, first, changed(old, rest) if rest else f"other than {old}")
    return copy


@pytest.mark.parametrize("name", leaves(config_to_dict(RunConfig())))
def test_each_setting_may_change_or_is_refused_by_name(name):
    saved = RunConfig()
    requested = changed(saved, name)
    if name in MAY_CHANGE or name.startswith("search."):
        require_resumable(saved, requested, Path("run"))
    else:
        with pytest.raises(RunError, match=rf"^run was begun with {name.replace('.', '[.]')} = .*, now it is .*other"):
            require_resumable(saved, requested, Path("run"))


@pytest.mark.parametrize("name", ["training.guided.weight", "training.guided.decay"])
@pytest.mark.parametrize("guide", [{"aligner": True}, {"guided": GuidedConfig(links="links")}])
def test_the_weight_of_a_guided_run_may_not_change(name, guide):
    saved = RunConfig(training=TrainingConfig(**guide))
    with pytest.raises(RunError, match=f"begun with {name}"):
        require_resumable(saved, changed(saved, name), Path("run"))


def test_a_configuration_that_was_saved_as_json_may_resume():
    config = RunConfig(vocabulary=VocabularyConfig(symbols=("<a>", "<b>")))
    require_resumable(config_from_dict(RunConfig, json.loads(json.dumps(config_to_dict(config)))), config, Path("run"))


def test_the_saved_value_stays_where_the_request_is_open_or_names_the_same_file(tmp_path):
    (tmp_path / "t.en").touch()
    saved = {
        "corpus": {"train": {"source": f"{tmp_path}/./t.en", "target": "t.fr"}, "source_language": "en"},
        "vocabulary": {"normalization": "nmt_nfkc", "character_coverage": 1.0},  # as version 0.1 has them
        "training": {"tokenize": "13a", "initial": ""},
    }
    new = {
        "corpus": {"train": {"source": f"{tmp_path}/t.en", "target": "gone/t.fr"}, "source_language": ""},
        "vocabulary": {"normalization": "auto", "character_coverage": 0.0},
        "training": {"tokenize": "auto", "initial": ""},
    }
    assert with_saved_values(saved, new) == saved
    given = {
        "corpus": {"train": {"source": "other/t.en"}, "source_language": "de", "on_long": "drop"},
        "vocabulary": {"normalization": "nfc", "character_coverage": 0.9995},
        "training": {"tokenize": "intl", "initial": "run"},
    }
    assert with_saved_values(saved, given) == given


def test_differing_settings_have_dotted_names_and_both_values():
    old = {"a": 1, "b": {"c": [2], "d": {"e": 3}}, "gone": {"f": 4}, "same": {"g": 5}}
    new = {"a": 1, "b": {"c": [2, 2], "d": {"e": 0}}, "gone": None, "same": {"g": 5}, "added": 1}
    assert differing_settings(old, new) == [("b.c", [2], [2, 2]), ("b.d.e", 3, 0), ("gone.f", 4, None)]
    assert differing_settings({"a": 1}, {}, "x.") == [("x.a", 1, None)]


def test_a_group_of_settings_may_change_as_a_whole():
    assert may_change("search") and may_change("search.beam_size") and may_change("training.checkpoints.keep")
    assert not may_change("search_more") and not may_change("training") and not may_change("training.validate_everyone")
