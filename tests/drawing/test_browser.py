"""The HTML page in a real browser: Chromium without a window, driven by Playwright."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from accessibility import barriers, needs_axe
from browsing import CHROMIUM, OpenedPage, contrast

from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.page import PageSentence, save, widget
from nmt.drawing.training_view import TrainingPage, charts_of, training_page
from nmt.translation.result import Translation

pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")


@dataclass(frozen=True)
class Translated:
    text: str
    log_probability: float
    alignment: WordAlignment


def translated(source: str, target: str, weights: Any, log_probability: float = -1.5) -> Translated:
    rows = np.asarray(weights, np.float32)
    return Translated(
        target, log_probability, WordAlignment(tuple(source.split()), tuple(target.split()), rows[:, :-1], rows[:, -1])
    )


CAT = translated("le chat noir", "the black cat", [[0.8, 0.1, 0.0, 0.1], [0, 0.2, 0.75, 0.05], [0, 0.9, 0.1, 0]], -1)
CAT_TOO = translated("le chat noir", "a cat", [[0.6, 0.1, 0.1, 0.2], [0.1, 0.7, 0.2, 0]], -2)
GOLD = Gold(frozenset({(1, 2)}), frozenset({(1, 2), (0, 2)}))
ERASURE = [[2.0, 0.0, -0.5], [0.0, 0.1, 4.0], [0.0, 3.0, -1.0]]
ARABIC = translated("الكتاب الجديد", "new book", [[0.1, 0.9, 0], [0.9, 0.1, 0]])
JAPANESE = translated("黒い 猫", "black cat", [[0.9, 0.1, 0], [0.1, 0.9, 0]])
EVIL = translated('<script>alert(1)</script> & "x"', "<img/src=x/onerror=alert(2)> </script> y", np.full((3, 4), 0.25))


class Opened(OpenedPage):
    """A drawn page."""

    def word(self, text: str, sentence: int = 0) -> Any:
        found = self.page.locator("article").nth(sentence).locator(".word")
        return found.filter(has=self.page.locator(f'.text:text-is("{text}")')).first

    def shown_values(self, sentence: int = 0) -> dict[str, str]:
        """The words that show a value, with their values."""
        shown = self.page.locator("article").nth(sentence).locator(".word:has(.value:not(:empty))").all()
        return {word.locator(".text").inner_text(): word.locator(".value").inner_text() for word in shown}

    def classes(self, text: str) -> set[str]:
        return set(self.word(text).get_attribute("class").split())

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.querySelector('.text')?.textContent"))

    def open_table(self) -> None:
        """Opens the first table, and waits for its rows: the page makes them after the click."""
        self.page.get_by_text("table", exact=True).first.click()
        self.page.locator("tbody tr").first.wait_for()

    @property
    def status(self) -> str:
        """The status line without its invisible direction marks."""
        text: str = self.page.locator("#status").inner_text()
        return text.replace("\u2068", "").replace("\u2069", "")


@pytest.fixture
def show_file(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a page; after the test, the page must have loaded only itself and reported no problem."""
    made: list[tuple[Opened, str]] = []

    def open_page(path: Path, **settings: Any) -> Opened:
        opened = Opened.watched(browser, 10_000, **settings)
        opened.page.on("dialog", lambda dialog: (opened.problems.append(dialog.message), dialog.dismiss()))
        opened.page.goto(path.as_uri())
        # Text is invisible until the browser draws its article (content-visibility), late on a busy machine.
        opened.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        made.append((opened, path.as_uri()))
        return opened

    yield open_page
    for opened, address in made:
        assert opened.problems == []
        assert opened.requests == [address]
        opened.page.context.close()


@pytest.fixture
def show(show_file: Callable[..., Opened], tmp_path: Path) -> Callable[..., Opened]:
    """Opens a page of sentences."""

    def open_sentences(*sentences: PageSentence, **settings: Any) -> Opened:
        return show_file(save(sentences, tmp_path / "page.html", "a title"), **settings)

    return open_sentences


