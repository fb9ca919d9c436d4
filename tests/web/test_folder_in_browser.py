"""A web folder in a real browser, on a plain file server, without any other host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from accessibility import barriers, needs_axe
from browsing import CHROMIUM, TranslatingPage, contrast
from commands import REPOSITORY
from web_folders import serving

from nmt import Translator
from nmt.explaining.erasure import erase

pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium"),
]

DEMO = REPOSITORY / "data" / "demo"
SOURCES, TARGETS = ((DEMO / f"test.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "fr"))

JAPANESE, HEBREW = "\u79c1\u306f\u732b\u304c\u597d\u304d\u3067\u3059\u3002", "\u05e1\u05e4\u05e8 \u05d7\u05d3\u05e9"


@pytest.fixture(scope="module")
def translator(demo_folder: Path) -> Translator:
    """The same network, computed by `nmt`."""
    return Translator.load(demo_folder)


@pytest.fixture
def show(browser: Any, demo_folder: Path) -> Iterator[Callable[..., TranslatingPage]]:
    """Opens the page; after the test it must have asked its file server alone, and reported no problem."""
    made: list[TranslatingPage] = []
    with serving(demo_folder) as address:

        def open_page(fragment: str = "", **settings: Any) -> TranslatingPage:
            made.append(opened := TranslatingPage.watched(browser, 60_000, **settings))
            opened.page.goto(address + fragment)
            return opened

        yield open_page
        for opened in made:
            assert opened.problems == []
            assert all(url.startswith((address, "data:", "blob:")) for url in opened.requests)
            opened.page.context.close()


def test_translations_and_attention_are_those_of_nmt(
    show: Callable[..., TranslatingPage], translator: Translator
) -> None:
    opened, sources = show(), SOURCES[:5]
    opened.type("\n".join(sources))
    found = [translator.translate_one(source) for source in sources]
    for place, one in enumerate(found):
        opened.shows(one.text, row=2 * place + 1)
    for place, one in enumerate(found):
        words = opened.page.locator(".result").nth(place).locator(".words").nth(1).locator(".word")
        for t in range(len(one.alignment.target)):
            words.nth(t).hover()
            values = opened.page.locator(".result").nth(place).locator(".words").nth(0).locator(".value")
            shown = [float(value or 0) for value in values.all_inner_texts()]
            expected = [*one.alignment.weights[t], one.alignment.end_of_sentence[t]]
            np.testing.assert_allclose(shown, expected, atol=0.0101)
    assert opened.page.locator("#unstarted").count() == 0 and not opened.page.locator("#loading").is_visible()
    assert "MiB once" in opened.page.get_by_text("no text leaves it").inner_text()


def test_words_are_left_out_and_edits_are_scored(show: Callable[..., TranslatingPage], translator: Translator) -> None:
    source, target = SOURCES[0], TARGETS[0]
    opened = show(f"#text={quote(source)}")
    one = translator.translate_one(source)
    opened.shows(one.text)
    opened.page.locator("article .word").nth(1).click()
    panel = opened.page.get_by_role("group", name=f"without {source.split()[1]}")
    panel.wait_for()
    ((_, erasure),) = erase(translator, [one])
    losses = [
        float(v.replace("\u2212", "-")) for v in panel.locator(".words").nth(1).locator(".value").all_inner_texts()
    ]
    np.testing.assert_allclose(losses, erasure.falls[:, 1], atol=0.06)
    shorter = " ".join(word for place, word in enumerate(source.split()) if place != 1)
    assert panel.locator(".words").nth(0).locator(".text").all_inner_texts() == [
        *translator.translate_one(shorter).alignment.target
    ]
    opened.press("Edit")
    opened.page.get_by_label("your translation").fill(f"{target} ")
    opened.shows(target)
    (pair,) = translator.align([source], [target])
    values = opened.page.locator(".result .words").nth(1).locator(".value").all_inner_texts()
    shares = [float(value.removeprefix("<").removesuffix("%")) for value in values]
    np.testing.assert_allclose(shares, 100 * np.exp(pair.word_log_probabilities), atol=1)
    first = target.split()[0]
    opened.page.get_by_label("your translation").fill(first)
    opened.press("Complete from the cursor")
    opened.until("document.querySelector('.editor textarea').value.split(' ').length > 2")
    assert opened.page.get_by_label("your translation").input_value().startswith(first)


def test_settings_lists_and_files_work(show: Callable[..., TranslatingPage], translator: Translator) -> None:
    source = SOURCES[3]
    opened = show(f"#alternatives=3&text={quote(source)}")
    expected = [one.text for one in next(iter(translator.translate_nbest([source], nbest=3)))]
    for place, text in enumerate(expected):
        opened.shows(text, row=place + 1)
    lines = [*SOURCES[10:45], "", "garden"]
    opened.page.locator("#file").set_input_files(
        {"name": "menu.txt", "mimeType": "text/plain", "buffer": "\n".join(lines).encode()}
    )
    keep = opened.page.get_by_role("button", name="Save menu.fr.txt")
    with opened.page.expect_download() as download:
        keep.click()
    saved = Path(download.value.path()).read_text(encoding="utf-8").splitlines()
    assert saved == [one.text for one in translator.translate(lines)]


def test_a_page_that_has_loaded_its_model_works_without_a_network(
    show: Callable[..., TranslatingPage], translator: Translator
) -> None:
    opened, source = show(f"#text={quote(SOURCES[0])}"), SOURCES[1]
    opened.shows(translator.translate_one(SOURCES[0]).text)
    opened.until("performance.getEntriesByName(new URL('view/empty.html', location).href)[0]?.responseEnd > 0")
    opened.page.context.set_offline(True)
    before = len(opened.requests)
    opened.type(source)
    opened.shows(translator.translate_one(source).text)
    opened.page.locator("article .word").nth(0).click()
    opened.page.get_by_role("group", name=f"without {source.split()[0]}").wait_for()
    opened.press("Edit")
    opened.page.get_by_label("your translation").fill(f"{TARGETS[1]} ")
    opened.shows(TARGETS[1])
    opened.page.get_by_text("Download").first.click()
    with opened.page.expect_download() as download:
        opened.press("HTML")
    assert TARGETS[1].split()[0] in Path(download.value.path()).read_text(encoding="utf-8")
    assert [url for url in opened.requests[before:] if not url.startswith(("data:", "blob:"))] == []


def test_a_file_shows_its_progress_and_can_be_cancelled(
    show: Callable[..., TranslatingPage], translator: Translator
) -> None:
    opened = show(f"#text={quote(SOURCES[0])}")
    opened.shows(translator.translate_one(SOURCES[0]).text)
    lines = SOURCES * 20
    opened.page.locator("#file").set_input_files(
        {"name": "long.txt", "mimeType": "text/plain", "buffer": "\n".join(lines).encode()}
    )
    job = opened.page.locator("#job .panel")
    job.get_by_text(f"of {len(lines)} lines").wait_for()
    assert 0 < job.locator("progress").evaluate("e => e.value") < len(lines)
    opened.press("Cancel")
    job.wait_for(state="detached")
    opened.type(SOURCES[2])
    opened.shows(translator.translate_one(SOURCES[2]).text)


@pytest.mark.parametrize(("text", "direction"), [(JAPANESE, "ltr"), (HEBREW, "rtl")], ids=["japanese", "hebrew"])
def test_text_of_other_scripts_is_shown_with_its_words_and_direction(
    show: Callable[..., TranslatingPage], text: str, direction: str
) -> None:
    opened = show(f"#text={quote(text)}")
    opened.until("document.querySelectorAll('.result .words').length > 1")
    row = opened.page.locator(".result .words").nth(0)
    assert row.get_attribute("dir") == direction
    assert "".join(opened.words(0)).replace("end of sentence", "") == text.replace(" ", "")
    assert opened.page.get_by_role("alert").inner_text() == ""


def test_a_missing_file_is_named(show: Callable[..., TranslatingPage]) -> None:
    opened = show("#model=none")
    opened.page.context.route("**/step.onnx", lambda route: route.fulfill(status=404))
    opened.page.reload()
    opened.page.get_by_role("alert").filter(has_text="step.onnx: the file server answered 404").wait_for()
    opened.problems.clear()  # the browser notes the missing file


def test_a_page_from_the_file_system_says_how_to_open_it(browser: Any, demo_folder: Path) -> None:
    page = browser.new_page()
    page.goto((demo_folder / "index.html").as_uri())
    page.get_by_text("python3 -m http.server").wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_readable_colours_and_names(show: Callable[..., TranslatingPage], scheme: str) -> None:
    source = SOURCES[0]
    opened = show(
        f"#text={quote(source)}",
        viewport={"width": 360, "height": 700},
        has_touch=True,
        is_mobile=True,
        color_scheme=scheme,
    )
    opened.page.locator(".result").wait_for()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert contrast(opened.page.get_by_text("no text leaves it")) >= 4.5
    nameless = opened.page.evaluate("""() => [...document.querySelectorAll("button, input, textarea, progress")]
        .filter(e => !(e.textContent.trim() || e.labels?.length || e.ariaLabel)).map(e => e.outerHTML)""")
    assert nameless == []


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_has_a_barrier(show: Callable[..., TranslatingPage], translator: Translator, scheme: str) -> None:
    opened, source = show(color_scheme=scheme), SOURCES[0]
    assert barriers(opened.page) == []  # while the model is loaded
    opened.type(source)
    opened.shows(translator.translate_one(source).text)
    assert barriers(opened.page) == []
    opened.page.locator("article .word").nth(1).click()
    opened.page.get_by_role("group", name=f"without {source.split()[1]}").wait_for()
    opened.press("Heat map")
    opened.page.locator(".heatmap").wait_for()
    assert barriers(opened.page) == []
    opened.press("Edit")
    opened.page.get_by_label("your translation").fill(f"{TARGETS[0]} ")
    opened.shows(TARGETS[0])
    assert barriers(opened.page) == []
