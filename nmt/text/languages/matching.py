"""Tags that name one language: en and en-US, zh-TW and zh-Hant, but not zh-Hans."""

from __future__ import annotations

from collections.abc import Sequence

from nmt.config.corpus import LANGUAGE_TAG
from nmt.text.languages.language import Language

_SCRIPTS = {"latin": "-Latn", "cyrillic": "-Cyrl"}
"""Scripts as gettext names them behind @."""
_SCRIPTS_OF_REGIONS = {
    "zh-cn": "Hans", "zh-sg": "Hans", "zh-my": "Hans", "zh-tw": "Hant", "zh-hk": "Hant", "zh-mo": "Hant",
}  # fmt: skip
"""The script of languages that are written in another one in another region."""


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


def may_be_same(one: Language, other: Language) -> bool:
    """Whether two languages are one, as far as both are known."""
    return not (known(one.tag) and known(other.tag)) or same_language(one.tag, other.tag)


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
