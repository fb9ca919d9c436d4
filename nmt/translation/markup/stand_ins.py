"""Words that stand in for placeholders while a sentence is translated.

A model has never seen most placeholders, and a sentence without them lacks a word: both translate badly. A word that
both sides of the training text write alike, mostly a name, keeps the sentence whole and comes back unchanged.
"""

from __future__ import annotations

from nmt.run.directory import Run
from nmt.text.pieces import SPACE, UNK
from nmt.text.profile import TextProfile

_LEAST_LETTERS = 3
_LEAST_COUNT = 20
_ALIKE = 0.8
"""The lesser count of a stand-in on one side, as a share of its count on the other side."""
_KEPT = 20
"""Stand-ins of a run; a sentence with more placeholders loses the others before it is translated."""


def stand_ins(run: Run, profile: TextProfile | None) -> list[str]:
    """Words that are one piece of both vocabularies, about as frequent on both sides. The most frequent is the first.

    Words with a capital letter come before others, because most are names. Without a profile there are none.
    """
    if profile is None:
        return []
    source, target = profile.source.pieces, profile.target.pieces
    found = []
    for piece, text in enumerate(run.source.pieces(range(len(source)))):
        word = text.removeprefix(SPACE)
        if word == text or not word.isalpha() or len(word) < _LEAST_LETTERS:
            continue
        other = run.target.index(text)
        counts = source[piece], target[other] if other is not None else 0
        if min(counts) >= max(_LEAST_COUNT, _ALIKE * max(counts)):
            found.append((word[0].islower(), -min(counts), word))
    return [word for *_, word in sorted(found)][:_KEPT]


def can_read(run: Run, text: str) -> bool:
    """Whether the source vocabulary has pieces for a text."""
    return UNK not in run.source.encode([text])[0]
