"""The measures of a sentence pair, each against numbers worked out by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from explained_pairs import pair, random_measures
from hypothesis import given

from nmt.alignment.word_alignment import WordAlignment
from nmt.explaining.pair_measures import PairMeasures, measure_pair, repeats


def test_measures_of_a_pair() -> None:
    found = measure_pair(pair("a b c", "x y", [[0.5, 0.25, 0.0], [1.0, 0.0, 0.0]]), log_probability=-6.0, pieces=4)
    assert found.log_probability == -1.5
    # ln 2 / 2 + 2 (ln 4 / 4) = 1.5 ln 2 for x, nothing for y.
    assert found.entropy == pytest.approx(0.75 * math.log(2))
    assert found.end_of_sentence == pytest.approx(0.125)
    assert found.unattended == (2,)  # the words receive 1.5, 0.25 and 0
    assert found.overattended == ()
    assert found.length_ratio == pytest.approx(2 / 3)
    assert found.row() == pytest.approx((-1.5, 0.75 * math.log(2), 0.125, 1 / 3, 0, 0, math.log(2 / 3)))


def test_a_word_at_a_bound_of_attention_is_within_it() -> None:
    found = measure_pair(pair("a b c d", "x y z", [[0.9, 0.1, 0, 0], [0.9, 0.1, 0, 0], [0.3, 0, 0.19, 0.51]]), -1, 4)
    assert (found.unattended, found.overattended) == ((2,), (0,))  # the words receive 2.1, 0.2, 0.19 and 0.51
    found = measure_pair(pair("a", "x y", [[1.0], [1.0]]), -1, 3)
    assert (found.unattended, found.overattended) == ((), ())


def test_a_target_word_without_pieces_does_not_count() -> None:
    weights = np.array([[1, 0], [0, 0]], np.float32)
    found = measure_pair(WordAlignment(("a", "b"), ("x", "\u200b"), weights, np.zeros(2)), -1, 2)
    assert (found.entropy, found.end_of_sentence, found.unattended) == (0, 0, (1,))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("a b c d", []),
        ("a b c a d", []),  # a single word, not directly after itself, is no repeat
        ("a b c a b d", ["a b"]),
        ("a b a b a b", ["a b a b"]),
        ("the red dog the red dog sleeps", ["the red dog"]),
        ("very very good", ["very"]),
        ("very very very good", ["very very"]),
        ("La table . la Table", ["la Table"]),
        ("a b x a b y b x", ["a b", "b x"]),
    ],
)
def test_repeated_words_are_found(text: str, expected: list[str]) -> None:
    words = text.split()
    assert [" ".join(words[begin:end]) for begin, end in repeats(words)] == expected


def test_repeats_of_the_source_are_subtracted() -> None:
    source, target = "very very old and very very tired", "tres tres vieux et tres tres las"
    assert measure_pair(pair(source, target, np.eye(7).tolist()), -1, 8).repeated == 0
    # "tres" and "tres tres" are 3 words of 7; the source repeats one word.
    assert measure_pair(pair("very very old", target, np.ones((7, 3)).tolist()), -1, 8).repeated == pytest.approx(2 / 7)


@given(random_measures())
def test_measures_stay_in_their_ranges(found: PairMeasures) -> None:
    assert -1e-9 <= found.entropy <= math.log(found.source_words + 1) + 1e-6
    assert 0 <= found.end_of_sentence <= 1
    assert 0 <= found.repeated <= 1
    assert not set(found.unattended) & set(found.overattended)
    assert all(math.isfinite(number) for number in found.row())
    assert PairMeasures.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_even_attention_has_the_largest_entropy() -> None:
    for words in (1, 2, 7):
        source = " ".join("abcdefg"[:words])
        even = measure_pair(pair(source, "x", [[1 / (words + 1)] * words]), -1, 2)
        assert even.entropy == pytest.approx(math.log(words + 1), abs=1e-6)
        sharp = measure_pair(pair(source, "x", [[1.0] + [0.0] * (words - 1)]), -1, 2)
        assert sharp.entropy == pytest.approx(0, abs=1e-6)
