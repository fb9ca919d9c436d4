"""A run on a corpus of `nmt prepare`: its settings, its copies of the small files, and the reference to the pairs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt.config import ConfigError, RunConfig, config_from_dict, config_to_dict
from nmt.config.flags import nested
from nmt.config.reading import merge_fields
from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError
from nmt.run.prepared_manifest import REPORT, VALIDATION, read_prepared
from nmt.run.resuming import differing_settings
from nmt.run.text_changes import TEXT_FINGERPRINTS
from nmt.run.text_profile import PROFILE
from nmt.run.vocabularies import vocabulary_names
from nmt.training.preparation.corpus_files import REPORT as RUN_REPORT
from nmt.training.preparation.validation_pairs import VALIDATION as RUN_VALIDATION

_FREE = ("temperature", "source_language", "target_language", "source_words", "target_words")
"""Settings of a corpus that a training may change: they do not decide on the prepared files."""


def prepared_fields(directory: str) -> dict[str, Any]:
    """The settings of a prepared corpus, to lie below those that the user gives.

    Raises:
        RunError: there is no prepared corpus.
    """
    return read_prepared(Path(directory)).settings


def with_prepared_settings(config: RunConfig) -> RunConfig:
    """The configuration of a program, in which a setting that has its default is the one of the prepared corpus.

    Raises:
        RunError: there is no prepared corpus.
        ConfigError: a setting of the text has another value; names the setting.
    """
    given = config_to_dict(config)
    changed = {name: new for name, _, new in differing_settings(config_to_dict(RunConfig()), given)}
    fields = merge_fields(merge_fields(given, prepared_fields(config.corpus.prepared)), nested(changed))
    filled: RunConfig = config_from_dict(RunConfig, fields)
    require_prepared_settings(filled)
    return filled


def require_prepared_settings(config: RunConfig) -> None:
    """Refuses settings of the text that a prepared corpus has decided otherwise.

    Raises:
        ConfigError: names the setting.
    """
    settings = read_prepared(Path(config.corpus.prepared)).settings
    given = config_to_dict(config)
    for group in ("corpus", "vocabulary"):
        for name, old, new in differing_settings(settings[group], given[group], f"{group}."):
            if name.partition(".")[2] not in _FREE:
                raise ConfigError(
                    f"{name} is {new!r}, but {config.corpus.prepared} was prepared with {old!r}: leave it out, or "
                    "prepare another corpus"
                )
    for name, value in (("guided.links", config.training.guided.links), ("aligner", config.training.aligner)):
        if value:
            raise ConfigError(f"training.{name} needs links of the pairs, and a prepared corpus has none: leave it out")


def write_run_files(directory: Path, config: RunConfig, say: Callable[[str], None]) -> None:
    """Copies the small files of a prepared corpus into a new run; the pairs stay where they are.

    Raises:
        RunError: the prepared corpus is damaged.
    """
    prepared = Path(config.corpus.prepared)
    manifest = read_prepared(prepared)
    (directory / "corpus").mkdir(parents=True, exist_ok=True)
    copies = {VALIDATION: RUN_VALIDATION, REPORT: RUN_REPORT, PROFILE: PROFILE}
    try:
        for name, place in (copies | {name: name for name in vocabulary_names(config.vocabulary.shared)}).items():
            content = (prepared / name).read_bytes()
            manifest.require_whole(prepared, name, content)
            write_atomically(directory / place, content)
    except FileNotFoundError as error:
        raise RunError(
            f"{error.filename}: is gone: restore the file, or delete {prepared} and prepare it again with nmt prepare"
        ) from None
    write_atomically(directory / TEXT_FINGERPRINTS, json.dumps({"prepared": manifest.digest}).encode())
    for line in (directory / RUN_REPORT).read_text(encoding="utf-8").splitlines():
        say(line)
