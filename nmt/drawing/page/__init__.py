"""Translations and what their words come from, as one HTML file that works by itself.

The file fetches nothing, runs no script and no style but its own (a Content-Security-Policy with their hashes says so),
and has the words as data that are only ever shown as text.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from nmt.alignment.links import Gold, require_in_range
from nmt.alignment.word_alignment import WordAlignment
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacement_for

_DECIMALS = 4


class PageError(NmtError):
    """Something that the page cannot show; the message says what was expected."""


class Translated(Protocol):
    """A translation and its alignment (`translator.Translation` is one)."""

    @property
    def text(self) -> str: ...

    @property
    def log_probability(self) -> float: ...

    @property
    def alignment(self) -> WordAlignment: ...


@dataclass(frozen=True, eq=False)
class PageSentence:
    """A source sentence on the page.

    Raises:
        PageError: no translation, translations of different sources, or an erasure matrix of another shape or with
            values that are not finite.
        AlignmentError: a gold link to a word that is not there.
    """

    translations: Sequence[Translated]
    """Of one source sentence, best first."""
    label: str = ""
    """Names the sentence, such as `line 3`."""
    gold: Gold | None = None
    """Links between the source and the first translation, drawn by people."""
    erasure: ArrayLike | None = None
    """[target words, source words] of the first translation: by how many nats the target word's log-probability falls
    when the source word is erased."""

    def __post_init__(self) -> None:
        if not self.translations:
            raise PageError(f"{self._name}: no translations: expected at least one")
        first = self.translations[0].alignment
        if any(translation.alignment.source != first.source for translation in self.translations):
            raise PageError(f"{self._name}: translations of different sources: make an entry of each")
        if self.gold is not None:
            require_in_range(self.gold, first.source, first.target, f"{self._name}, gold links")
        if self.erasure is not None:
            array = np.asarray(self.erasure, dtype=float)
            if array.shape != first.weights.shape or not np.isfinite(array).all():
                raise PageError(
                    f"{self._name}: erasure has shape {list(array.shape)}: expected finite numbers of shape "
                    f"{list(first.weights.shape)}, a row a target word and a column a source word"
                )

    @property
    def _name(self) -> str:
        return self.label or "entry"

    def to_json(self) -> dict[str, Any]:
        """What the page knows of it; alignments as `WordAlignment.to_json`, numbers rounded to 4 decimals."""
        return {
            "label": self.label,
            "translations": [
                {
                    "text": translation.text,
                    "log_probability": _rounded(translation.log_probability),
                    "alignment": translation.alignment.to_json(),
                }
                for translation in self.translations
            ],
            "gold": None if self.gold is None else {k: sorted(v) for k, v in self.gold._asdict().items()},
            "erasure": None if self.erasure is None else np.asarray(self.erasure, float).round(_DECIMALS).tolist(),
        }


def page(entries: Iterable[PageSentence], title: str = "Translations and their alignments") -> str:
    """The HTML page of some sentences, in their order; the same entries give the same page."""
    style, script = _part("page.css"), _part("page.js")
    data = json.dumps({"entries": [entry.to_json() for entry in entries]}, ensure_ascii=False, separators=(",", ":"))
    policy = {
        "default-src": "'none'",
        "script-src": _digest(script),
        "style-src": _digest(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return Template(_part("page.html")).substitute(
        policy="; ".join(f"{name} {value}" for name, value in policy.items()),
        title=html.escape(_encodable(title)),
        style=style,
        script=script,
        data=_inert(_encodable(data)),
    )


def save(
    entries: Iterable[PageSentence], path: str | os.PathLike[str], title: str = "Translations and their alignments"
) -> Path:
    """Writes `page` into a file, whole or not at all; makes the directories above it.

    Raises:
        PageError: the place cannot be written.
    """
    path, text = Path(path), page(entries, title)
    with replacement_for(path, PageError) as place:
        place.write_text(text, encoding="utf-8", newline="\n")
    return path


def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """How a Content-Security-Policy names a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _encodable(text: str) -> str:
    """Lone surrogates, which UTF-8 does not have, as JSON writes them."""
    return text.encode("utf-8", "backslashreplace").decode()


def _inert(data: str) -> str:
    """JSON in which no character means anything to an HTML parser; these are only ever within its strings."""
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


def _rounded(value: float) -> float | None:
    return round(value, _DECIMALS) if math.isfinite(value) else None
