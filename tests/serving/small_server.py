"""A translator for the tests of the server: it writes sentences in capitals, and has languages.

`python -m small_server serve ...` is the `nmt` command with it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace

import fake_translator

from nmt.serving.limits import Limits
from nmt.text.languages import SPACED, Language, Languages
from nmt.translation import loading
from nmt.translation.result import Translation

LIMITS = Limits(texts=3, lines=6, characters=40, beam_size=4, phrases=2, erasures=4, body=200_000)


class Fake(fake_translator.Translator):
    """The fake translator with languages."""

    def __init__(self, source: str = "en", target: str = "he") -> None:
        vocabulary = fake_translator.Vocabulary()
        vocabulary.words = SPACED  # type: ignore[attr-defined]
        languages = Languages(Language.of(source), Language.of(target))
        self.run = SimpleNamespace(source=vocabulary, target=vocabulary, languages=languages)

    def _capitals(self, sentence: str) -> Translation:
        """The translation; of `wait FILE` only when there is such a file. FILE.begun says that it waits."""
        if sentence.startswith("wait "):
            gate = Path(sentence.removeprefix("wait "))
            gate.with_suffix(".begun").touch()
            while not gate.exists():
                time.sleep(0.01)
        return super()._capitals(sentence)


def install() -> None:
    """Puts this translator in place of the real one."""
    fake_translator.install(setattr)
    loading.load_translator = lambda *directories, **options: Fake()  # type: ignore[assignment]


if __name__ == "__mp_main__":  # a worker of `python -m small_server serve --workers 2`
    install()

if __name__ == "__main__":
    from nmt import cli

    install()
    sys.exit(cli.main())