def test_pointing_at_a_target_word_marks_its_source_words(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT], "line 1"))
    assert opened.shown_values() == {}
    opened.word("black").hover()
    assert opened.shown_values() == {"chat": "0.20", "noir": "0.75", "end of sentence": "0.05"}
    assert "link" in opened.classes("noir") and "link" not in opened.classes("chat")
    assert opened.status == "black ← noir 0.75 (link, share 79 %), chat 0.20, end of sentence 0.05"
    shades = [float(opened.word(w).evaluate("e => e.style.getPropertyValue('--share')")) for w in ("chat", "noir")]
    assert shades == pytest.approx([0.2, 0.75])
    opened.page.mouse.move(0, 0)
    assert opened.shown_values() == {} and opened.status == ""


def test_pointing_at_a_source_word_marks_its_target_words_in_every_translation(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT, CAT_TOO], "line 1"))
    headings = opened.page.locator("h3").all_inner_texts()
    assert headings == ["translation 1 of 2, log-probability −1.00", "translation 2 of 2, log-probability −2.00"]
    first, second = (section.bounding_box() for section in opened.page.locator(".translation").all())
    assert first["y"] == second["y"] and first["x"] + first["width"] <= second["x"]  # side by side
    opened.word("chat").hover()
    values = [row.locator(".value").all_inner_texts() for row in opened.page.locator(".translation").all()]
    assert values == [["0.10", "0.20", "0.90"], ["0.10", "0.70"]]
    assert opened.status == (
        "chat → cat 0.90 (link, share 69 %), black 0.20, the 0.10 (translation 1); "
        "chat → cat 0.70 (link, share 78 %), a 0.10 (translation 2)"
    )
    opened.word("end of sentence").hover()
    assert opened.shown_values() == {"the": "0.10", "black": "0.05", "a": "0.20"}


def test_a_further_translation_marks_the_words_that_the_first_one_lacks(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT, CAT_TOO], "line 1"))
    rows = [row.locator(".word.different .text").all_inner_texts() for row in opened.page.locator(".words").all()]
    assert rows == [[], [], ["a"]]
    assert "differs from translation 1" in opened.page.locator("#legend").inner_text()
    assert "differs" not in show(PageSentence([CAT])).page.locator("#legend").inner_text()


def test_keys_move_between_words_and_sides(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT, CAT_TOO], "line 1"))
    press = opened.page.keyboard.press
    press("Tab")
    assert opened.focused() == "le"
    assert opened.shown_values() == {
        "the": "0.80",
        "a": "0.60",
        "cat": "0.10",
    }
    ring = opened.word("le").evaluate("e => [getComputedStyle(e).outlineStyle, getComputedStyle(e).outlineWidth]")
    assert ring == ["solid", "3px"]
    press("ArrowRight")
    assert opened.focused() == "chat"
    press("ArrowDown")  # to the word with the largest value
    assert opened.focused() == "cat"
    assert opened.shown_values() == {"chat": "0.90", "noir": "0.10"}
    press("Home")
    assert opened.focused() == "the"
    press("ArrowLeft")
    assert opened.focused() == "the"  # it is the first word
    press("End")
    assert opened.focused() == "cat"
    press("ArrowUp")
    assert opened.focused() == "chat"
    press("Tab")  # the row of the first translation, at the word visited last
    assert opened.focused() == "cat"
    press("Tab")
    press("Tab")
    assert opened.focused() == "a"
    press("Escape")
    assert opened.shown_values() == {}


def test_elements_have_names_and_roles_for_screen_readers(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT, CAT_TOO], "line 1"))
    page = opened.page
    assert page.get_by_role("article", name="line 1").count() == 1
    assert page.get_by_role("group", name="source").get_by_role("button").all_inner_texts()[0].strip() == "le"
    assert page.get_by_role("group", name="translation 2 of 2").get_by_role("button").count() == 2
    assert page.get_by_role("status").count() == 1
    assert page.title() == "a title"


def test_gold_links_are_outlines(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT], "line 1", GOLD))
    legend = opened.page.locator("#legend").inner_text()
    assert "gold link, sure" in legend and "gold link, possible" in legend
    opened.word("cat").hover()
    styles = {w: opened.word(w).evaluate("e => getComputedStyle(e).borderTopStyle") for w in ("le", "chat")}
    assert styles == {"le": "dashed", "chat": "solid"}
    assert {"sure", "possible"}.isdisjoint(opened.classes("noir"))
    assert "gold" not in show(PageSentence([CAT])).page.locator("#legend").inner_text()


