"""The page of `nmt serve` in a real browser, on a server with a translator that writes words in capitals.

One test trains a tiny model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import copy_task
import fake_translator
import numpy as np
import pytest
import uvicorn
from accessibility import barriers, needs_axe
from browsing import CHROMIUM, chromium, contrast
from small_server import Fake

import nmt
from nmt.errors import NmtError
from nmt.explaining import erasure
from nmt.serving.app import create_app
from nmt.serving.limits import Limits
from nmt.serving.models import Models, ServedModel
from nmt.serving.server import bind
from nmt.text.languages import Language
from nmt.text.languages.words import words_of_language
from nmt.translation.result import Translation

pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

HEBREW = {"the": "ה", "book": "ספר", "new": "חדש"}


class Paged(Fake):
    """The n-th translation of a text has its last word n - 1 times more. `ending` is behind each translation."""

    def __init__(self, ending: str = "") -> None:
        super().__init__()
        self.ending = ending.split()

    def answer(self, requests: Iterable[Any], *_: Any, **__: Any) -> Iterator[list[Translation]]:
        for request in requests:
            if "wrong" in request.text:
                raise NmtError("a text that cannot be translated")
            words = [HEBREW.get(word, word.upper()) for word in request.text.split()]
            words += self.ending
            words[: len(request.prefix.split())] = request.prefix.split()
            yield [
                replace(one, log_probability=-1.5 - n, score=-1.0 - n)
                for n in range(request.candidates)
                for one in [fake_translator.make_pair(request.text, " ".join(words + words[-1:] * n), truncated=False)]
            ]


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


@contextmanager
def serving(models: Models, limits: Limits | None = None) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    listener = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(models, limits), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a running server with three models, the last one adds a word."""
    patch = pytest.MonkeyPatch()
    patch.setattr(erasure, "erase", fake_translator.erase)
    loads = {"one": lambda _: Paged(), "two": lambda _: Paged(), "three": lambda _: Paged("END")}
    models = Models([ServedModel(name, Path(name), load) for name, load in loads.items()])
    with serving(models, Limits(texts=20, beam_size=4)) as address:
        yield address
    patch.undo()


@dataclass
class Opened:
    """The open page, with the addresses it requested and the problems it reported."""

    page: Any
    requests: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def type(self, text: str) -> None:
        self.page.locator("#text").fill(text)

    def words(self, row: int = 1) -> list[str]:
        """The words of a row; row 0 is the source's."""
        return list(self.page.locator(".result .words").nth(row).locator(".text").all_inner_texts())

    def shows(self, words: str, row: int = 1) -> None:
        """Waits until a row has these words."""
        wanted = json.dumps(words.split())
        self.until(
            f"""JSON.stringify([...document.querySelectorAll(".result .words")[{row}]?.querySelectorAll(".text")
            ?? []].map(word => word.textContent)) === JSON.stringify({wanted})"""
        )

    def until(self, condition: str) -> None:
        """Waits until a condition holds. Playwright's own function evaluates text in the page, which its policy
        forbids."""
        for _ in range(400):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(condition)

    def word(self, text: str) -> Any:
        return self.page.locator("article .word").filter(has=self.page.locator(f'.text:text-is("{text}")')).first

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).first.click()

    def saved(self, act: Callable[[], None]) -> tuple[str, bytes]:
        """Name and content of the file that `act` downloads."""
        with self.page.expect_download() as download:
            act()
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()


PROBABILITIES = """[...document.querySelectorAll(".result .words")[1]?.querySelectorAll(".value") ?? [""]].every(
    value => value.textContent)"""
"""Each word of the translation shows its probability, as after an edit."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.fixture
def show_at(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens the page; after the test it must have asked its server alone, and reported no problem."""
    made: list[tuple[Opened, str]] = []

    def open_page(address: str, fragment: str = "", **settings: Any) -> Opened:
        opened = Opened(browser.new_context(**settings).new_page())
        opened.page.set_default_timeout(20_000)
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.on("console", lambda message: opened.problems.append(message.text))
        opened.page.on("pageerror", lambda error: opened.problems.append(str(error)))
        opened.page.goto(address + fragment)
        opened.until("document.getElementById('direction').textContent !== ''")
        made.append((opened, address))
        return opened

    yield open_page
    for opened, address in made:
        assert opened.problems == []
        assert all(url.startswith((address, "data:", "blob:")) for url in opened.requests)
        opened.page.context.close()


