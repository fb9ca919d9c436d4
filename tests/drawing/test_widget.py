"""The page in a cell of a notebook."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import numpy as np
import pytest

import nmt
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.page import PageError, PageSentence, html_page
from nmt.translation.result import Translation, TranslationList


def translation(source: str, target: str, *log_probabilities: float) -> Translation:
    s, t = tuple(source.split()), tuple(target.split())
    words = WordAlignment(s, t, np.eye(len(t), len(s)), 1 - np.eye(len(t), len(s)).sum(axis=1))
    return Translation(source, target, -1.25, -1.25, words, word_log_probabilities=log_probabilities)


ONE, OTHER = translation("a b", "x y", 0.0, -1.0), translation("a b", 'x "</iframe><script>')


def sentences(widget: Any) -> list[Any]:
    """The data in the page of a widget, as a browser takes it out of the cell."""
    (page,) = re.findall(r'srcdoc="([^"]*)"', widget._repr_html_())
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html.unescape(page))
    return list(json.loads(data)["sentences"])


def test_a_cell_holds_the_page_of_its_translations() -> None:
    widget = nmt.widget(ONE, "a title")
    assert widget.page == html_page([PageSentence([ONE])], "a title")
    assert 'sandbox="allow-scripts"' in widget._repr_html_()
    assert [len(one["translations"]) for one in sentences(nmt.widget([ONE, TranslationList([ONE, OTHER])]))] == [1, 2]
    assert [len(one["translations"]) for one in sentences(nmt.widget(TranslationList([ONE, OTHER])))] == [2]
    erased = PageSentence([ONE], erasure=[[1.0, 0.0], [0.0, 2.0]])
    assert sentences(nmt.widget(erased))[0]["erasure"] == [[1.0, 0.0], [0.0, 2.0]]


def test_words_have_their_probability() -> None:
    (shown,) = sentences(nmt.widget(TranslationList([ONE, OTHER])))
    assert [one["probabilities"] for one in shown["translations"]] == [[1.0, 0.3679], None]


def test_anything_else_is_refused() -> None:
    with pytest.raises(PageError, match="a str: expected translations"):
        nmt.widget(["a text"])  # type: ignore[list-item]