def test_erasure_is_a_second_view(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT, CAT_TOO], "line 1", None, ERASURE), PageSentence([JAPANESE], "line 2"))
    assert "not always the reason" in opened.page.locator("#views").inner_text()
    opened.page.get_by_label("erasure").check()
    opened.word("cat").hover()
    assert opened.shown_values() == {"chat": "3.00", "noir": "−1.00"}
    assert "fall" in opened.classes("chat") and "rise" in opened.classes("noir")
    assert opened.status == "cat ← chat 3.00, noir −1.00"
    assert not opened.word("end of sentence").is_visible()
    assert opened.page.get_by_text("Erasure was not measured for this sentence.").locator("visible=true").count() == 1
    opened.word("猫", sentence=1).hover()
    assert opened.shown_values(1) == {}
    opened.page.get_by_label("attention").check()
    opened.word("cat").hover()
    assert opened.shown_values() == {"chat": "0.90", "noir": "0.10"}
    assert show(PageSentence([CAT])).page.locator("#views").inner_text() == ""


def test_erasure_works_for_a_pair_of_hundreds_of_words(show: Callable[..., Opened]) -> None:
    """The pair has more cells than a JavaScript call takes arguments."""
    words = " ".join(f"w{place}" for place in range(400))
    long = translated(words, words, np.eye(400, 401))
    opened = show(
        PageSentence([long], "line 1", None, np.eye(400).tolist()), PageSentence([CAT], "line 2", None, ERASURE)
    )
    assert opened.page.locator("article").count() == 2


def test_keys_skip_the_end_of_sentence_in_the_view_of_erasure(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT], "line 1", None, ERASURE))
    opened.word("le").focus()
    opened.page.keyboard.press("End")
    assert opened.focused() == "end of sentence"
    opened.page.get_by_label("erasure").check()
    opened.page.keyboard.press("Tab")
    assert opened.focused() == "noir"  # the last visible word
    opened.page.keyboard.press("Home")
    opened.page.keyboard.press("End")
    assert opened.focused() == "noir"
    opened.page.keyboard.press("Tab")
    opened.page.keyboard.press("Shift+Tab")
    assert opened.focused() == "noir"


def test_the_table_has_every_value(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT], "line 1", GOLD, ERASURE))
    assert opened.page.locator("table").count() == 0  # made when first opened
    opened.open_table()
    assert opened.page.locator("thead th").all_inner_texts() == ["le", "chat", "noir", "end of sentence"]
    rows = [row.locator("th, td").all_inner_texts() for row in opened.page.locator("tbody tr").all()]
    assert rows[1] == ["black", "", "0.20", "0.75", "0.05"]
    assert opened.page.locator("tbody td.sure").all_inner_texts() == ["0.90"]
    opened.page.get_by_label("erasure").check()
    rows = [row.locator("th, td").all_inner_texts() for row in opened.page.locator("tbody tr").all()]
    assert rows[2] == ["cat", "", "3.00", "−1.00"]


def test_a_print_shows_every_table(show: Callable[..., Opened]) -> None:
    page = show(PageSentence([CAT, CAT_TOO], "line 1"), PageSentence([ARABIC], "line 2")).page
    page.evaluate(
        "addEventListener('beforeprint', () => (window.printed = document.querySelectorAll('tbody tr').length))"
    )
    page.pdf()
    assert page.evaluate("printed") == 3 + 2 + 2
    assert page.locator("details[open]").count() == 0


def test_arabic_words_run_from_right_to_left(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([ARABIC], "line 1"), PageSentence([JAPANESE], "line 2"))
    first, second = (opened.word(word).bounding_box()["x"] for word in ARABIC.alignment.source)
    assert first > second
    opened.word("الكتاب").focus()
    opened.page.keyboard.press("ArrowLeft")
    assert opened.focused() == "الجديد"
    first, second = (opened.word(word, sentence=1).bounding_box()["x"] for word in JAPANESE.alignment.source)
    assert first < second
    opened.open_table()
    heads = {head.inner_text(): head.bounding_box()["x"] for head in opened.page.locator("thead th").all()}
    first, second = (heads[word] for word in ARABIC.alignment.source)
    assert first > second > heads["end of sentence"]


