"""Small pieces of HTML with which notebooks show translations, alignments and runs: escaped, without a script."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from nmt.direction import right_to_left

MOST_WORDS = 40
"""The most words of a side whose attention is shown as a table."""
_SMALLEST_SHOWN = 0.005  # smaller values round to 0.00


def text(value: object) -> str:
    """The text of a value, escaped."""
    return html.escape(str(value).encode("utf-8", "backslashreplace").decode())


def sentence(value: str) -> str:
    """A sentence in its own direction."""
    return f'<bdi dir="auto">{text(value)}</bdi>'


def facts(values: Mapping[str, object]) -> str:
    """A table of names and values."""
    rows = (
        f'<tr><th style="text-align:left">{text(name)}</th><td>{text(value)}</td></tr>'
        for name, value in values.items()
    )
    return f"<table>{''.join(rows)}</table>"


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows with the same columns as a table; their names are in its head."""
    if not rows:
        return ""
    head = "".join(f"<th>{text(name)}</th>" for name in rows[0])
    cells = ("".join(f"<td>{text(row.get(name, ''))}</td>" for name in rows[0]) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<div style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def attention_table(
    source: Sequence[str],
    target: Sequence[str],
    weights: ArrayLike,
    end_of_sentence: ArrayLike,
    links: Collection[tuple[int, int]],
) -> str:
    """Attention as a table: target words down, source words across in their own direction; links are outlined.

    Args:
        source, target: the words.
        weights: [target words, source words].
        end_of_sentence: [target words].
        links: (source word, target word).
    """
    if not source or not target:
        return "<i>no words on one side</i>"
    if max(len(source), len(target)) > MOST_WORDS:
        return f"<i>{len(source)} by {len(target)} words: nmt.save_heatmap draws them</i>"
    columns = np.concatenate([np.asarray(weights, float), np.asarray(end_of_sentence, float)[:, None]], axis=1)
    heads = [*(f"<th>{sentence(word)}</th>" for word in source), "<th><i>end</i></th>"]
    cells = ("".join(_cell(value, (s, t) in links) for s, value in enumerate(row)) for t, row in enumerate(columns))
    rows = [f"<tr><th>{sentence(word)}</th>{row}</tr>" for word, row in zip(target, cells, strict=True)]
    direction = "rtl" if right_to_left(source) else "ltr"
    return (
        f'<div style="overflow-x:auto"><table dir="{direction}"><thead><tr><td></td>{"".join(heads)}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(value: float, linked: bool) -> str:
    outline = ";outline:2px solid #c04f00;outline-offset:-2px" if linked else ""
    shown = f"{value:.2f}" if value >= _SMALLEST_SHOWN else ""
    return f'<td style="background:rgba(30,130,210,{min(value, 1) * 0.6:.3f}){outline}">{shown}</td>'


def details(summary: str, content: str) -> str:
    """Content that opens by a click on a line of text."""
    return f"<details><summary>{text(summary)}</summary>{content}</details>"


def stacked(parts: Iterable[str]) -> str:
    """Parts below each other."""
    return "".join(f"<div>{part}</div>" for part in parts)
