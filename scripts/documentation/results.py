"""The measurements of docs/results.jsonl, one row for each, with the command that repeats it.

| field | meaning |
| --- | --- |
| `id` | name of the row, which pages cite |
| `title` | the measured system, in words |
| `command` | what repeats the measurement, from the repository's root; `&&` joins several lines |
| `configuration` | SHA-256 of the settings that the command resolves to (`configuration_hash`); for `nmt train` only |
| `corpus` | name of the training text, and SHA-256 of its files (`CORPORA`) one after the other |
| `commit` | the commit that first records the measurement |
| `precision`, `seed`, `machine` | of the measurement; a list of seeds belongs to a list of values |
| `date` | of the measurement if it is known, else of the commit |
| `metrics` | values by name: a number, a list with one for each seed, or text; `NAME_range`: least and largest |
| `superseded_by` | the id of the row that has replaced this one |

A field that is not known is null. BLEU and chrF are from 0 to 100, error rates from 0 to 1, `mib` is memory or size in
MiB, and `minutes` are minutes of training steps.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nmt.config import config_to_dict
from nmt.errors import NmtError
from nmt.training.settings import load_config

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results.jsonl"
FIELDS = (
    ["id", "title", "command", "configuration", "corpus", "commit"]
    + ["precision", "seed", "machine", "date", "metrics", "superseded_by"]
)  # fmt: skip
"""The fields of a row, in this order."""

CORPORA = {
    "demo": ["data/demo/train.en", "data/demo/train.fr"],
    "multi30k-raw-en-de": ["data/multi30k/train.en", "data/multi30k/train.de"],
    "multi30k-raw-en-fr": ["data/multi30k/train.en", "data/multi30k/train.fr"],
    "multi30k-tok-en-de": ["data/multi30k/tok/train.en", "data/multi30k/tok/train.de"],
    "multi30k-tok-en-fr": ["data/multi30k/tok/train.en", "data/multi30k/tok/train.fr"],
    "tatoeba-en-fr": ["data/tatoeba/fra-eng.tsv"],
}
"""The training text of each corpus. Only the demo's is part of the repository."""

WITHOUT_EFFECT = {"directory", "name", "live_view", "log_every", "run", "initial", "links"}
"""Settings that change no result, or that name files."""


class ResultsError(NmtError):
    """A row, a citation or a table that does not fit."""


def read(path: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The rows by id.

    Raises:
        ResultsError: a line that is no row, with its number.
    """
    rows: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        row = json.loads(line)
        if list(row) != FIELDS:
            raise ResultsError(f"{path.name}, line {number}: expected the fields {', '.join(FIELDS)}")
        if row["id"] in rows:
            raise ResultsError(f"{path.name}, line {number}: a second row {row['id']}")
        rows[row["id"]] = row
    return rows


def write(rows: Iterable[dict[str, Any]], path: Path = RESULTS) -> None:
    """Writes the rows, one to a line."""
    lines = [json.dumps({field: row[field] for field in FIELDS}, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def command_lines(command: str | None) -> list[str]:
    """The lines of a command, which `&&` joins."""
    return command.split(" && ") if command else []


def configuration_hash(command: str | None) -> str | None:
    """SHA-256 of the settings that `nmt train ...` in a command resolves to; None without such a line.

    The groups model, vocabulary, training and search count. Settings that are off (null, false, 0, empty) are left out,
    so a new setting that is off by default changes no hash. The working directory must be the repository's root.
    """
    trainings = [shlex.split(line) for line in command_lines(command) if line.startswith("nmt train ")]
    if not trainings or not {"--vocabulary.run", "--training.initial"}.isdisjoint(trainings[0]):
        return None  # another run decides the settings
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--config")
    parser.add_argument("--recipe", default="")
    chosen, flags = parser.parse_known_args(trainings[0][2:])
    config = config_to_dict(load_config(chosen.config, flags, chosen.recipe))
    kept = {group: _settings_that_are_on(config[group]) for group in ("model", "vocabulary", "training", "search")}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()


def _settings_that_are_on(values: dict[str, Any]) -> dict[str, Any]:
    kept = {}
    for name, value in values.items():
        value = _settings_that_are_on(value) if isinstance(value, dict) else value
        if value and name not in WITHOUT_EFFECT:
            kept[name] = value
    return kept


def corpus_hash(name: str, root: Path = ROOT) -> str:
    """SHA-256 of the files of a corpus, one after the other."""
    digest = hashlib.sha256()
    for file in CORPORA[name]:
        digest.update((root / file).read_bytes())
    return digest.hexdigest()
