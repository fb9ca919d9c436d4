"""Fills the page's HTML with its style, its script and the sentences."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from string import Template

from nmt.drawing.page.sentences import PageError, PageSentence
from nmt.files.atomic_writing import replacement_for

_MODULES = (
    "elements.js",
    "views.js",
    "status.js",
    "differences.js",
    "keys.js",
    "table.js",
    "sentence.js",
    "page.js",
)
"""The modules of the script; each one imports only from those before it."""


def html_page(sentences: Iterable[PageSentence], title: str = "Translations and their alignments") -> str:
    """The HTML page of some sentences, in their order; the same sentences give the same page."""
    style, script, policy = page_parts()
    shown = html.escape(encodable(title))
    body = Template(_read_part("page.html")).substitute(title=shown, script=script, data=sentences_json(sentences))
    return document(shown, body, style, policy)


def document(title: str, body: str, style: str, policy: str) -> str:
    """An HTML file.

    Args:
        title: escaped.
        body: HTML.
        style: of the page.
        policy: the page's Content-Security-Policy.
    """
    return Template(_read_part("frame.html")).substitute(title=title, body=body, style=style, policy=policy)


def page_parts(more_style: str = "", more_script: str = "") -> tuple[str, str, str]:
    """The style and the script that show sentences, with more behind them, and the policy that allows only these."""
    style, script = page_style(more_style), _joined_modules() + more_script
    return style, script, page_policy(style, script)


def page_style(more: str = "") -> str:
    """The style of pages, with more behind it."""
    return _read_part("page.css") + more


def page_policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy that allows a page this style and this script alone; without one, no script."""
    policy = {
        "default-src": "'none'",
        "script-src": _digest(script) if script else "'none'",
        "style-src": _digest(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in policy.items())


def sentences_json(sentences: Iterable[PageSentence]) -> str:
    """The data that the page's script reads, escaped for a script element."""
    shown = {"sentences": [sentence.to_json() for sentence in sentences]}
    return _escaped(encodable(json.dumps(shown, ensure_ascii=False, separators=(",", ":"))))


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


def _joined_modules() -> str:
    """The modules of the script as one: a page that works from disk imports nothing."""
    lines = [line for name in _MODULES for line in _read_part(name).splitlines() if not line.startswith("import ")]
    return "\n".join(['"use strict";', *(line.removeprefix("export ") for line in lines), ""])


def _read_part(name: str) -> str:
    return resources.files("nmt.drawing.page").joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """The digest by which a Content-Security-Policy names a script or a style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def encodable(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode, by their JSON escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _escaped(data: str) -> str:
    """Escapes the characters that have a meaning to an HTML parser; in JSON they occur only inside strings."""
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    return data
