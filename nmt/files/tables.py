"""Cells of tables in text files, whose columns are separated by tabs."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)*")


def without_formula(text: str) -> str:
    """The text with an apostrophe before = + - or @, where a spreadsheet would run a formula. Numbers stay bare."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) and not _NUMBER.fullmatch(text) else text


def cell(text: str) -> str:
    """The text as one cell: `without_formula`, and with spaces in place of tabs and line ends."""
    return without_formula(re.sub(r"[\t\r\n]", " ", text))
