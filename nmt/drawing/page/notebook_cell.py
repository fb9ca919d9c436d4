"""The page of sentences in a cell of a notebook: data and script are in the cell, and no server is needed."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from nmt.drawing.page.rendering import html_page
from nmt.drawing.page.sentences import AlignedTranslation, PageError, PageSentence
from nmt.translation.result import Translation, TranslationList

Shown: TypeAlias = Translation | TranslationList | PageSentence

_HEADER, _SENTENCE, _MOST = 240, 190, 640
"""Pixels of the page's head and of a sentence, and the most of a cell; the user can drag it higher."""


@dataclass(frozen=True)
class Widget:
    """A page that a notebook shows."""

    page: str
    """Its HTML, one whole document."""
    height: int
    """Pixels."""

    def _repr_html_(self) -> str:
        """The page in a frame: its script runs by itself, without access to the notebook."""
        style = f"width:100%;height:{self.height}px;border:1px solid #8886;border-radius:8px;resize:vertical"
        page, title = html.escape(self.page), "translations and their alignments"
        return f'<iframe title="{title}" sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def widget(translations: Shown | Iterable[Shown], title: str = "Translations and their alignments") -> Widget:
    """Translations as a notebook's cell that answers to mouse, keyboard and touch: a word lights up its sources.

    Args:
        translations: one translation; the alternatives of a sentence, as `translate_nbest` yields them; a sentence of
            the page, such as one with erasure; or several of these.
        title: above them.

    Raises:
        PageError: something else, or a sentence that the page cannot show.

    Example:
        >>> translator = nmt.Translator.load("saved_models/demo")
        >>> cell = nmt.widget(translator.translate_nbest(["It is hot ."], nbest=2))
        >>> "hot" in cell._repr_html_()
        True
    """
    single = isinstance(translations, (Translation, TranslationList, PageSentence))
    sentences = [_sentence(one) for one in ([translations] if single else translations)]  # type: ignore[union-attr]
    return Widget(html_page(sentences, title), min(_HEADER + _SENTENCE * len(sentences), _MOST))


def _sentence(shown: object) -> PageSentence:
    if isinstance(shown, PageSentence):
        return shown
    alternatives: list[AlignedTranslation] = list(shown) if isinstance(shown, list) else [shown]  # type: ignore[list-item]
    if not all(isinstance(one, Translation) for one in alternatives):
        raise PageError(f"a {type(shown).__name__}: expected translations, lists of translations or page sentences")
    return PageSentence(alternatives)
