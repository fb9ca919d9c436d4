"""What rules and statistics count in a sentence: words, letters and their scripts, digits."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"\w+(?:['’]\w+)*")


def count_characters(text: str) -> int:
    return len("".join(text.split()))


def folded(text: str) -> str:
    return " ".join(text.casefold().split())


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def trigrams_of(text: str) -> list[str]:
    """One for each character and one for the end, each with the two characters before it; what is no letter of a word
    is a space, or dates and numbers would be what surprises most."""
    text = f"  {' '.join(_LETTERS.findall(text.casefold()))} "
    return [text[place - 2 : place + 1] for place in range(2, len(text))]


def digits_of(text: str) -> Counter[int]:
    return Counter(unicodedata.digit(character) for character in text if character.isdigit())


def scripts_of(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script_of(character):
            letters[script] += count
    return letters


@cache  # no more entries than Unicode has characters
def _script_of(character: str) -> str:
    """The script of a letter, which is the first word of its name in Unicode; "" where it is none.

    Japanese is written in three scripts at once, one of them that of Chinese: they are taken for one.
    """
    character = unicodedata.normalize("NFKC", character)[0]  # the full-width and the ordinal A are an A
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo"):
        return ""
    script = re.split("[ -]", unicodedata.name(character, "UNKNOWN"), maxsplit=1)[0]
    return "CJK" if script in ("HIRAGANA", "KATAKANA") else script
