"""Unicode normalisation form C as a rule table of SentencePiece, which has no such rule of its own.

The table composes letters with their accents and replaces characters that Unicode calls equal to others, such as the
Angstrom sign by Å. Both look alike. Full-width letters, ligatures and other compatibility characters stay as written.
Three cases of form C are not in the table: Hangul syllables from single letters, a letter that composes with an accent
behind another accent, and the CJK compatibility ideographs, which readers tell apart.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from itertools import permutations

_KEPT = re.compile("HANGUL SYLLABLE|CJK COMPATIBILITY IDEOGRAPH")


@functools.cache
def composition_rules() -> list[tuple[str, str]]:
    """The table, in order: text, and the text to write in its place."""
    rules: dict[str, str] = {}
    for code in range(0xC0, 0x30000):
        character = chr(code)
        if _decomposition(character) and not _KEPT.match(unicodedata.name(character, "")):
            composed = unicodedata.normalize("NFC", character)
            rules |= {form: composed for form in _equal_forms(character) if form != composed}
    return sorted(rules.items())


def _equal_forms(character: str) -> set[str]:
    """The character, its decompositions step by step, and their orders of accents that mean the same.

    Some of the orders begin with a letter that has one of the accents already.
    """
    forms, unread = {character}, [character]
    while unread:
        form = unread.pop()
        for i, part in enumerate(form):
            if parts := _decomposition(part):
                longer = form[:i] + parts + form[i + 1 :]
                if longer not in forms:
                    forms.add(longer)
                    unread.append(longer)
    composed = unicodedata.normalize("NFC", character)
    orders = {form[0] + "".join(order) for form in forms for order in permutations(form[1:])}
    begun = {unicodedata.normalize("NFC", form[:2]) + form[2:] for form in orders}
    return {form for form in forms | orders | begun if unicodedata.normalize("NFC", form) == composed}


def _decomposition(character: str) -> str:
    """The canonical decomposition of a character in one step; "" if it has none."""
    parts = unicodedata.decomposition(character)
    return "" if parts.startswith("<") else "".join(chr(int(code, 16)) for code in parts.split())
