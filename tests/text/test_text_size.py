"""How much text there is."""

from __future__ import annotations

import pytest

from nmt.text import text_size
from nmt.text.pairs import Pair
from nmt.text.text_size import measure_text


def test_words_or_characters_of_the_longer_side_count() -> None:
    """Ten words are 13 pieces, 16 characters without spaces are 4 pieces; each pair has one end."""
    pairs = [Pair("a b", "a b c d e f g h i j"), Pair("語" * 16, "a")]
    assert measure_text(pairs) == (2, 2, 13 + 1 + 4 + 1)
    assert measure_text([Pair(pair.target, pair.source) for pair in pairs]) == (2, 2, 19)


def test_no_pairs_have_no_pieces() -> None:
    assert measure_text([]) == (0, 0, 0)


def test_different_sources_are_counted_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [Pair(f"w{number % 4}", "v") for number in range(8)]
    assert measure_text(pairs).sources == 4
    monkeypatch.setattr(text_size, "COUNTED_SOURCES", 3)
    assert measure_text(pairs)[:2] == (8, 3)
