"""Which of a document's languages are source and target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from nmt.config.corpus import LANGUAGE_TAG
from nmt.text.errors import CorpusError
from nmt.text.languages import Language, Languages

TAGS_SHOWN = 20
"""Languages of a document that a message names."""
_SCRIPTS = {"latin": "-Latn", "cyrillic": "-Cyrl"}
"""Scripts as gettext names them behind @."""
_SCRIPTS_OF_REGIONS = {
    "zh-cn": "Hans", "zh-sg": "Hans", "zh-my": "Hans", "zh-tw": "Hant", "zh-hk": "Hant", "zh-mo": "Hant",
}  # fmt: skip
"""The script of languages that are written in another one in another region."""
_HOW = (
    "name both, with --corpus.source_language TAG --corpus.target_language TAG, or outside nmt train with "
    "--source-language TAG --target-language TAG"
)


def known(tag: str) -> str:
    """A language tag, or nothing for an unknown language."""
    return "" if tag.casefold().startswith("und") else tag


def spelled(tag: str) -> Language:
    """The language of a tag, or of a locale such as sr_RS.UTF-8@latin; unknown if it is neither."""
    locale, _, modifier = tag.strip().partition("@")
    name = locale.partition(".")[0].replace("_", "-")
    code, hyphen, rest = name.partition("-")
    name = code + _SCRIPTS.get(modifier.casefold(), "") + hyphen + rest
    return Language.of(name) if LANGUAGE_TAG.fullmatch(name) else Language()


def same_language(one: str, other: str) -> bool:
    """Whether two tags name one language, in any region: en and en-US. Another script is another language."""
    first, second = _known_or_raw(one), _known_or_raw(other)
    scripts = set(filter(None, map(_named_script, (first, second))))
    return first.code == second.code and len(scripts) < 2


def _named_script(language: Language) -> str:
    """The script that a tag names, or that its region means; nothing if it leaves the script open."""
    subtags = language.tag.split("-")
    named = [subtag for subtag in subtags[1:] if len(subtag) == 4 and subtag.isalpha()]
    return named[0] if named else _SCRIPTS_OF_REGIONS.get("-".join(subtags[:2]).casefold(), "")


def _has_region(language: Language) -> bool:
    return any(len(subtag) == 2 or subtag.isdigit() for subtag in language.tag.split("-")[1:])


def _known_or_raw(tag: str) -> Language:
    """The language of a tag; a tag of no language, such as x-none, is only like itself."""
    language = spelled(tag)
    return language if known(language.tag) else Language(tag.casefold().replace("-", "_"))


def best_match(tag: str, tags: Sequence[str], any_region: bool = True) -> int | None:
    """The place of a language among `tags`: of the tag itself, otherwise of the first tag for it.

    Args:
        any_region: whether pt-PT matches pt-BR; pt matches both.
    """
    wanted, others = _known_or_raw(tag), list(map(_known_or_raw, tags))
    if wanted in others:
        return others.index(wanted)
    for place, other in enumerate(others):
        if same_language(tag, tags[place]) and (any_region or not (_has_region(wanted) and _has_region(other))):
            return place
    return None


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
