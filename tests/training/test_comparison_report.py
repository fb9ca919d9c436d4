"""The report of a comparison, on outcomes whose numbers are known."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from nmt.training.comparison import ComparisonError, read_plan
from nmt.training.comparison.outcomes import Outcome, Paths, read_outcomes
from nmt.training.comparison.plan import ComparisonPlan
from nmt.training.comparison.report import line_to_draw, write_report

SHORT, LONG = "a small house", "a small house and a tall tree and a green garden"
REFERENCES = ["ein kleines Haus"] * 20 + ["ein kleines Haus und ein hoher Baum und ein gruener Garten"] * 20
WORSE = ["ein kleines Haus"] * 20 + ["x y z v"] * 20
OUTCOMES = {
    "first-1": Outcome("first", 1, 30.0, 50.0, None, 1000, 2.0, 10, 500, 1000, "float32", 1),
    "first-2": Outcome("first", 2, 32.0, 52.0, None, 3000, 2.0, 10, 700, 1000, "float32", 1),
    "second-1": Outcome("second", 1, 28.0, 49.0, None, 2000, 2.0, 10, 600, 2500, "float32", 1),
    "second-2": Outcome("second", 2, 29.0, 49.0, None, 2000, 2.0, 10, 600, 2500, "float32", 1),
}


@pytest.fixture
def plan(tmp_path: Path) -> ComparisonPlan:
    """Two variants without attention, which need no model for the report."""
    sources = [SHORT] * 20 + [LONG] * 20
    for name, lines in (("source", sources), ("target", REFERENCES)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    pair = {"source": str(tmp_path / "source"), "target": str(tmp_path / "target")}
    (tmp_path / "config.yaml").write_text(json.dumps({"corpus": {"train": pair}}))
    values = {
        "about": "Two networks.",
        "config": str(tmp_path / "config.yaml"),
        "common": {"model": {"attention": {"score": "none"}}},
        "test": pair,
        "seeds": 2,
        "variants": {"first": None, "second": {"model": {"units": 16}}},
    }
    (tmp_path / "variants.yaml").write_text(json.dumps(values))
    return read_plan(tmp_path / "variants.yaml", tmp_path / "out")


def measured(output: Path, *names: str) -> None:
    """Writes the outcomes of these runs; the first variant translated everything, the second only short sentences."""
    for name in names:
        paths = Paths.of(output, name)
        for path in (paths.outcome, paths.translation):
            path.parent.mkdir(parents=True, exist_ok=True)
        paths.outcome.write_text(json.dumps(asdict(OUTCOMES[name])))
        lines = REFERENCES if name.startswith("first") else WORSE
        paths.translation.write_text("".join(f"{line}\n" for line in lines))


def rows_of(report: Path, heading: str) -> dict[str, list[str]]:
    """The cells of each row of the table with this heading, by the first cell."""
    tables = [part.splitlines() for part in report.read_text().split("\n\n") if part.startswith("|")]
    (table,) = [lines for lines in tables if heading in lines[0]]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return {first: others for first, *others in [cells[0], *cells[2:]]}


def test_the_table_has_means_ranges_and_differences(plan: ComparisonPlan, tmp_path: Path) -> None:
    output = tmp_path / "out"
    measured(output, *OUTCOMES)
    rows = rows_of(write_report(plan, output), "BLEU against")
    first = ["2", "1,000", "31.00 (30.00 to 32.00)", "51.00 (50.00 to 52.00)", "-", "2,000 (1,000 to 3,000)"]
    assert rows["first"] == [*first, "600 (500 to 700)", "", ""]
    second = ["2", "2,500", "28.50 (28.00 to 29.00)", "49.00 (49.00 to 49.00)", "-", "2,000 (2,000 to 2,000)"]
    assert rows["second"] == [*second, "600 (600 to 600)", "-2.50", "-"]


def test_the_report_says_what_was_compared(plan: ComparisonPlan, tmp_path: Path) -> None:
    output = tmp_path / "out"
    measured(output, *OUTCOMES)
    text = write_report(plan, output).read_text()
    assert "\nTwo networks.\n" in text
    assert "4 trainings, 1 at once; float32; nmt " in text
    assert '| second | `{"model": {"units": 16}}` |' in text


def test_bleu_by_length_is_measured_in_each_bucket(plan: ComparisonPlan, tmp_path: Path) -> None:
    output = tmp_path / "out"
    measured(output, *OUTCOMES)
    rows = rows_of(write_report(plan, output), "1-10 (20)")
    assert rows["variant"] == ["1-10 (20)", "11-15 (20)"]
    assert rows["first"] == ["100.0"] * 2
    assert rows["second"][0] == "100.0" and float(rows["second"][1]) < 5
    assert (output / "by_length.png").read_bytes().startswith(b"\x89PNG")


def test_other_line_separators_stay_within_their_translation(plan: ComparisonPlan, tmp_path: Path) -> None:
    output = tmp_path / "out"
    measured(output, "first-1")
    lines = [REFERENCES[0] + "\u2028", *REFERENCES[1:]]
    Paths.of(output, "first-1").translation.write_text("".join(f"{line}\n" for line in lines))
    (found,) = read_outcomes(plan, output)
    assert found.translations == lines


def test_each_outcome_is_a_row_of_the_csv(plan: ComparisonPlan, tmp_path: Path) -> None:
    output = tmp_path / "out"
    measured(output, "first-1", "second-1")
    write_report(plan, output)
    rows = list(csv.DictReader((output / "outcomes.csv").open()))
    assert [(row["variant"], row["seed"], row["bleu"]) for row in rows] == [
        ("first", "1", "30.0"),
        ("second", "1", "28.0"),
    ]


def test_without_attention_an_old_drawing_is_deleted(plan: ComparisonPlan, tmp_path: Path) -> None:
    output = tmp_path / "out"
    measured(output, "first-1")
    (output / "attention.png").write_bytes(b"old")
    assert "## Attention" not in write_report(plan, output).read_text()
    assert not (output / "attention.png").exists()


def test_before_the_first_outcome_there_is_nothing_to_report(plan: ComparisonPlan, tmp_path: Path) -> None:
    with pytest.raises(ComparisonError, match="no training is done yet: there is nothing to report"):
        write_report(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_drawn_sentence_is_the_first_of_eight_words_or_the_chosen_one() -> None:
    assert line_to_draw(0, [SHORT, LONG, LONG]) == 1
    assert line_to_draw(0, [SHORT, SHORT]) == 0
    assert line_to_draw(0, ["a", LONG.replace(" ", "")], list) == 1  # a language without spaces
    assert line_to_draw(2, [SHORT, SHORT]) == 1
    with pytest.raises(ComparisonError, match="--sentence 3: the test set has 2 lines"):
        line_to_draw(3, [SHORT, SHORT])