def test_a_sentence_that_begins_with_a_foreign_word_keeps_its_direction(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([translated("Linux الكتاب الجديد", "x", [[0.2, 0.3, 0.4, 0.1]])]))
    first, second = (opened.word(word).bounding_box()["x"] for word in ("Linux", "الكتاب"))
    assert first > second


def test_the_languages_of_a_sentence_are_named(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([JAPANESE], languages=("ja", "en")))
    assert [row.get_attribute("lang") for row in opened.page.locator(".words").all()] == ["ja", "en"]


@pytest.mark.slow
def test_the_words_of_a_long_table_stay_in_view(show: Callable[..., Opened]) -> None:
    words = " ".join(f"w{place}" for place in range(200))
    opened = show(PageSentence([translated(words, words, np.eye(200, 201))]), viewport={"width": 800, "height": 600})
    opened.open_table()
    region = opened.page.get_by_role("region")
    box = region.bounding_box()
    assert box["height"] <= 0.8 * 600 + 1
    region.evaluate("e => e.scrollTo(e.scrollWidth / 2, e.scrollHeight / 2)")
    row = opened.page.locator("tbody th", has_text="w100").first.bounding_box()
    column = opened.page.locator("thead th", has_text="w100").first.bounding_box()
    assert row["x"] == pytest.approx(box["x"], abs=3)
    assert column["y"] == pytest.approx(box["y"], abs=3)


def test_the_note_of_a_sentence_is_shown(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT], "line 1, score 4.0", note="repeats earlier words: '<b>cat'"))
    assert opened.page.locator(".note").inner_text() == "repeats earlier words: '<b>cat'"


def test_the_page_works_in_a_cell_of_a_notebook(show_file: Callable[..., Opened], tmp_path: Path) -> None:
    """A frame whose script has no access to the notebook."""
    pair = Translation(EVIL.text, EVIL.text, -1.0, -1.0, EVIL.alignment)
    (tmp_path / "cell.html").write_text(f"<!DOCTYPE html><title>cell</title>{widget(pair)._repr_html_()}")
    opened = show_file(tmp_path / "cell.html")
    cell = opened.page.frame_locator("iframe")
    cell.locator(".word").first.hover()
    assert cell.locator("#status").inner_text() != ""
    assert cell.locator(".word .text").last.inner_text() == EVIL.alignment.target[-1]


def test_words_that_look_like_markup_are_shown_as_words(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([EVIL], "<b>line</b>", None, np.ones((3, 3))))
    assert [opened.page.locator(".word .text").nth(i).inner_text() for i in range(3)] == list(EVIL.alignment.source)
    opened.page.locator(".word").first.hover()
    opened.open_table()
    assert opened.page.locator("tbody th").all_inner_texts() == list(EVIL.alignment.target)
    assert opened.page.locator("h2").inner_text() == "<b>line</b>"
    assert opened.page.locator("img, b").count() == 0
    assert opened.page.locator("script").count() == 2


def test_the_browser_refuses_an_added_script(show: Callable[..., Opened]) -> None:
    opened = show(PageSentence([CAT]))
    opened.page.evaluate("""() => {
        const added = document.createElement("script");
        added.textContent = "window.ran = true";
        document.body.append(added);
    }""")
    assert opened.page.evaluate("window.ran") is None
    assert any("Content Security Policy" in problem for problem in opened.problems)
    opened.problems.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_are_readable_on_every_shade(show: Callable[..., Opened], scheme: str) -> None:
    strong = translated("a b c", "d", [[1.0, 0.0, 0.0, 0.0]])
    opened = show(PageSentence([strong], "", None, [[1.0, -1.0, 0.5]]), color_scheme=scheme)
    for view in ("attention", "erasure"):
        opened.page.get_by_label(view).check()
        opened.word("d").hover()
        for word in ("a", "b", "c"):
            assert contrast(opened.word(word)) >= 4.5
    assert contrast(opened.page.locator("h3").first) >= 4.5


