"""The HTML page as text and data; tests/drawing/test_browser.py opens it in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.alignment.errors import AlignmentError
from nmt.alignment.links import Gold
from nmt.alignment.word_alignment import WordAlignment
from nmt.drawing.page import PageError, PageSentence, html_page, rendering, save

REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Translated:
    text: str
    log_probability: float
    alignment: WordAlignment


def translated(source: str, target: str, log_probability: float = -1.5, seed: int = 0) -> Translated:
    s, t = tuple(source.split()), tuple(target.split())
    weights = np.random.default_rng(seed).dirichlet(np.full(len(s) + 1, 0.3), size=len(t)).astype(np.float32)
    return Translated(target, log_probability, WordAlignment(s, t, weights[:, :-1], weights[:, -1]))


class Parsed(HTMLParser):
    """The elements of a page, and the text of its scripts, styles and titles, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = tag

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open, []).append(data)


def data_of(page: str) -> list[dict[str, Any]]:
    (data, _) = Parsed(page).texts["script"]
    return json.loads(data)["sentences"]


# A small alphabet with every character that has a meaning in HTML, JSON or a template.
letters = st.sampled_from(list("ab<>&'/\\${}!-") + ['"', "\u2028", "\0", "\u0301", "ب", "漢", "\U0001f600"])
words = st.lists(st.text(letters, min_size=1, max_size=8), min_size=1, max_size=5)


@st.composite
def page_sentences(draw: st.DrawFn) -> PageSentence:
    source = tuple(draw(words))
    random = np.random.default_rng(draw(st.integers(0, 1000)))

    def some_links(count: int) -> frozenset[tuple[int, int]]:
        return frozenset((s, t) for s in range(len(source)) for t in range(count) if random.random() < 0.3)

    def some_translation() -> Translated:
        target = tuple(draw(words))
        weights = random.random((len(target), len(source)), np.float32)
        alignment = WordAlignment(source, target, weights, random.random(len(target)), some_links(len(target)))
        return Translated(" ".join(target), -99 * random.random(), alignment)

    translations = [some_translation() for _ in range(draw(st.integers(1, 3)))]
    rows, columns = translations[0].alignment.weights.shape
    possible = some_links(rows)
    gold = Gold(frozenset(sorted(possible)[::2]), possible) if draw(st.booleans()) else None
    erasure = random.normal(0, 5, (rows, columns)) if draw(st.booleans()) else None
    return PageSentence(translations, draw(st.text(letters, max_size=9)), gold, erasure)


@given(st.lists(page_sentences(), max_size=3))
def test_every_word_weight_and_link_is_in_the_page(sentences: list[PageSentence]) -> None:
    found = data_of(html_page(sentences))
    assert len(found) == len(sentences)
    for sentence, data in zip(sentences, found, strict=True):
        assert data["label"] == sentence.label
        assert len(data["translations"]) == len(sentence.translations)
        for translation, shown in zip(sentence.translations, data["translations"], strict=True):
            alignment = WordAlignment.from_json(shown["alignment"])
            assert (alignment.source, alignment.target) == (translation.alignment.source, translation.alignment.target)
            assert alignment.links == translation.alignment.links
            np.testing.assert_allclose(alignment.weights, translation.alignment.weights, atol=5.1e-5)
            end, shown_end = translation.alignment.end_of_sentence, alignment.end_of_sentence
            np.testing.assert_allclose(shown_end, end, atol=5.1e-5)
            assert shown["text"] == translation.text
            assert shown["log_probability"] == pytest.approx(translation.log_probability, abs=5.1e-5)
        if sentence.gold is None:
            assert data["gold"] is None
        else:
            assert {tuple(link) for link in data["gold"]["sure"]} == sentence.gold.sure
            assert {tuple(link) for link in data["gold"]["possible"]} == sentence.gold.possible
        if sentence.erasure is None:
            assert data["erasure"] is None
        else:
            np.testing.assert_allclose(data["erasure"], sentence.erasure, atol=5.1e-5)


EMPTY = [(tag, attributes) for tag, attributes in Parsed(html_page([], "")).tags]


@given(st.text(letters), words)
def test_no_text_adds_an_element_or_escapes_the_data(title: str, source: list[str]) -> None:
    alignment = WordAlignment(tuple(source), ("x",), np.ones((1, len(source))), np.zeros(1))
    page = html_page([PageSentence([Translated("</script><b>", -1, alignment)], title)], title)
    assert Parsed(page).tags == EMPTY
    assert data_of(page)[0]["translations"][0]["alignment"]["source"] == source
    page.encode()