@pytest.fixture
def show(show_at: Callable[..., Opened], address: str) -> Callable[..., Opened]:
    """Opens the page of the server with capitals."""
    return partial(show_at, address)


def test_a_translation_appears_when_typing_stops_and_its_sources_light_up(show: Callable[..., Opened]) -> None:
    opened = show()
    opened.page.locator("#text").press_sequentially("one two", delay=20)
    opened.shows("ONE TWO")
    asked = [url for url in opened.requests if url.endswith("/v1/translate")]
    assert len(asked) < len("one two")  # not a request for each key
    opened.word("TWO").hover()
    assert "attention" in opened.word("two").get_attribute("class")
    assert opened.word("two").locator(".value").inner_text() == "1.00"
    status = opened.page.locator("#status").inner_text()
    assert "TWO" in status and "probability" in status
    opened.word("one").focus()
    opened.page.keyboard.press("ArrowDown")
    assert opened.page.evaluate("document.activeElement.querySelector('.text').textContent") == "ONE"
    assert opened.page.locator("#announcement").inner_text() == "ONE TWO"


def test_a_click_leaves_a_word_out_and_an_edit_is_aligned(show: Callable[..., Opened]) -> None:
    opened = show("#text=one+two")
    opened.shows("ONE TWO")
    opened.word("two").click()
    panel = opened.page.get_by_role("group", name="without two")
    panel.wait_for()
    assert panel.locator(".words").nth(0).locator(".text").all_inner_texts() == ["ONE"]
    assert panel.locator(".words").nth(1).locator(".value").all_inner_texts() == ["0.00", "2.00"]
    assert "erased" in opened.word("two").get_attribute("class")
    opened.word("two").click()
    panel.wait_for(state="detached")
    opened.press("Edit")
    opened.page.get_by_label("your translation").fill("eins zwei")
    opened.shows("eins zwei")
    opened.shows("ONE TWO", row=2)  # the model's own beside it
    values = opened.page.locator(".result .words").nth(1).locator(".value").all_inner_texts()
    assert values == ["61 %", "61 %"]  # exp(-0.5)
    opened.press("Back to the model's")
    opened.shows("ONE TWO")


@pytest.mark.slow
def test_typing_on_aborts_a_request_and_drops_its_answer(show: Callable[..., Opened]) -> None:
    opened = show()
    held: list[Any] = []
    aborted: list[str] = []
    opened.page.on("requestfailed", lambda request: aborted.append(request.post_data_json["text"]))
    opened.page.route("**/v1/translate", lambda route: held.append(route) if not held else route.continue_())
    with opened.page.expect_request("**/v1/translate"):
        opened.type("first")
    opened.type("second")
    opened.shows("SECOND")
    assert aborted == [["first"]]
    held[0].fulfill(status=500, body="{}")  # nobody reads it
    opened.page.wait_for_timeout(300)
    assert opened.words() == ["SECOND"] and opened.page.get_by_role("alert").inner_text() == ""


@pytest.mark.slow
def test_what_is_typed_while_models_are_loaded_is_translated_then(browser: Any, address: str) -> None:
    opened = Opened(browser.new_context().new_page())
    loading = [{"models": [{"name": "two", "state": "loading"}], "limits": {}}]
    opened.page.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.page.route("**/v1/models", lambda route: route.fulfill(json=loading[0]) if loading else route.continue_())
    opened.page.goto(f"{address}#model=two&text=old")
    opened.until("document.getElementById('problem').textContent.includes('loading')")
    opened.type("some text")
    opened.page.wait_for_timeout(700)  # typing has stopped
    assert "loading" in opened.page.locator("#problem").inner_text() and opened.problems == []
    loading.clear()
    opened.shows("SOME TEXT")
    assert opened.page.locator("#direction").inner_text().startswith("two")
    opened.page.context.close()


