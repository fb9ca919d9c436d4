"""The page of a training: facts, curves, sample translations over time, settings."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template

from nmt.drawing.page.rendering import document, encodable, page_parts, sentences_json
from nmt.drawing.page.sentences import PageSentence
from nmt.drawing.training_view.charts import Chart
from nmt.drawing.training_view.svg import svg_chart

_BEST = '<p class="quiet"><span class="key best">the weights that nmt keeps</span></p>'
"""The key of the dashed line in every chart."""


@dataclass(frozen=True)
class TrainingPage:
    """All that the page of a training shows. Texts may hold anything; they are escaped."""

    title: str
    facts: Mapping[str, str]
    """Short facts by name, shown first."""
    charts: Sequence[Chart]
    best: int | None
    """The step of the best weights."""
    samples: Sequence[PageSentence]
    """Source sentences with their translations, the newest first."""
    report: Sequence[str]
    """Lines on the training text."""
    settings: str
    """The settings, as text in lines."""


def training_page(page: TrainingPage) -> str:
    """The page as HTML: one file that loads nothing, and works from disk."""
    style, script, policy = page_parts(_read_part("view.css"), _read_part("view.js"))
    title = _text(page.title)
    body = Template(_read_part("view.html")).substitute(
        script=script,
        title=title,
        facts="".join(map(_fact, page.facts.items())),
        best="" if page.best is None else _BEST,
        charts="".join(_figure(chart, page.best) for chart in page.charts),
        report="".join(f"<li>{_text(line)}</li>" for line in page.report) or "<li>nothing to report</li>",
        settings=_text(page.settings),
        data=sentences_json(page.samples),
    )
    return document(title, body, style, policy)


def _fact(fact: tuple[str, str]) -> str:
    name, value = fact
    return f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>"


def _figure(chart: Chart, best: int | None) -> str:
    names = [curve.name for curve in chart.curves]
    kinds = ["second"] if len(names) == 1 else ["first", "second"]
    keys = "".join(f'<span class="key {kind}">{_text(name)}</span>' for kind, name in zip(kinds, names, strict=True))
    caption = f"<figcaption><b>{_text(chart.title)}</b> {keys}</figcaption>"
    return f'<figure>{caption}{svg_chart(chart, best)}<p class="value" aria-live="polite"></p></figure>'


def _text(text: str) -> str:
    return html.escape(encodable(text))


def _read_part(name: str) -> str:
    return resources.files("nmt.drawing.training_view").joinpath(name).read_text(encoding="utf-8")