@pytest.mark.parametrize(
    "text",
    [
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "]]>",
        "&lt;",
        "\u2028",
        "\ud800",
        "\0",
        "$title",
        "${data}",
    ],
)
def test_words_that_look_like_markup_stay_text(text: str) -> None:
    alignment = WordAlignment((text,), (text,), np.ones((1, 1)), np.zeros(1))
    page = html_page([PageSentence([Translated(text, -1, alignment)], text)], text)
    assert Parsed(page).tags == EMPTY
    assert data_of(page)[0]["translations"][0]["alignment"]["source"] == [text]
    page.encode()


def test_the_policy_allows_only_the_script_and_style_of_the_page() -> None:
    page = html_page([PageSentence([translated("ein Hund", "a dog")])])
    parsed = Parsed(page)
    (policy,) = [a["content"] for tag, a in parsed.tags if tag == "meta" and "http-equiv" in a]
    rules = dict(rule.split(" ", 1) for rule in str(policy).split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    for name, (*_, text) in (("script-src", parsed.texts["script"]), ("style-src", parsed.texts["style"])):
        assert rules[name] == f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    assert page.index("Content-Security-Policy") < min(page.index("<style"), page.index("<script"))
    assert not re.search(r"https?:|src=|@import|url\(", page)


def test_the_same_sentences_give_the_same_page() -> None:
    made = [PageSentence([translated("ein Hund", "a dog"), translated("ein Hund", "one dog", -2)]) for _ in range(2)]
    assert html_page(made[:1]) == html_page(made[1:])


def test_an_infinite_log_probability_is_left_out() -> None:
    (sentence,) = data_of(html_page([PageSentence([translated("a", "b", -np.inf)])]))
    assert sentence["translations"][0]["log_probability"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"translations": []}, "^line 3: no translations: expected at least one$"),
        (
            {"translations": [translated("a b", "c"), translated("a", "c")]},
            "^line 3: translations of different sources: give each source its own sentence$",
        ),
        ({"erasure": [[1.0]]}, r"^line 3: erasure has shape \[1, 1\]: expected finite numbers of shape \[1, 2\]"),
        ({"erasure": [[1.0, np.nan]]}, r"^line 3: erasure has shape \[1, 2\]: expected finite numbers"),
        ({"gold": Gold(frozenset(), frozenset({(0, 1)}))}, "^line 3, gold links: link 0-1, counted from 0, is out of"),
    ],
)
def test_inconsistent_sentences_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((PageError, AlignmentError), match=message):
        PageSentence(**{"translations": [translated("a b", "c")], "label": "line 3"} | arguments)


def test_a_page_is_saved_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = PageSentence([translated("私 は", "I am")])
    path = save([sentence], tmp_path / "new" / "page.html", "title")
    assert path.read_text(encoding="utf-8") == html_page([sentence], "title")
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(
        PageError, match=r"page.html/below.html cannot be written: .*; make room there, or choose another place$"
    ):
        save([sentence], path / "below.html")

    def fail_half_way(self: Path, text: str, **_: Any) -> None:
        self.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", fail_half_way)
    with pytest.raises(PageError, match="No space left"):
        save([], path)
    monkeypatch.undo()
    assert path.read_text(encoding="utf-8") == html_page([sentence], "title")
    assert list(path.parent.iterdir()) == [path]


def test_the_script_is_all_modules_and_each_imports_only_from_those_before_it() -> None:
    folder = Path(rendering.__file__).parent
    assert sorted(rendering._MODULES) == sorted(path.name for path in folder.glob("*.js"))
    for place, name in enumerate(rendering._MODULES):
        imported = re.findall(r'^import .* from "\./(.+)";$', (folder / name).read_text("utf-8"), re.MULTILINE)
        assert set(imported) <= set(rendering._MODULES[:place]), name


def test_an_installed_package_contains_the_page(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    code = f"import setuptools; setuptools.setup(script_args={['-q', 'egg_info', '-e', '.', 'build_py', '-d', 'lib']})"
    for name in ("setup.cfg", "README.md", "LICENSE", "nmt"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    built = {path.name for path in (tmp_path / "lib" / "nmt" / "drawing" / "page").iterdir()}
    assert {"__init__.py", "page.html", "page.css", "page.js", "sentence.js"} <= built
    built = {path.name for path in (tmp_path / "lib" / "nmt" / "drawing" / "training_view").iterdir()}
    assert {"view.html", "view.css", "view.js"} <= built
    for folder in ("page", "engine", "offline"):
        installed = {path.name for path in (tmp_path / "lib" / "nmt" / "web" / folder).iterdir()}
        assert {path.name for path in (REPOSITORY / "nmt" / "web" / folder).glob("*.*")} <= installed
