"""The page of a comparison: scores of the systems, then sentences with the words that differ from the reference."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib import resources
from string import Template

from nmt.direction import right_to_left
from nmt.drawing.page.rendering import document, encodable, page_policy, page_style
from nmt.progress import counted


@dataclass(frozen=True)
class ComparedSentence:
    """A sentence of the page. Sequences have the order of the systems; texts may hold anything, they are escaped."""

    line: int
    source: Sequence[str]
    """Words; may be empty."""
    reference: Sequence[str]
    outputs: Sequence[Sequence[str]]
    """The words of each system."""
    scores: Sequence[Sequence[str]]
    """The scores of each system, as text."""
    best: int | None
    """The system with the best score; None: several have it."""
    difference: str
    """The difference of the scores, as text."""


@dataclass(frozen=True)
class ComparisonPage:
    """All that the page shows. Texts may hold anything; they are escaped."""

    title: str
    total: int
    """Sentences of the test set; the page shows some of them."""
    systems: Sequence[str]
    heads: Sequence[str]
    """Heads of the table behind the system's name."""
    rows: Sequence[Sequence[str]]
    """The table's cells of each system."""
    notes: Sequence[str]
    """Lines below the table: the test, the signatures."""
    sentences: Sequence[ComparedSentence]
    joiner: str = " "
    """Text between words: a space, or nothing for languages that write none."""
    source_joiner: str = " "
    languages: tuple[str, str] = ("", "")
    """The languages of source and target as BCP 47 tags; empty: unknown."""


def comparison_page(page: ComparisonPage) -> str:
    """The page as HTML: one file without a script that loads nothing, and works from disk."""
    style = page_style(_read_part("comparison.css"))
    title = _text(page.title)
    body = Template(_read_part("comparison.html")).substitute(
        title=title,
        table=_table(page),
        shown=f"{len(page.sentences):,} of {counted(page.total, 'sentence')}",
        difference=_difference(page),
        notes="".join(f"<p>{_text(line)}</p>" for line in page.notes),
        choices=_choices(page),
        sentences="".join(_article(one, page) for one in page.sentences) or "<p>The systems differ nowhere.</p>",
    )
    return document(title, body, style, page_policy(style))


def _difference(page: ComparisonPage) -> str:
    """The meaning of the number beside a sentence, behind "chrF2 of"."""
    if len(page.systems) != 2:
        return "the best system less chrF2 of the worst"
    first, second = (f"<bdi>{_text(name)}</bdi>" for name in page.systems)
    return f"{second} less chrF2 of {first}"


def _table(page: ComparisonPage) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in ("system", *page.heads))
    rows = [
        f'<tr><th scope="row"><bdi>{_text(name)}</bdi></th>{"".join(f"<td>{_text(cell)}</td>" for cell in cells)}</tr>'
        for name, cells in zip(page.systems, page.rows, strict=True)
    ]
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _choices(page: ComparisonPage) -> str:
    """Buttons that show the sentences for which one of two systems is better; the style has the rules."""
    if len(page.systems) != 2 or not page.sentences:
        return ""
    counts = [sum(one.best == system for one in page.sentences) for system in (0, 1)]
    labels = [f"all {len(page.sentences)}"]
    labels += [f"\u2068{name}\u2069 better: {count}" for name, count in zip(page.systems, counts, strict=True)]
    buttons = "".join(
        f'<label><input type="radio" name="shown" id="{name}"{" checked" * (name == "all")}> {_text(label)}</label>'
        for name, label in zip(("all", "first-better", "second-better"), labels, strict=True)
    )
    return f"<fieldset><legend>sentences</legend>{buttons}</fieldset>"


def _article(sentence: ComparedSentence, page: ComparisonPage) -> str:
    of_source, of_target = page.languages
    rows = []
    if sentence.source:
        rows.append(_row("source", "", _words(sentence.source, set(), page.source_joiner), sentence.source, of_source))
    words = _words(sentence.reference, set(), page.joiner)
    rows.append(_row("reference", "", words, sentence.reference, of_target))
    for number, (name, own) in enumerate(zip(page.systems, sentence.outputs, strict=True)):
        words = _words(own, differing(own, sentence.reference), page.joiner)
        scores = " · ".join(map(_text, sentence.scores[number]))
        kind = " best" if number == sentence.best else ""
        rows.append(_row(f"\u2068{name}\u2069", scores, words, own, of_target, kind))
    better = {None: "", 0: " first-better", 1: " second-better"}.get(sentence.best, "")
    heading = f"<h2>line {sentence.line} <span>{_text(sentence.difference)}</span></h2>"
    return f'<article class="compared{better}">{heading}<dl>{"".join(rows)}</dl></article>'


def _row(name: str, scores: str, words: str, plain: Sequence[str], language: str, kind: str = "") -> str:
    direction = "rtl" if right_to_left(plain) else "ltr"
    tag = f' lang="{_text(language)}"' if language else ""
    term = f'<dt class="label{kind}">{_text(name)} <span>{scores}</span></dt>'
    return f'{term}<dd dir="{direction}"{tag}>{words or "<i>no words</i>"}</dd>'


def _words(words: Sequence[str], marked: set[int], joiner: str) -> str:
    return joiner.join(
        f'<span class="different"><span class="text">{_text(word)}</span></span>' if place in marked else _text(word)
        for place, word in enumerate(words)
    )


def differing(words: Sequence[str], others: Sequence[str]) -> set[int]:
    """The places of the words outside the blocks that both lists have in one order."""
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    common = {place for block in blocks for place in range(block.a, block.a + block.size)}
    return set(range(len(words))) - common


def _text(text: str) -> str:
    return html.escape(encodable(text))


def _read_part(name: str) -> str:
    return resources.files("nmt.drawing.output_comparison").joinpath(name).read_text(encoding="utf-8")
