"""Near-duplicates: sentences that differ in order, case, punctuation or one word."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache

from nmt.text.patterns import pattern

SHORT = 5
"""Words from which on near-duplicates may differ in one word. In a shorter sentence one word is much."""

_WORD = r"\w(?:\S*\w)?"
"""A word between spaces, without the punctuation around it."""


def similarity_keys(text: str) -> list[int]:
    """Keys of a sentence: sentences with a common key are near-duplicates.

    Near-duplicates have equal words in any order; case and punctuation do not count. If the longer sentence has `SHORT`
    words or more, one word may be missing, added or replaced. Words are separated by spaces. So sentences in a script
    without spaces, and sentences without letters and digits, are near-duplicates only if they are equal.
    """
    text = unicodedata.normalize("NFC", text)
    words = [_word_key(word) for word in pattern(_WORD).findall(text.casefold().replace("’", "'"))] or [_word_key(text)]
    whole = sum(words)
    if len(words) < SHORT:
        return [whole]
    return [whole, *(whole - word for word in words)]


@lru_cache(maxsize=1 << 17)
def _word_key(word: str) -> int:
    """64 bits of a hash: sums over a few dozen words are practically never equal by chance."""
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
