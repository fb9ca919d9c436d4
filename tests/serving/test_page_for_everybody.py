"""The page of `nmt serve` for everybody: other scripts, fingers, keyboards, readers of the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_translator
import pytest
from accessibility import barriers, needs_axe
from browsing import CHROMIUM, contrast
from served_page import Opened, drop, serving
from small_server import Fake

from nmt.serving.models import Models, ServedModel
from nmt.text.languages import Language
from nmt.text.languages.words import words_of_language
from nmt.translation.result import Translation

pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


class Japanese(Fake):
    """Writes the words of a Japanese sentence with blanks between them, each with its number."""

    def __init__(self) -> None:
        super().__init__("ja", "en")
        self.cut = self.run.source.words = words_of_language(Language.of("ja"))  # type: ignore[assignment]

    def answer(self, requests: Iterable[Any], *_: Any, **__: Any) -> Iterator[list[Translation]]:
        for request in requests:
            words = tuple(self.cut(request.text))
            target = tuple(f"{word}{number}" for number, word in enumerate(words))
            made = fake_translator.make_pair(" ".join(words), " ".join(target), truncated=False)
            yield [replace(made, source=request.text)]

    def align(self, sources: Iterable[str], targets: Iterable[str], *_: Any) -> Iterator[Translation]:
        for source, target in zip(sources, targets, strict=True):
            yield fake_translator.make_pair(" ".join(self.cut(source)), target, truncated=False)


@pytest.mark.slow
def test_an_input_method_may_finish_a_word_before_it_is_translated(show: Callable[..., Opened]) -> None:
    opened = show()
    before = len(opened.requests)
    opened.page.locator("#text").focus()
    devices = opened.page.context.new_cdp_session(opened.page)
    devices.send("Input.imeSetComposition", {"text": "ね", "selectionStart": 1, "selectionEnd": 1})
    opened.page.wait_for_timeout(800)
    assert len(opened.requests) == before
    devices.send("Input.insertText", {"text": "猫"})
    opened.shows("猫")


@pytest.mark.slow
def test_text_from_right_to_left_runs_from_the_right(show: Callable[..., Opened]) -> None:
    opened = show("#text=the+new+book")
    opened.shows("ה חדש ספר")
    first, last = opened.word("ה").bounding_box()["x"], opened.word("ספר").bounding_box()["x"]
    assert first > last
    assert opened.word("the").bounding_box()["x"] < opened.word("book").bounding_box()["x"]
    opened.word("ה").focus()
    opened.page.keyboard.press("ArrowLeft")
    assert opened.page.evaluate("document.activeElement.querySelector('.text').textContent") == "חדש"
    row = opened.page.locator(".result .words").nth(1)
    assert (row.get_attribute("dir"), row.get_attribute("lang")) == ("rtl", "he")


@pytest.mark.slow
def test_a_sentence_without_blanks_is_shown_word_by_word(show_at: Callable[..., Opened]) -> None:
    text = "\u79c1\u306f\u732b\u304c\u597d\u304d\u3067\u3059\u3002"  # I like cats.
    words = words_of_language(Language.of("ja"))(text)
    assert len(words) > 2 and "".join(words) == text
    with serving(Models([ServedModel("ja", Path("ja"), lambda _: Japanese())])) as address:
        opened = show_at(address)
        opened.type(text)
        opened.shows(" ".join(f"{word}{number}" for number, word in enumerate(words)))
        assert opened.words(0)[: len(words)] == words
        assert opened.page.locator(".result .words").nth(0).get_attribute("lang") == "ja"
        opened.word(f"{words[1]}1").hover()
        assert "attention" in opened.word(words[1]).get_attribute("class")
        opened.word(words[1]).click()
        opened.page.get_by_role("group", name=f"without {words[1]}").wait_for()
        without = opened.page.locator(".without .words").nth(0).locator(".text").all_inner_texts()
        assert without[0] == f"{words[0]}0" and not any(words[1] in word for word in without)


@pytest.mark.slow
def test_a_source_from_right_to_left_runs_from_the_right(show_at: Callable[..., Opened]) -> None:
    source = "\u05d4\u05e1\u05e4\u05e8 \u05d4\u05d7\u05d3\u05e9 \u05db\u05d0\u05df"  # the new book is here
    words = source.split()
    with serving(Models([ServedModel("he", Path("he"), lambda _: Fake("he", "en"))])) as address:
        opened = show_at(address)
        opened.type(source)
        opened.until("document.querySelectorAll('.result .words').length === 2")
        assert opened.page.locator("#text").evaluate("e => getComputedStyle(e).direction") == "rtl"
        row = opened.page.locator(".result .words").nth(0)
        assert (row.get_attribute("dir"), row.get_attribute("lang")) == ("rtl", "he")
        boxes = [row.locator(".text").nth(place).bounding_box()["x"] for place in range(3)]
        assert boxes == sorted(boxes, reverse=True)
        row.locator(".word").nth(0).focus()
        opened.page.keyboard.press("ArrowLeft")
        assert opened.page.evaluate("document.activeElement.querySelector('.text').textContent") == words[1]
        row.locator(".word").nth(1).click()
        opened.page.get_by_role("group", name=f"without {words[1]}").wait_for()


@pytest.mark.slow
def test_a_finger_lights_a_word_first_and_leaves_it_out_then(show: Callable[..., Opened]) -> None:
    opened = show("#text=one+two", viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True)
    opened.shows("ONE TWO")
    opened.word("two").tap()
    assert opened.word("TWO").locator(".value").inner_text() == "1.00"
    assert opened.page.locator(".without").count() == 0
    opened.word("two").tap()
    opened.page.locator(".without").wait_for()
    opened.press("Heat map")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
def test_the_keyboard_reaches_everything(show: Callable[..., Opened]) -> None:
    opened = show("#text=one+two")
    opened.shows("ONE TWO")
    opened.page.locator("#text").focus()
    reached = []
    for _ in range(14):
        opened.page.keyboard.press("Tab")
        reached.append(opened.page.evaluate("document.activeElement.textContent.trim() || document.activeElement.id"))
    for name in ("Copy link", "Translate a file", "Settings", "one", "ONE", "Copy", "Edit", "Heat map", "Download"):
        assert name in reached, (name, reached)
    opened.word("one").focus()
    opened.page.keyboard.press("Enter")  # on a word that is lit
    opened.page.get_by_role("group", name="without one").wait_for()
    opened.page.get_by_role("button", name="put the word back").press("Enter")
    assert opened.page.locator(".without").count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_elements_have_names_and_readable_colours(show: Callable[..., Opened], scheme: str) -> None:
    opened = show("#text=one+two&alternatives=2", color_scheme=scheme)
    opened.shows("ONE TWO")
    page = opened.page
    assert page.get_by_role("textbox", name="Text to translate").count() == 1
    assert page.get_by_role("alert").count() == 1 and page.get_by_role("status").count() == 2
    assert page.get_by_role("group", name="source").get_by_role("button").count() == 3
    for locator in ("#hint", "h2 >> nth=0", "h3 >> nth=0", "#copy-link", ".past .quiet", "#legend span >> nth=0"):
        assert contrast(page.locator(locator).first) >= 4.5, locator
    nameless = page.evaluate("""() => [...document.querySelectorAll("button, input, textarea, summary")]
        .filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).map(e => e.outerHTML)""")
    assert nameless == []


@needs_axe
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_barrier(show: Callable[..., Opened], scheme: str) -> None:
    opened = show(color_scheme=scheme)
    assert barriers(opened.page) == []  # the page at the start
    opened.page.get_by_text("Settings").click()
    opened.page.get_by_label("alternatives").fill("2")
    opened.page.get_by_label("probability of each word").check()
    opened.type("one two\nthree")
    opened.shows("ONE TWO TWO", row=2)
    opened.word("two").hover()
    assert barriers(opened.page) == []  # results, with lit words
    opened.word("two").click()
    opened.page.get_by_role("group", name="without two").wait_for()
    assert barriers(opened.page) == []  # a word is left out
    opened.press("Heat map")
    opened.page.locator(".heatmap").wait_for()
    assert barriers(opened.page) == []
    opened.page.get_by_role("radio", name="erasure").check()
    opened.until("!document.querySelector('.heatmap').textContent.includes('end of')")
    assert barriers(opened.page) == []
    opened.press("Edit")
    opened.page.get_by_label("your translation").fill("eins zwei")
    opened.shows("eins zwei")
    opened.page.get_by_text("Download").first.click()
    assert barriers(opened.page) == []  # the editor, and the list of downloads
    drop(opened, "menu.txt", "one\n")
    opened.page.get_by_role("button", name="Save menu.he.txt").wait_for()
    assert barriers(opened.page) == []  # a file is done
