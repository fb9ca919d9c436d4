"""Features of a sentence that rules and statistics count: words, letters and their scripts, digits."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

from nmt.text.patterns import pattern

_LETTERS = r"[^\W\d_]+"
_WORD = r"\w+(?:['’]\w+)*"


def count_characters(text: str) -> int:
    """Characters without whitespace."""
    return len("".join(text.split()))


def fold_case(text: str) -> str:
    """The text without case and with single spaces."""
    return " ".join(text.casefold().split())


def words_of(text: str) -> list[str]:
    """The words, case-folded, without punctuation."""
    return list(pattern(_WORD).findall(text.casefold()))


def trigrams_of(text: str) -> list[str]:
    """The trigrams of a text's letters: one for each character and one for the end, with the two characters before it.

    Everything but letters counts as a space. Otherwise dates and numbers would surprise most.
    """
    text = f"  {' '.join(pattern(_LETTERS).findall(text.casefold()))} "
    return [text[place - 2 : place + 1] for place in range(2, len(text))]


def digits_of(text: str) -> Counter[int]:
    """How often each digit occurs, in any script."""
    return Counter(unicodedata.digit(character) for character in text if character.isdigit())


def scripts_of(text: str) -> Counter[str]:
    """The number of letters of each script."""
    letters: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script_of(character):
            letters[script] += count
    return letters


@cache  # no more entries than Unicode has characters
def _script_of(character: str) -> str:
    """The script of a letter, by the first word of its Unicode name; "" for other characters.

    Japanese mixes three scripts, one of them shared with Chinese: the three count as one.
    """
    character = unicodedata.normalize("NFKC", character)[0]  # full-width and ordinal letters become plain letters
    if unicodedata.category(character) not in ("Lu", "Ll", "Lt", "Lo"):
        return ""
    script = re.split("[ -]", unicodedata.name(character, "UNKNOWN"), maxsplit=1)[0]
    return "CJK" if script in ("HIRAGANA", "KATAKANA") else script
