"""What notebooks show: escaped, without a script."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmt import notebook
from nmt.alignment.word_alignment import WordAlignment
from nmt.config import RunConfig, SearchConfig
from nmt.run.directory import Run
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation, TranslationList
from nmt.translation.translator import chosen

EVIL = "</td><script>alert(1)</script>\ud800"


class Parsed(HTMLParser):
    """The tags and the text of a piece of HTML; each tag that opens must close."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def translation(source: str, target: str) -> Translation:
    s, t = tuple(source.split()), tuple(target.split())
    weights = np.full((len(t), len(s)), 0.9 / len(s))
    return Translation(source, target, -1.25, -1.25, WordAlignment(s, t, weights, np.full(len(t), 0.1)))


def test_an_alignment_is_a_table_with_its_weights_and_links() -> None:
    pair = WordAlignment(("ein", "Hund"), ("a", "dog"), [[0.75, 0.0], [0.1, 0.9]], [0.25, 0.0])
    shown = Parsed(pair._repr_html_())
    assert shown.words == ["ein", "Hund", "end", "a", "0.75", "0.25", "dog", "0.10", "0.90"]
    outlined = [attributes for attributes in shown.attributes if "outline" in (attributes.get("style") or "")]
    assert len(outlined) == len(pair.links) == 2


def test_a_source_from_right_to_left_has_its_columns_so() -> None:
    pair = WordAlignment(("الكتاب", "Linux"), ("a",), [[0.5, 0.5]], [0.0])
    assert {"dir": "rtl"} in Parsed(pair._repr_html_()).attributes


@pytest.mark.parametrize(("source", "target"), [((), ("a",)), (("a",), ()), (("a",) * 41, ("b",))])
def test_an_alignment_that_is_no_small_table_is_a_line(source: tuple[str, ...], target: tuple[str, ...]) -> None:
    pair = WordAlignment(source, target, np.zeros((len(target), len(source))), np.zeros(len(target)))
    assert Parsed(pair._repr_html_()).tags == ["i"]


def test_texts_are_escaped() -> None:
    evil = Parsed(TranslationList([translation(EVIL, EVIL), translation(EVIL, "b")])._repr_html_())
    plain = Parsed(TranslationList([translation("a", "a"), translation("a", "b")])._repr_html_())
    assert evil.tags == plain.tags and "script" not in evil.tags
    assert "</td><script>alert(1)</script>\\ud800" in "".join(evil.words)
    assert Parsed(notebook.facts({EVIL: EVIL}) + notebook.table([{EVIL: EVIL}])).tags.count("script") == 0


def test_a_list_of_translations_is_a_list() -> None:
    one, two = translation("a b", "x"), translation("a b", "y z")
    found = TranslationList([one, two])
    assert found == [one, two]
    said = "".join(Parsed(found._repr_html_()).words)
    assert said.startswith("a b1. x log-probability -1.25") and "2. y z" in said
    assert TranslationList([])._repr_html_() == ""
    assert "x" in Parsed(one._repr_html_()).words


def test_the_translator_gives_such_lists() -> None:
    found = chosen(TranslationRequest("a", SearchConfig()), [translation("a", "x")])
    assert isinstance(found, TranslationList)


class Vocabulary:
    def __init__(self, size: int) -> None:
        self.size = size

    def with_words(self, words: Any) -> Vocabulary:
        return self


def test_a_run_shows_what_it_is_and_the_end_of_its_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, RunConfig(), Vocabulary(5), Vocabulary(6))  # type: ignore[arg-type]
    run.write_history([{"step": step, "validation_loss": "<2"} for step in range(100, 115)])
    shown = Parsed(run._repr_html_()).words
    assert "5 source, 6 target" in shown and "<2" in shown
    assert "114" in shown and "105" in shown and "104" not in shown
    (tmp_path / "history.csv").write_text("step;loss\n1;2\n")
    assert "expected the format" in "".join(Parsed(run._repr_html_()).words)