def test_a_narrow_window_needs_no_horizontal_scrolling(show: Callable[..., Opened]) -> None:
    url = translated("https://" + "a" * 200, "b", [[1.0, 0.0]])
    opened = show(PageSentence([CAT, CAT_TOO]), PageSentence([url]), viewport={"width": 320, "height": 600})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.slow
def test_two_hundred_sentences_are_present_and_drawn_when_they_come_near(show: Callable[..., Opened]) -> None:
    long = translated("a " * 15, "b " * 15, np.full((15, 16), 1 / 16))
    opened = show(*[PageSentence([long], f"line {i}") for i in range(200)])
    assert opened.page.locator("article").count() == 200
    last = opened.page.locator("article").last
    assert not last.locator(".word").first.evaluate("e => e.checkVisibility({contentVisibilityAuto: true})")
    last.scroll_into_view_if_needed()
    last.locator(".word").first.hover()
    assert opened.shown_values(199) == {"b": "0.06"} and opened.status.startswith("a → b 0.06")


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """The page of a training with two validations, whose texts look like markup."""
    columns = ("step", "train_loss", "validation_loss", "validation_bleu", "learning_rate", "tokens_per_second")
    rows = [
        dict(zip(columns, row, strict=True))
        for row in ((700, 4.0, 3.5, 1.5, 0.01, 900), (1400, 3, 2.5, 20, 0.005, 950))
    ]
    samples = [PageSentence([EVIL], "validation pair 1", headings=["step 1,400"], note="reference: <b>x</b>")]
    evil = "<img src=x onerror=alert(1)>"
    page = TrainingPage(evil, {"steps": evil}, charts_of(rows), 1400, samples, [evil], evil)
    path = tmp_path / "run.html"
    path.write_text(training_page(page), encoding="utf-8")
    return path


@pytest.mark.parametrize("settings", [{}, {"viewport": {"width": 320, "height": 600}}, {"color_scheme": "dark"}])
def test_the_page_of_a_training_shows_the_values_below_the_pointer(
    show_file: Callable[..., Opened], training: Path, settings: dict[str, Any]
) -> None:
    opened = show_file(training, **settings)
    page = opened.page
    figure = page.locator("figure").first
    box = figure.locator(".chart").bounding_box()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + box["height"] / 2)
    assert figure.locator(".value").inner_text() == "step 1400: training 3, validation 2.5"
    page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + box["height"] / 2)
    assert figure.locator(".value").inner_text() == "step 700: training 4, validation 3.5"
    page.mouse.move(0, 0)
    assert figure.locator(".value").inner_text() == ""
    assert page.locator("h3").all_inner_texts() == ["step 1,400"]
    assert page.locator("img, b:not(figcaption b)").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert contrast(page.locator("dt").first) >= 4.5 and contrast(page.locator(".key").first) >= 4.5


def test_the_page_of_a_training_is_loaded_again_only_if_asked(show_file: Callable[..., Opened], training: Path) -> None:
    opened = show_file(training)
    live = opened.page.get_by_label("load this page again")
    assert not live.is_checked()
    live.check()
    assert opened.page.evaluate("location.hash") == "#live"


@needs_axe
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_barrier(
    show: Callable[..., Opened], show_file: Callable[..., Opened], training: Path, scheme: str
) -> None:
    sentences = PageSentence([CAT, CAT_TOO], "line 1", GOLD, ERASURE), PageSentence([ARABIC], "line 2")
    opened = show(*sentences, color_scheme=scheme)
    assert barriers(opened.page) == []
    opened.word("cat").hover()
    opened.open_table()
    assert barriers(opened.page) == []
    opened.page.get_by_label("erasure").check()
    opened.word("cat").hover()
    assert barriers(opened.page) == []
    assert barriers(show_file(training, color_scheme=scheme).page) == []


@needs_axe
@pytest.mark.slow
def test_a_barrier_is_found(browser: Any) -> None:
    page = browser.new_page()
    body = "<main><h1>A page</h1><p style='color: #ccc'>pale words</p><button></button></main>"
    page.set_content(f"<html lang=en><title>a title</title>{body}")
    assert [(rule, impact) for rule, impact, _ in barriers(page)] == [
        ("button-name", "critical"),
        ("color-contrast", "serious"),
    ]
    page.close()
