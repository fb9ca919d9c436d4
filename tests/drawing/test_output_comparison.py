"""The page of the sentences that systems translate most differently."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from browsing import CHROMIUM, chromium, contrast
from hypothesis import given
from hypothesis import strategies as st

from nmt.drawing.output_comparison import ComparedSentence, ComparisonPage, comparison_page
from nmt.drawing.output_comparison.page import differing

EVIL = '</style><script>alert(1)</script> & "x" \ud800'
CAT = ComparedSentence(
    line=7,
    source=["le", "chat", "noir"],
    reference=["the", "black", "cat"],
    outputs=[["the", "black", "cat"], ["a", "black", "dog"]],
    scores=[["chrF2 100.0"], ["chrF2 40.0"]],
    best=0,
    difference="60.0",
)
HEBREW = ComparedSentence(8, [], ["שלום", "עולם"], [["שלום"], ["hello"]], [["1"], ["2"]], 1, "1")
PAGE = ComparisonPage(
    "2 systems", 9, ["one", "two"], ["BLEU"], [["30.0"], ["20.0"]], ["a note"], [CAT, HEBREW], languages=("fr", "en")
)


class Parsed(HTMLParser):
    """Tags and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_texts_are_escaped_and_no_script_can_run() -> None:
    sentence = replace(CAT, source=[EVIL], reference=[EVIL], outputs=[[EVIL], ["x"]], scores=[[EVIL], [EVIL]])
    page = comparison_page(
        ComparisonPage(EVIL, 1, [EVIL, "two"], [EVIL], [[EVIL], [EVIL]], [EVIL], [sentence], languages=(EVIL, EVIL))
    )
    parsed = Parsed(page)
    assert "script" not in parsed.tags and "script-src &" not in page and "script-src 'none'" in page
    assert sum("alert(1)" in text for text in parsed.texts) > 5
    page.encode()


def test_the_number_beside_a_line_is_explained() -> None:
    said = " ".join(Parsed(comparison_page(PAGE)).texts)
    assert "2 of 9 sentences, the largest difference first." in " ".join(said.split())
    assert "The number beside a line is chrF2 of two less chrF2 of one ." in " ".join(said.split())
    more = replace(PAGE, systems=["one", "two", "three"], rows=[["1"]] * 3, sentences=[])
    assert "is chrF2 of the best system less chrF2 of the worst." in comparison_page(more)


def test_words_that_the_reference_lacks_are_marked() -> None:
    marked = re.findall(r'class="different"><span class="text">([^<]*)<', comparison_page(PAGE))
    assert marked == ["word", "a", "dog", "hello"]  # the first one is the legend's


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_unmarked_words_are_in_the_reference_in_their_order(words, others) -> None:
    left = [word for place, word in enumerate(words) if place not in differing(words, others)]
    remaining = iter(others)
    assert all(word in remaining for word in left)
    assert differing(words, words) == set()


def test_a_page_has_directions_languages_and_text_without_spaces() -> None:
    page = comparison_page(PAGE)
    assert '<dd dir="rtl" lang="en">שלום עולם</dd>' in page and '<dd dir="ltr" lang="fr">le chat noir</dd>' in page
    joined = comparison_page(replace(PAGE, sentences=[replace(CAT, reference=["黒い", "猫"])], joiner=""))
    assert ">黒い猫</dd>" in joined
    assert "differ nowhere" in comparison_page(replace(PAGE, sentences=[]))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_a_browser_shows_the_page_in_light_and_dark_and_chooses_sentences(tmp_path) -> None:
    pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
    path = tmp_path / "page.html"
    path.write_text(comparison_page(PAGE), encoding="utf-8")
    with chromium() as browser:
        for scheme in ("light", "dark"):
            page = browser.new_page(color_scheme=scheme, viewport={"width": 380, "height": 700})
            problems: list[str] = []
            page.on("console", lambda message, problems=problems: problems.append(message.text))
            page.goto(path.as_uri())
            for text in (".compared dt", ".compared dd", "header p", "header td", "legend"):
                assert contrast(page.locator(text).first) >= 4.5
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            page.check("#second-better")
            assert page.locator("article:visible h2").all_inner_texts() == ["line 8 1"]
            page.check("#all")
            assert page.locator("article:visible").count() == 2
            assert not problems
