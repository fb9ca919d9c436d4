"""The words that an aligner knows, and the pairs of words that occur together."""

from __future__ import annotations

import numpy as np
import pytest

from nmt.aligning import cooccurrence, vocabulary
from nmt.aligning.cooccurrence import Cooccurrence, _Counted
from nmt.aligning.vocabulary import FIRST, WordCounter, WordVocabulary
from nmt.errors import NmtError
from nmt.text.languages import SPACED
from nmt.text.pieces import UNK


def test_case_is_ignored_and_unknown_words_share_an_id():
    counter = WordCounter()
    counter.add(["The", "dog", "the"])
    made = WordVocabulary(counter.most_frequent(1))
    assert made.segment("THE cat").ids == [FIRST, UNK]
    assert made.segment("THE cat").words == ["THE", "cat"]


def test_punctuation_around_a_word_is_ignored():
    made = WordVocabulary(["dog", "l'", "."])
    assert made.segment("« Dog, l' .").ids == [UNK, FIRST, FIRST + 1, FIRST + 2]


def test_a_vocabulary_survives_its_file():
    made = WordVocabulary(["the", "l'"])
    assert WordVocabulary.from_bytes(made.to_bytes(), SPACED, "source.words").words == made.words


@pytest.mark.parametrize("content", [b"the\nthe\n", b"\xff\n"])
def test_a_damaged_vocabulary_is_refused(content):
    with pytest.raises(NmtError, match=r"source\.words: damaged"):
        WordVocabulary.from_bytes(content, SPACED, "source.words")


def test_counting_forgets_rare_words(monkeypatch):
    monkeypatch.setattr(vocabulary, "MOST_COUNTED", 10)
    counter = WordCounter()
    for number in range(100):
        counter.add(["often", f"word{number}"])
    assert counter.most_frequent(1) == ["often"] and len(counter.most_frequent(1000)) <= 10


LATE = [*range(1, 201), *(number for rare in range(201, 401, 2) for number in (0, rare, rare + 1)), *range(401, 420)]
"""0 occurs 100 times, after many others; all other numbers occur once."""


def test_no_word_that_occurs_often_is_forgotten(monkeypatch):
    """Lossy counting loses no word that occurs more often than the largest forgotten count, wherever it begins."""
    monkeypatch.setattr(vocabulary, "MOST_COUNTED", 8)
    counter = WordCounter()
    for number in LATE:
        counter.add([f"word{number}"])
    assert counter._forgotten < 100 and "word0" in counter.most_frequent(1)


def test_no_pair_of_words_that_occurs_often_is_forgotten(monkeypatch):
    monkeypatch.setattr(cooccurrence, "MOST_CELLS", 8)
    monkeypatch.setattr(_Counted, "CHUNK", 9)
    counted = _Counted()
    for number in LATE:
        counted.add(np.array([number]))
    kept = counted.keys().tolist()
    assert 0 in kept and len(kept) <= 8 and counted._forgotten < 100


def test_each_pair_of_words_has_a_number():
    made = Cooccurrence.of([(np.array([2, 3]), np.array([2])), (np.array([3]), np.array([4]))], 5, 5)
    assert len(made) == 3
    found = made.places(np.array([[2, 3, 4]]), np.array([[2, 4]]))
    assert found.tolist() == [[[0, 1, 3], [3, 2, 3]]]
    assert made.words(0).tolist() == [2, 3, 3] and made.words(1).tolist() == [2, 2, 4]


def test_rare_pairs_of_words_are_forgotten(monkeypatch):
    monkeypatch.setattr(cooccurrence, "MOST_CELLS", 4)
    pairs = [(np.array([2]), np.array([number % 20, 30])) for number in range(40)]
    made = Cooccurrence.of(pairs, 3, 31)
    assert len(made) <= 4 and made.places(np.array([[2]]), np.array([[30]])).item() < len(made)