@pytest.mark.slow
def test_an_error_of_the_server_is_one_line_that_goes_away(show: Callable[..., Opened]) -> None:
    opened = show()
    opened.type("wrong")
    alert = opened.page.get_by_role("alert")
    alert.filter(has_text="a text that cannot be translated").wait_for()
    opened.type("right")
    opened.shows("RIGHT")
    assert alert.inner_text() == ""
    assert [problem for problem in opened.problems if "422" not in problem] == []
    opened.problems.clear()  # the browser notes the refused request


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
def test_each_line_and_each_model_has_its_place(show: Callable[..., Opened]) -> None:
    opened = show()
    opened.type("one\n\none\ntwo")
    opened.shows("TWO", row=5)
    assert opened.page.locator(".result").count() == 3
    opened.page.get_by_text("Settings").click()
    opened.page.get_by_label("two").check()
    opened.shows("TWO", row=11)
    first, second = (opened.page.locator(".result").nth(n).bounding_box() for n in (0, 1))
    assert first["y"] == second["y"] and first["x"] + first["width"] <= second["x"]
    opened.page.get_by_role("checkbox", name="one").uncheck()
    opened.until("document.querySelectorAll('.result').length === 3")
    opened.page.get_by_role("checkbox", name="two").click()  # the last one stays on
    assert opened.page.get_by_role("checkbox", name="two").is_checked()


@pytest.mark.slow
def test_words_in_which_models_differ_are_marked(show: Callable[..., Opened]) -> None:
    opened = show("#model=one&model=three&text=a+b")
    opened.shows("A B END", row=3)
    assert opened.page.locator(".word.different .text").all_inner_texts() == ["END"]
    assert opened.page.locator("#legend-different").is_visible()


@pytest.mark.slow
def test_alternatives_stand_side_by_side_with_their_differences(show: Callable[..., Opened]) -> None:
    opened = show("#text=one+two&alternatives=2")
    opened.shows("ONE TWO TWO", row=2)
    assert opened.page.locator("#alternatives").get_attribute("max") == "4"  # the server's beam
    assert opened.page.locator(".word.different .text").all_inner_texts() == ["TWO"]
    assert opened.page.locator("#legend-different").is_visible()


@pytest.mark.slow
def test_the_model_completes_a_beginning(show: Callable[..., Opened]) -> None:
    opened = show("#text=one+two+three")
    opened.shows("ONE TWO THREE")
    opened.press("Edit")
    field = opened.page.get_by_label("your translation")
    field.fill("eins zwei")
    field.press("Control+Enter")
    opened.shows("eins zwei THREE")
    assert field.input_value() == "eins zwei THREE"
    assert field.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)") == " THREE"
    field.press("Escape")
    opened.shows("ONE TWO THREE")


@pytest.mark.slow
def test_the_address_carries_text_models_and_settings(show: Callable[..., Opened]) -> None:
    opened = show("#model=two&text=a%26b&alternatives=2")
    opened.shows("A&B", row=1)
    assert opened.page.locator("#direction").inner_text().startswith("two")
    opened.type("c")
    opened.shows("C")
    assert opened.page.url.endswith("#model=two&alternatives=2&text=c")
    assert "text" not in "".join(url for url in opened.requests if "#" not in url)
    opened.page.goto(opened.page.url.replace("text=c", "text=d"))
    opened.shows("D")


@pytest.mark.slow
def test_texts_of_the_visit_can_be_opened_again_and_forgotten(show: Callable[..., Opened]) -> None:
    opened = show()
    for text in ("one", "one two", "three"):  # the second continues the first
        opened.type(text)
        opened.shows(text.upper())
    past = opened.page.locator("#past button")
    assert past.all_inner_texts() == ["three\nTHREE", "one two\nONE TWO"]
    past.nth(1).click()
    opened.shows("ONE TWO")
    opened.press("Forget")
    assert not opened.page.locator("#visit").is_visible()


