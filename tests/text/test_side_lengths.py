"""Shifted lines show in the lengths of both sides."""

from __future__ import annotations

import math
import random
from dataclasses import asdict

import numpy as np
import pytest
from commands import REPOSITORY
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.cli import main
from nmt.config import PairsConfig
from nmt.text.pairs import CorpusReport, PairReader
from nmt.text.side_lengths import WINDOW, correlation_of
from nmt.training.preparation.shards.parts import Part
from nmt.training.preparation.shards.reports import reading_lines, sum_of

DEMO = REPOSITORY / "data" / "demo"
QUESTION = "the lengths of sources and targets are unrelated"


@pytest.fixture(scope="module")
def demo() -> tuple[list[str], list[str]]:
    """The first 5,000 training pairs of the demo."""
    english, french = ((DEMO / f"train.{side}").read_text(encoding="utf-8").split("\n")[:5000] for side in ("en", "fr"))
    return english, french


def report_of(directory, sources: list[str], targets: list[str], kept: int | None = None) -> CorpusReport:
    for name, lines in (("s", sources), ("t", targets)):
        (directory / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    reader = PairReader(PairsConfig(source=str(directory / "s"), target=str(directory / "t")))
    assert len(list(reader)) == (len(sources) if kept is None else kept)
    return reader.report


@given(st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9)), min_size=2, max_size=50))
@settings(deadline=None)
def test_the_correlation_is_numpys(lengths):
    found = correlation_of(lengths)
    deviations = np.std(np.array(lengths), axis=0).min()
    assert (found is None) == (deviations < 0.15) or math.isclose(deviations, 0.15)
    if found is not None:
        np.testing.assert_allclose(found, np.corrcoef(np.array(lengths).T)[0, 1], atol=1e-9)


def test_translations_raise_no_question(tmp_path, demo):
    report = report_of(tmp_path, *demo)
    assert report.lengths_apart == [] and report.lengths_others == 10
    assert report.summary() == "5,000 pairs read, 5,000 kept"


def test_text_that_is_sorted_by_length_raises_none(tmp_path, demo):
    pairs = sorted(zip(*demo, strict=True), key=lambda pair: (len(pair[0]), pair))
    report = report_of(tmp_path, [one for one, _ in pairs], [other for _, other in pairs])
    assert report.shifted == ""


def test_a_missing_first_line_is_asked_about(tmp_path, demo):
    english, french = demo
    for pairs in (300, 4999):
        report = report_of(tmp_path, english[:pairs], french[1 : pairs + 1])
        assert report.shifted == (
            f"{QUESTION}: does each line translate the same line of the other file, from the first line on?"
        )
        assert report.summary().endswith(report.shifted)
    assert report_of(tmp_path, english[:299], french[1:300]).shifted == ""


def test_the_place_of_a_missing_line_is_named(tmp_path, demo):
    english, french = demo
    report = report_of(tmp_path, english[:-1], french[:2200] + french[2201:])
    assert report.shifted == f"{QUESTION} from about pair 2,501 on: is a line missing or doubled in one file?"


def test_the_end_of_a_shift_is_named(tmp_path, demo):
    english, french = demo
    shifted = french[:1000] + french[1001:3001] + french[1000:1001] + french[3001:]
    report = report_of(tmp_path, english, shifted)
    assert "unrelated from about pair 1,001 to 3,000: is" in report.shifted


def test_one_window_of_many_raises_no_question(tmp_path, demo):
    english, french = demo
    middle = french[WINDOW : 2 * WINDOW]
    random.Random(1).shuffle(middle)
    report = report_of(tmp_path, english, french[:WINDOW] + middle + french[2 * WINDOW :])
    assert report.lengths_apart == [[501, 1000, 1]] and report.shifted == ""


def test_windows_count_and_not_rows(tmp_path, demo):
    """Every second row has an empty side, so one window has 1,000 rows. The windows of even lengths are others too."""
    english, french = ([line for one in side[:1500] for line in (one, "")] for side in demo)
    middle = french[1000:2000:2]
    random.Random(1).shuffle(middle)
    french[1000:2000:2] = middle
    report = report_of(tmp_path, english, french, kept=1500)
    assert report.lengths_apart == [[1000, 1999, 1]] and report.shifted == ""
    even = ["one two three"] * 1000
    assert report_of(tmp_path, even + demo[0][:500], even + demo[1][1:501]).shifted == ""


def test_counts_of_blocks_add_up(tmp_path, demo):
    english, french = demo[0][:-1], demo[1][:2000] + demo[1][2001:]
    places = range(0, len(english), 1100)
    parts = [report_of(tmp_path, english[at : at + 1100], french[at : at + 1100]) for at in places]
    whole = sum_of([CorpusReport(**asdict(part)) for part in parts])
    assert whole.lengths_apart == [[2201, 4900, 5]] and whole.lengths_others == 4
    assert "unrelated from about pair 2,201 on" in whole.summary()


def test_a_file_of_several_is_named_with_its_own_pairs(tmp_path, demo):
    good, shifted = report_of(tmp_path, *demo), report_of(tmp_path, demo[0][:-1], demo[1][:2000] + demo[1][2001:])
    news, books = (Part(name, PairsConfig()) for name in ("news", "books"))
    units = [(news, PairsConfig(tsv="good.tsv")), (news, PairsConfig(tsv="bad.tsv")), (books, PairsConfig(tsv="b.tsv"))]
    warning, counts = reading_lines(news, units, [good, shifted, shifted], named=True)
    assert warning.startswith(f"warning: bad.tsv: {QUESTION} from about pair 2,001 on")
    assert counts == "news: 9,999 pairs read, 9,999 kept"
    assert list(reading_lines(books, units, [good, shifted, shifted], named=False)) == [shifted.summary()]


def test_commands_warn_of_shifted_lines(tmp_path, demo, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    report_of(tmp_path, demo[0][:-1], demo[1][1:])
    text = ["--source", "s", "--target", "t"]
    for command in (["clean", "--output-source", "o.s", "--output-target", "o.t"], ["predict-quality"]):
        assert main([*command, *text]) == 0
        assert f"nmt: warning: {QUESTION}: does each line" in capsys.readouterr().err
