"""docs/results.jsonl: its rows are complete, and the commands and configurations that it cites are today's."""

from __future__ import annotations

import json
import math
import re
import shlex
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from documentation import results
from nmt.cli import commands

ROWS = results.read()
PRECISIONS = {None, "float32", "mixed_bfloat16", "mixed_float16", "float16", "int8"}
NUMBERS = (int, float)
COMMANDS = {row["command"] for row in ROWS.values() if row["command"]}


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(results.ROOT)


def test_the_rows_fit_the_schema():
    for name, row in ROWS.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9.]+)*", name), name
        assert row["title"] and row["precision"] in PRECISIONS, name
        assert row["commit"] is None or re.fullmatch(r"[0-9a-f]{12}", row["commit"]), name
        assert row["date"] is None or date.fromisoformat(row["date"]), name
        assert row["superseded_by"] is None or row["superseded_by"] in ROWS, name
        assert isinstance(row["seed"], int | list | None), name
        assert isinstance(row["command"], str | None) and isinstance(row["machine"], str | None), name
        assert row["metrics"], name
        for field, value in row["metrics"].items():
            for number in value if isinstance(value, list) else [value]:
                assert isinstance(number, str) or isinstance(number, NUMBERS) and math.isfinite(number), (name, field)
            if field.endswith("_range"):
                assert value[0] <= row["metrics"][field.removesuffix("_range")] <= value[1], (name, field)
            elif isinstance(value, list) and isinstance(row["seed"], list):
                assert len(value) == len(row["seed"]), (name, field)


def test_error_rates_are_shares_and_bleu_is_a_percentage():
    for name, row in ROWS.items():
        for field, value in row["metrics"].items():
            values = value if isinstance(value, list) else [value]
            if re.search(r"(^|_)aer(_|$)", field):
                assert all(0 <= number <= 1 for number in values), (name, field)
            if re.search(r"(^|_)(bleu|chrf)(_|$)", field):
                assert all(0 <= number <= 100 for number in values), (name, field)


def test_corpora_are_named_with_one_hash_each():
    hashes: dict[str, set[str]] = {}
    for row in ROWS.values():
        if row["corpus"]:
            hashes.setdefault(row["corpus"]["name"], set()).add(row["corpus"]["sha256"])
    assert set(hashes) <= set(results.CORPORA)
    assert all(len(found) == 1 for found in hashes.values())
    assert hashes["demo"] == {results.corpus_hash("demo")}


def test_the_cited_configurations_are_todays():
    """After a deliberate change: scripts/documentation/fill.py --accept, if the measurements still hold."""
    hashes = {command: results.configuration_hash(command) for command in [*COMMANDS, None]}
    assert not [name for name, row in ROWS.items() if hashes[row["command"]] != row["configuration"]]
    assert sum(row["configuration"] is not None for row in ROWS.values()) > 40


def test_a_changed_setting_changes_the_hash_and_a_new_setting_that_is_off_does_not(monkeypatch):
    command = "nmt train --recipe 30k --config data/multi30k/tok-en-de.yaml"
    before = results.configuration_hash(command)
    assert results.configuration_hash(f"{command} --name other --training.live_view false") == before
    assert results.configuration_hash(f"{command} --model.dropout.readout 0.31") != before
    as_dictionary = results.config_to_dict

    def with_new_setting(config: Any) -> dict[str, Any]:
        values = as_dictionary(config)
        values["training"]["new"] = ""
        return values

    monkeypatch.setattr(results, "config_to_dict", with_new_setting)
    assert results.configuration_hash(command) == before


def test_the_cited_commands_are_there():
    """Commands of nmt are parsed with their flags; a script has the flags that its command gives."""
    parsers: dict[str, Any] = {}
    for command in [line for joined in COMMANDS for line in results.command_lines(joined)]:
        words = [word for word in shlex.split(command) if "=" not in word.split("/")[0]]
        if words[0] == "nmt":
            if words[1] not in parsers:
                parsers[words[1]] = commands._parsers(words[1])[0]
            _, rest = parsers[words[1]].parse_known_args(words[1:])
            assert not rest, command
        elif words[0] in ("python", "bash"):
            script = Path(words[1])
            assert script.is_file(), command
            code = script.read_text(encoding="utf-8")
            flags = [word for word in words if word.startswith("--")]
            assert all(flag in code for flag in flags), command
        else:
            assert words[0].strip("(") in ("head", "sed", "cat"), command


def test_a_row_with_other_fields_is_refused_with_its_line(tmp_path):
    path = tmp_path / "results.jsonl"
    first = json.dumps(next(iter(ROWS.values())))
    path.write_text(f'{first}\n{{"id": "x"}}\n', encoding="utf-8")
    with pytest.raises(results.ResultsError, match=r"results.jsonl, line 2: expected the fields id, title"):
        results.read(path)
    path.write_text(f"{first}\n{first}\n", encoding="utf-8")
    with pytest.raises(results.ResultsError, match="line 2: a second row"):
        results.read(path)


def test_rows_are_written_as_they_are_read(tmp_path):
    results.write(ROWS.values(), tmp_path / "copy.jsonl")
    assert (tmp_path / "copy.jsonl").read_bytes() == results.RESULTS.read_bytes()