@pytest.mark.slow
def test_downloads_hold_the_translation(show: Callable[..., Opened], browser: Any, tmp_path: Path) -> None:
    opened = show("#text=one+%3Ctwo%3E")
    opened.shows("ONE <TWO>")
    opened.page.get_by_text("Download").click()
    name, content = opened.saved(lambda: opened.press("PNG"))
    assert name == "attention.png" and content.startswith(b"\x89PNG") and len(content) > 1000
    name, content = opened.saved(lambda: opened.press("SVG"))
    assert name == "attention.svg" and b"&lt;TWO&gt;" in content and b"end of sentence" in content
    name, content = opened.saved(lambda: opened.press("JSON"))
    assert json.loads(content)["translations"][0]["text"] == "ONE <TWO>"
    name, content = opened.saved(lambda: opened.press("HTML"))
    (tmp_path / name).write_bytes(content)
    alone = browser.new_page()
    problems: list[str] = []
    alone.on("console", lambda message: problems.append(message.text))
    alone.goto((tmp_path / name).as_uri())
    assert alone.locator(".word .text").all_inner_texts() == ["one", "<two>", "end of sentence", "ONE", "<TWO>"]
    assert problems == []
    alone.close()


@pytest.mark.slow
def test_a_page_that_cannot_be_fetched_is_not_saved(browser: Any, address: str) -> None:
    opened = Opened(browser.new_context().new_page())
    opened.page.route("**/view/empty.html", lambda route: route.fulfill(status=502, body="<p>bad gateway"))
    saved: list[Any] = []
    opened.page.on("download", lambda download: saved.append(download))
    opened.page.goto(f"{address}#text=one")
    opened.shows("ONE")
    opened.page.get_by_text("Download").click()
    opened.press("HTML")
    opened.page.get_by_role("alert").filter(has_text="view/empty.html: the server answered 502").wait_for()
    opened.page.unroute("**/view/empty.html")
    name, content = opened.saved(lambda: opened.press("HTML"))
    assert name == "translation.html" and b"ONE" in content and len(saved) == 1
    opened.page.context.close()


@pytest.mark.slow
def test_the_heat_map_shows_attention_and_erasure(show: Callable[..., Opened]) -> None:
    opened = show("#text=one+two")
    opened.shows("ONE TWO")
    opened.press("Heat map")
    texts = opened.page.locator(".heatmap svg text")
    assert texts.all_text_contents() == ["one", "two", "end of sentence", "ONE", "1.00", "TWO", "1.00"]
    opened.page.get_by_role("radio", name="erasure").check()
    opened.until("!document.querySelector('.heatmap').textContent.includes('end of')")
    assert texts.all_text_contents() == ["one", "two", "ONE", "2.00", "TWO", "2.00"]
    opened.press("Heat map")
    assert opened.page.locator(".heatmap").count() == 0
    opened.type(" ".join(["one"] * 101))
    opened.shows(" ".join(["ONE"] * 101))
    opened.press("Heat map")
    opened.page.get_by_role("alert").filter(has_text="room for 100 words").wait_for()


@pytest.mark.slow
def test_a_dropped_file_is_translated_line_by_line(show: Callable[..., Opened]) -> None:
    opened = show()
    lines = [f"line {n}" for n in range(70)]
    lines[3] = ""
    drop(opened, "menu.txt", "\n".join(lines))
    done = opened.page.get_by_role("button", name="Save menu.he.txt")
    name, content = opened.saved(done.click)
    assert name == "menu.he.txt" and content.decode() == "".join(f"{line.upper()}\n" for line in lines)
    drop(opened, "bad.txt", "caf\ufffd", raw=[0x63, 0xE9])
    opened.page.get_by_role("alert").filter(has_text="bad.txt is not UTF-8 text").wait_for()


