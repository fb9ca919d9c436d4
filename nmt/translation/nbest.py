"""The line format of n-best lists, as Moses writes it."""

from __future__ import annotations

from nmt.translation.result import Translation


def nbest_line(sentence: int, translation: Translation) -> str:
    """`SENTENCE ||| TEXT ||| log_probability= VALUE ||| SCORE`, without a line break.

    Args:
        sentence: index of the source sentence, counted from 0.
        translation: one entry of the sentence's list.
    """
    values = f"log_probability= {translation.log_probability:.4f} ||| {translation.score:.4f}"
    return f"{sentence} ||| {translation.text} ||| {values}"
