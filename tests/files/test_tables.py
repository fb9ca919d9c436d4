"""Cells of tables in text files."""

from __future__ import annotations

import pytest

from nmt.files.tables import cell, without_formula


@pytest.mark.parametrize("text", ["=1+1", "+a", "-", "@a", "-1.", "+1 2"])
def test_a_spreadsheet_runs_no_formula(text):
    assert without_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "-1", "+1,000.5", "1-2", " =1"])
def test_numbers_and_other_text_stay_bare(text):
    assert without_formula(text) == text


def test_a_cell_stays_one_cell():
    assert cell("-a\tb\r\nc") == "'-a b  c"
