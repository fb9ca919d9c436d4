"""Which of a document's languages are source and target."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from nmt.text.errors import CorpusError
from nmt.text.languages import Languages
from nmt.text.languages.matching import known, same_language, spelled

TAGS_SHOWN = 20
"""Languages of a document that a message names."""
_HOW = (
    "name both, with --corpus.source_language TAG --corpus.target_language TAG, or outside nmt train with "
    "--source-language TAG --target-language TAG"
)


class LanguageChoice:
    """Source and target of a document with many languages, found while its units are read.

    Args:
        wanted: of the user; a known tag decides.
        header: the source language that the document declares; empty: none.
        path: the document in messages.
    """

    def __init__(self, wanted: Languages, header: str, path: str) -> None:
        self._path = path
        self._seen: dict[str, None] = {}
        self.source, self.target = known(wanted.source.tag), known(wanted.target.tag)
        self._named = bool(self.source and self.target)
        if not self.source and header and not (self.target and same_language(header, self.target)):
            self.source = header

    def see(self, tags: Iterable[str], line: int) -> None:
        """Takes the languages of the next unit.

        Raises:
            CorpusError: the document leaves the choice open.
        """
        for tag in tags:
            if len(self._seen) < TAGS_SHOWN:
                self._seen[tag] = None
            if self._named:
                continue
            if not self.source and not (self.target and same_language(tag, self.target)):
                self.source = tag if self.target else self._undecided(tag)
            elif not self.target and not same_language(tag, self.source):
                self.target = tag
            elif not any(same_language(tag, other) for other in (self.source, self.target)):
                raise CorpusError(
                    f"{self._path}, line {line}: has the language {tag} beside {self.source} and {self.target}: {_HOW}"
                )

    @property
    def languages(self) -> Languages:
        """The languages that are chosen now."""
        return Languages(spelled(self.source), spelled(self.target))

    def refuse(self) -> NoReturn:
        """Refuses a document without a pair of these languages.

        Raises:
            CorpusError: names the languages that the document has.
        """
        wanted = " and ".join(filter(None, [self.source, self.target])) or "two languages"
        found = ", ".join(self._seen) or "none"
        raise CorpusError(f"{self._path}: no unit has text in {wanted}; the file's languages: {found}")

    def _undecided(self, tag: str) -> str:
        raise CorpusError(
            f"{self._path}: does not say which language is the source ({tag} is among its languages): {_HOW}"
        )
