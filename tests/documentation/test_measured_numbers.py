"""Measured numbers of the documentation come from docs/results.jsonl, and a number from elsewhere is found."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from documentation import fill, results
from documentation.measured_numbers import measured_numbers

ROWS = results.read()
TABLES = yaml.safe_load((results.ROOT / fill.TABLES).read_text(encoding="utf-8"))


def row(name, machine=None, day="2026-11-26", **metrics):
    fields = dict.fromkeys(results.FIELDS) | {"id": name, "machine": machine, "date": day, "metrics": metrics}
    return {name: fields | {"command": f"nmt train --name {name}"}}


MADE = (
    row("one", "A", bleu=41.357, tokens_per_second=12414, tokens_per_second_range=[11392, 13254])
    | row("two", "A", bleu=40.643, minutes=9.04, unit="ms")
    | row("seeds", "B", "2026-10-02", aer=[0.1, 0.2])
)


def test_every_page_shows_todays_numbers():
    """scripts/documentation/fill.py mends what differs."""
    for page in fill.pages():
        text = page.read_text(encoding="utf-8")
        assert fill.fill(text, ROWS, TABLES) == text, page


def test_every_table_can_be_written():
    for name, layout in TABLES.items():
        assert fill.table(ROWS, layout).count("\n") == len(layout["rows"]) + 3, name
        assert fill.commands(ROWS, layout).count("```") == 2, name


def test_no_page_has_a_measured_number_of_its_own():
    found = [
        f"{page.relative_to(results.ROOT)}:{line}: {words}"
        for page in fill.pages()
        for line, words in measured_numbers(page.read_text(encoding="utf-8"))
    ]
    assert not found


def test_numbers_have_the_digits_of_their_field_and_means_their_range():
    assert fill.cell(MADE, ["one"], "bleu") == "41.4"
    assert fill.cell(MADE, ["one", "two"], "bleu") == "41.0 (40.6 to 41.4)"
    assert fill.cell(MADE, ["one"], "tokens_per_second") == "12,414 (11,392 to 13,254)"
    assert fill.cell(MADE, ["one"], "tokens_per_second", ranges=False) == "12,414"
    assert fill.cell(MADE, ["seeds"], "aer") == "0.150 (0.100 to 0.200)"
    assert fill.cell(MADE, ["two"], "minutes") == "9"
    assert fill.cell(MADE, ["two"], "unit") == "ms"
    assert fill.cell(MADE, ["two"], "aer") == ""


def test_prose_and_tables_are_filled_and_stay_as_they_are():
    tables = {
        "few": {
            "first": "system",
            "columns": {"BLEU": "bleu"},
            "rows": {"ours": "one", "both": {"BLEU": "one two bleu"}},
        }
    }
    page = (
        "It has <!-- result: one bleu -->0<!-- / --> BLEU.\n\n<!-- table: few -->\nold\n<!-- / -->\n\n"
        "<!-- commands: few -->\n<!-- / -->\n"
    )
    filled = fill.fill(page, MADE, tables)
    assert filled == (
        "It has <!-- result: one bleu -->41.4<!-- / --> BLEU.\n\n<!-- table: few -->\n\n"
        "| system | BLEU |\n| --- | ---: |\n| ours | 41.4 |\n| both | 41.0 (40.6 to 41.4) |\n\n"
        "*Measured: A, 26 November 2026.*\n\n<!-- / -->\n\n"
        "<!-- commands: few -->\n\n<details><summary>Commands that repeat this table</summary>\n\n"
        "```text\nnmt train --name one\nnmt train --name two\n```\n\n</details>\n\n<!-- / -->\n"
    )
    assert fill.fill(filled, MADE, tables) == filled


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("<!-- result: none bleu --><!-- / -->", "no row none"),
        ("<!-- result: one aer --><!-- / -->", "one has no aer; it has bleu"),
        ("<!-- table: none -->\n<!-- / -->", "no table none"),
    ],
)
def test_a_citation_of_nothing_is_refused(page, message):
    with pytest.raises(results.ResultsError, match=message):
        fill.fill(page, MADE, {})


@pytest.mark.parametrize(
    "text",
    [
        "It has 41.4 BLEU.",
        "It reaches BLEU 41.",
        "an AER of 0.106",
        "It takes 716 MiB.",
        "It takes 12.5 ms.",
        "It trains on 9,277 target tokens a second.",
        "It translates 140 sentences/s.",
        "It is 3 times as fast.",
        "It is 5.7 times JoeyNMT.",
        "a precision of 0.92",
        "It gains\n2 points of BLEU.",
    ],
)
def test_a_measured_number_is_found(text):
    assert len(list(measured_numbers(f"# Title\n\n{text}\n"))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "Hold out 1,000 pairs.",
        "`--limit 600 MiB` and 3 epochs",
        "```text\nBLEU 41.4\n```",
        "<!-- given -->5 MiB<!-- / --> is the limit.",
        "It has <!-- result: one bleu -->41.4<!-- / --> BLEU.",
        "BLEU counts up to 4 words.",
    ],
)
def test_other_numbers_are_not(text):
    assert not list(measured_numbers(text))


def test_a_number_is_named_with_its_line():
    assert list(measured_numbers("# Title\n\nIt has\n41 BLEU.\n")) == [(4, "41 BLEU")]


def test_the_scripts_find_this_repository():
    assert (Path(results.ROOT) / "setup.cfg").is_file()
