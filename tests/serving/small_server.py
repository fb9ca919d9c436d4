"""A translator for the tests of the server: it writes sentences in capitals, and has languages."""

from __future__ import annotations

from types import SimpleNamespace

import fake_translator

from nmt.serving.limits import Limits
from nmt.text.languages import SPACED, Language, Languages

LIMITS = Limits(texts=3, lines=6, characters=40, beam_size=4, phrases=2, erasures=4)


class Fake(fake_translator.Translator):
    """The fake translator with languages."""

    def __init__(self, source: str = "en", target: str = "he") -> None:
        vocabulary = fake_translator.Vocabulary()
        vocabulary.words = SPACED  # type: ignore[attr-defined]
        languages = Languages(Language.of(source), Language.of(target))
        self.run = SimpleNamespace(source=vocabulary, target=vocabulary, languages=languages)
