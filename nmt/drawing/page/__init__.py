"""Translations and their alignments as one HTML file that works by itself.

The file loads nothing else and runs only its own script and style: a Content-Security-Policy names their digests. Words
are data in the file, and the script only ever shows them as text.
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
from nmt.drawing.canvas import PlotError
from nmt.drawing.picture import erasure_matrix
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacement_for

_DECIMALS = 4


class PageError(NmtError):
    """A sentence that the page cannot show, or a path that cannot be written; the message says what was expected."""


class AlignedTranslation(Protocol):
    """A translation and its alignment; `nmt.Translation` is one."""

    @property
    def text(self) -> str: ...

    @property
    def log_probability(self) -> float: ...

    @property
    def alignment(self) -> WordAlignment: ...


@dataclass(frozen=True, eq=False)
class PageSentence:
    """A source sentence on the page, with its translations.

    Raises:
        PageError: no translation; translations of different sources; an erasure matrix of another shape, or with a
            number that is not finite.
        AlignmentError: a gold link to a word that does not exist.
    """

    translations: Sequence[AlignedTranslation]
    """Translations of the same source sentence, best first."""
    label: str = ""
    """The heading of the sentence, such as `line 3`."""
    gold: Gold | None = None
    """Links between the source and the first translation, drawn by people."""
    erasure: ArrayLike | None = None
    """[target words, source words] of the first translation: the fall of the target word's log-probability in nats when
    the source word is erased."""

    def __post_init__(self) -> None:
        if not self.translations:
            raise PageError(f"{self._name}: no translations: expected at least one")
        first = self.translations[0].alignment
        if any(translation.alignment.source != first.source for translation in self.translations):
            raise PageError(f"{self._name}: translations of different sources: give each source its own sentence")
        if self.gold is not None:
            require_in_range(self.gold, first.source, first.target, f"{self._name}, gold links")
        if self.erasure is not None:
            try:
                erasure_matrix(self.erasure, first)
            except PlotError as error:
                raise PageError(f"{self._name}: {error}") from None

    @property
    def _name(self) -> str:
        return self.label or "sentence"

    def to_json(self) -> dict[str, Any]:
        """The sentence as the page's script reads it, with numbers rounded to 4 decimals."""
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


def html_page(sentences: Iterable[PageSentence], title: str = "Translations and their alignments") -> str:
    """The HTML page of some sentences, in their order; the same sentences give the same page."""
    style, script = _read_part("page.css"), _read_part("page.js")
    data = json.dumps(
        {"sentences": [sentence.to_json() for sentence in sentences]}, ensure_ascii=False, separators=(",", ":")
    )
    policy = {
        "default-src": "'none'",
        "script-src": _digest(script),
        "style-src": _digest(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return Template(_read_part("page.html")).substitute(
        policy="; ".join(f"{name} {value}" for name, value in policy.items()),
        title=html.escape(_encodable(title)),
        style=style,
        script=script,
        data=_escaped(_encodable(data)),
    )


def save(
    sentences: Iterable[PageSentence], path: str | os.PathLike[str], title: str = "Translations and their alignments"
) -> Path:
    """Writes `html_page` into a file, whole or not at all, and makes missing directories.

    Raises:
        PageError: the path cannot be written.
    """
    path, text = Path(path), html_page(sentences, title)
    with replacement_for(path, PageError) as place:
        place.write_text(text, encoding="utf-8", newline="\n")
    return path


def _read_part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The digest by which a Content-Security-Policy names a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _encodable(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode, by their JSON escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _escaped(data: str) -> str:
    """Escapes the characters that have a meaning to an HTML parser; in JSON they occur only inside strings."""
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data


def _rounded(value: float) -> float | None:
    return round(value, _DECIMALS) if math.isfinite(value) else None
