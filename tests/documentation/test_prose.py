"""The prose of the pages is short and plain: words near the plan, sentences of at most 25 words, an easy grade."""

from __future__ import annotations

import re

import pytest
from commands import REPOSITORY

from documentation.prose import PLAN, Prose, count_words, measure, sentences, syllables

LONGEST = 25
"""Words of a sentence."""

GRADE = 10.0
"""Of Flesch and Kincaid: years at school."""

EXCESS = 1.3
"""Words of a page, as a part of its plan."""

REFERENCE = ["changelog", "cli", "configuration", "python-api", "version-policy"]

UNPLANNED = ["docs/index.md", *(f"docs/reference/{name}.md" for name in REFERENCE)]
"""Pages whose length has no plan."""


def prose(page: str) -> Prose:
    return measure((REPOSITORY / page).read_text(encoding="utf-8"))


def test_every_page_has_its_place_in_the_plan() -> None:
    written = {str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").rglob("*.md")}
    indexes = {page for page in written if page.endswith("/index.md")}
    assert written - indexes - {*UNPLANNED} == {*PLAN} - {"README.md"}


@pytest.mark.parametrize("page", PLAN)
def test_a_page_is_about_as_long_as_planned(page: str) -> None:
    assert prose(page).words <= EXCESS * PLAN[page]


@pytest.mark.parametrize("page", [page for page in [*PLAN, "docs/index.md"] if "reference" not in page])
def test_a_page_is_easy_to_read(page: str) -> None:
    found = prose(page)
    assert [sentence for sentence in found.sentences if count_words(sentence) > LONGEST] == []
    assert found.grade <= GRADE


@pytest.mark.parametrize("page", PLAN)
def test_the_comment_of_a_number_begins_no_line(page: str) -> None:
    """There it would end the paragraph in Markdown."""
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    assert re.findall(r"^ *<!-- (?:result|given)\b.*$", text, re.MULTILINE) == []


def test_blocks_tables_headings_and_comments_are_no_prose() -> None:
    page = """# A heading

One [link](x/y.md), `some code.py` and <!-- result: a b -->41.4<!-- / --> of $x_i$. Two
lines here!

| a | table |
```bash
nmt train
```
<!-- table: t -->

| x | y |

<!-- / -->
* An item
* another
"""
    assert sentences(page) == ["One link, code and 41.4 of code.", "Two lines here!", "An item", "another"]
    assert measure(page).words == 12
    assert measure(page).longest == "One link, code and 41.4 of code."


@pytest.mark.parametrize(
    ("word", "count"), [("the", 1), ("translation", 3), ("weights", 1), ("added", 2), ("makes", 1), ("pieces", 2)]
)
def test_syllables(word: str, count: int) -> None:
    assert syllables(word) == count


def test_the_grade_of_a_sentence_by_hand() -> None:
    # 6 words, 8 syllables: 0.39 * 6 + 11.8 * 8 / 6 - 15.59
    assert measure("The model reads a short sentence.").grade == pytest.approx(2.34 + 15.733 - 15.59, abs=0.01)