def drop(opened: Opened, name: str, text: str, raw: list[int] | None = None) -> None:
    """Drops a file on the page."""
    opened.page.evaluate(
        """([name, text, raw]) => {
            const files = new DataTransfer();
            files.items.add(new File([raw ? new Uint8Array(raw) : text], name));
            const options = {dataTransfer: files, bubbles: true, cancelable: true};
            for (const kind of ["dragenter", "dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(kind, options));
        }""",
        [name, text, raw],
    )


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
def test_a_file_shows_its_progress_and_can_be_cancelled(show: Callable[..., Opened]) -> None:
    opened = show()
    held: list[Any] = []
    aborted: list[Any] = []
    opened.page.on("requestfailed", lambda request: aborted.append(request))
    opened.page.route("**/v1/translate", lambda route: held.append(route))
    drop(opened, "menu.txt", "".join(f"line {n}\n" for n in range(50)))
    job = opened.page.locator("#job .panel")
    bar = opened.page.get_by_role("progressbar", name="lines of menu.txt translated")
    for done in (20, 40):  # the server takes 20 texts at once
        opened.page.wait_for_timeout(200)
        held[-1].continue_()
        job.get_by_text(f"menu.txt: {done} of 50 lines").wait_for()
        assert (bar.evaluate("e => e.value"), bar.evaluate("e => e.max")) == (done, 50)
    opened.page.wait_for_timeout(200)
    assert len(held) == 3 and not aborted
    opened.press("Cancel")
    job.wait_for(state="detached")
    opened.page.wait_for_timeout(200)
    assert len(aborted) == 1 and len(held) == 3  # the last part is given up, and no other is asked for
    assert opened.page.get_by_role("alert").inner_text() == ""
    opened.page.unroute("**/v1/translate")
    opened.type("one")
    opened.shows("ONE")


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


@pytest.mark.slow
def test_a_token_is_asked_for_and_sent(show: Callable[..., Opened]) -> None:
    opened = show()
    sent: list[str] = []

    def guard(route: Any) -> None:
        sent.append(route.request.headers.get("authorization", ""))
        if sent[-1] == "Bearer secret":
            route.continue_()
        else:
            route.fulfill(status=401, content_type="application/json", body='{"error": "a valid token is needed"}')

    opened.page.route("**/v1/*", guard)
    opened.type("one")
    opened.page.get_by_role("alert").filter(has_text="a valid token is needed").wait_for()
    opened.page.get_by_label("token of this server").fill("secret")
    opened.press("Use token")
    opened.shows("ONE")
    assert not opened.page.get_by_label("token of this server").is_visible()
    opened.problems.clear()  # the browser notes the refused request


@pytest.mark.slow
def test_a_server_without_models_says_so(show: Callable[..., Opened]) -> None:
    opened = show()
    failed = {"models": [{"name": "one", "state": "failed"}], "limits": {}}
    opened.page.route("**/v1/models", lambda route: route.fulfill(json=failed))
    opened.page.reload()
    opened.page.get_by_role("alert").filter(has_text="no model could be loaded").wait_for()


@pytest.mark.slow
def test_the_page_shows_what_a_trained_model_computes(show_at: Callable[..., Opened], copier_run: Path) -> None:
    translator = nmt.Translator.load(copier_run)
    source = copy_task.sentences(1, seed=7)[0]
    target = copy_task.translation(source)
    (pair,) = translator.align([source], [target])
    with serving(Models([ServedModel("copier", copier_run, lambda _: translator)])) as address:
        opened = show_at(address)
        opened.type(source)
        opened.shows(translator.translate_one(source).text)
        opened.press("Edit")
        opened.page.get_by_label("your translation").fill(f"{target} ")
        opened.until(PROBABILITIES)
        opened.shows(target)
        values = opened.page.locator(".result .words").nth(1).locator(".value").all_inner_texts()
        expected = np.exp(pair.word_log_probabilities)
        assert [float(value.removeprefix("<").removesuffix("%")) for value in values] == pytest.approx(
            100 * expected, abs=1
        )
        opened.word(source.split()[0]).click()
        without = opened.page.get_by_role("group", name=f"without {source.split()[0]}")
        without.wait_for()
        assert without.locator(".words").count() == 2
