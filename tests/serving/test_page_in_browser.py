"""What the page of `nmt serve` does in a real browser.

One test trains a tiny model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import copy_task
import numpy as np
import pytest
from browsing import CHROMIUM
from served_page import Opened, drop, serving

import nmt
from nmt.serving.models import Models, ServedModel

pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")

PROBABILITIES = """[...document.querySelectorAll(".result .words")[1]?.querySelectorAll(".value") ?? [""]].every(
    value => value.textContent)"""
"""Each word of the translation shows its probability, as after an edit."""


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


@pytest.mark.parametrize("falls", [[[2.0], [0.5]], [[2.0, 0.0]]])
def test_words_that_the_model_does_not_read_at_once_have_no_effect_to_show(
    show: Callable[..., Opened], falls: list[list[float]]
) -> None:
    """A long paragraph is translated sentence by sentence, and explained as one text, whose end the model cuts."""
    opened = show("#text=one+two")
    opened.shows("ONE TWO")
    opened.page.route("**/v1/explain", lambda route: route.fulfill(json={"falls": falls}))
    alert = opened.page.get_by_role("alert")
    said = "the text is too long for one reading of the model: the effect of its last words is unknown"
    opened.word("two").click()
    alert.filter(has_text=said).wait_for()
    opened.type("one two ")  # it goes away
    opened.until("document.querySelector('[role=alert]').textContent === ''")
    opened.press("Heat map")
    opened.page.get_by_label("erasure").check()
    alert.filter(has_text=said).wait_for()
    opened.page.get_by_text("Download", exact=True).click()
    _, page = opened.saved(lambda: opened.press("HTML"))
    assert b'"erasure":null' in page.replace(b": ", b":")


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
def test_what_is_typed_while_models_are_loaded_is_translated_then(browser: Any, page_address: str) -> None:
    opened = Opened(browser.new_context().new_page())
    loading = [{"models": [{"name": "two", "state": "loading"}], "limits": {}}]
    opened.page.on("pageerror", lambda error: opened.problems.append(str(error)))
    opened.page.route("**/v1/models", lambda route: route.fulfill(json=loading[0]) if loading else route.continue_())
    opened.page.goto(f"{page_address}#model=two&text=old")
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


def editing(show: Callable[..., Opened]) -> tuple[Opened, Any]:
    """The page with a translation, and the field in which the user edits it."""
    opened = show("#text=one+two+three")
    opened.shows("ONE TWO THREE")
    opened.press("Edit")
    return opened, opened.page.get_by_label("your translation")


@pytest.mark.slow
def test_the_model_completes_a_beginning(show: Callable[..., Opened]) -> None:
    opened, field = editing(show)
    field.fill("eins zwei")
    field.press("Control+Enter")
    opened.shows("eins zwei THREE")
    assert field.input_value() == "eins zwei THREE"
    assert field.evaluate("e => e.value.slice(e.selectionStart, e.selectionEnd)") == " THREE"
    field.press("Escape")
    opened.shows("ONE TWO THREE")
    assert opened.page.evaluate("document.activeElement.textContent") == "Edit"


@pytest.mark.slow
def test_a_completion_overwrites_nothing_that_is_typed_meanwhile(show: Callable[..., Opened]) -> None:
    opened, field = editing(show)
    held: list[Any] = []
    opened.page.route("**/v1/translate", lambda route: held.append(route))
    field.fill("eins")
    field.press("Control+Enter")
    opened.page.wait_for_timeout(200)
    completion = held[-1]
    field.press_sequentially(" zwei", delay=10)
    completion.continue_()
    opened.page.unroute("**/v1/translate")
    opened.page.wait_for_timeout(800)
    assert field.input_value() == "eins zwei"


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
    opened.page.locator(".skip").focus()
    opened.page.keyboard.press("Enter")
    assert opened.page.evaluate("document.activeElement.id") == "results"
    assert opened.page.url.endswith("#model=two&alternatives=2&text=d")
    opened.page.goto(opened.page.url.replace("alternatives=2", "alternatives=9&beam=99"))
    opened.until("document.getElementById('alternatives').value === '4'")  # as used
    assert opened.page.locator("#beam").input_value() == "4"


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
def test_a_page_that_cannot_be_fetched_is_not_saved(browser: Any, page_address: str) -> None:
    opened = Opened(browser.new_context().new_page())
    opened.page.route("**/view/empty.html", lambda route: route.fulfill(status=502, body="<p>bad gateway"))
    saved: list[Any] = []
    opened.page.on("download", lambda download: saved.append(download))
    opened.page.goto(f"{page_address}#text=one")
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
def test_every_search_has_the_chosen_beam_and_any_number_of_lines(show: Callable[..., Opened]) -> None:
    """The server takes 20 texts at once."""
    opened = show("#beam=2")
    asked: list[dict[str, Any]] = []
    opened.page.on("request", lambda request: request.method == "POST" and asked.append(request.post_data_json))
    opened.page.locator("textarea").first.fill("\n".join(f"line {n}" for n in range(45)))
    opened.page.locator(".result").nth(44).wait_for()
    assert [len(body["text"]) for body in asked[-3:]] == [20, 20, 5]
    opened.word("line").first.click()
    opened.page.get_by_role("group", name="without line").wait_for()
    drop(opened, "menu.txt", "one")
    opened.page.get_by_role("button", name="Save menu.he.txt").wait_for()
    searches = [body for body in asked if "target" not in body]
    assert len(searches) >= 5 and all(body["beam_size"] == 2 for body in searches)


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
def test_an_error_costs_no_line_of_a_file_that_is_done(show: Callable[..., Opened]) -> None:
    """The server refuses a text of more than 10,000 characters with all texts of its request."""
    opened = show()
    lines = [f"line {n}" for n in range(50)]
    lines[44] = "x" * 10_001
    lines[48] = "wrong"
    drop(opened, "menu.txt", "\n".join(lines))
    alert = opened.page.get_by_role("alert").filter(has_text="menu.txt, line 45: a text has 10,001 characters")
    alert.wait_for()
    name, content = opened.saved(lambda: opened.press("Save the first 44 lines"))
    assert name == "menu.he.txt" and content.decode() == "".join(f"LINE {n}\n" for n in range(44))
    opened.press("Go on")
    alert.wait_for()
    opened.press("Leave line 45 empty")
    opened.page.get_by_role("alert").filter(has_text="menu.txt, line 49: a text that cannot be translated").wait_for()
    opened.press("Leave line 49 empty")
    opened.page.get_by_text("menu.txt: 50 of 50 lines, done; left empty: 45, 49").wait_for()
    _, content = opened.saved(lambda: opened.press("Save menu.he.txt"))
    lines[44] = lines[48] = ""
    assert content.decode() == "".join(f"{line.upper()}\n" for line in lines)
    assert [problem for problem in opened.problems if not re.search("413|422", problem)] == []
    opened.problems.clear()  # the browser notes the refused requests


@pytest.mark.slow
def test_a_file_that_ends_leaves_the_focus_where_the_user_types(show: Callable[..., Opened]) -> None:
    opened = show()
    drop(opened, "one.txt", "one")
    opened.page.get_by_role("button", name="Save one.he.txt").wait_for()
    assert opened.page.evaluate("document.activeElement.textContent") == "Save one.he.txt"
    opened.page.locator("#text").focus()
    drop(opened, "two.txt", "two")
    opened.page.get_by_role("button", name="Save two.he.txt").wait_for()
    assert opened.page.evaluate("document.activeElement.id") == "text"


@pytest.mark.slow
def test_long_lines_go_in_small_requests(show: Callable[..., Opened]) -> None:
    opened = show("#alternatives=2")
    asked: list[dict[str, Any]] = []
    opened.page.on("request", lambda request: request.method == "POST" and asked.append(request.post_data_json))
    opened.page.locator("textarea").first.fill("\n".join(["word " * 200] * 3 + ["word " * 600, "one", "two"]))
    opened.page.locator(".result").nth(5).wait_for()
    assert [len(body["text"]) for body in asked[-4:]] == [2, 1, 1, 2]  # 2,500 characters, or one line


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
