"""Sides that are exchanged are found, in one script too, and nothing else is taken for them."""

from __future__ import annotations

from dataclasses import replace
from math import log

import pytest
from demo_sides import lines, profile, vocabularies

from nmt.config import VocabularyConfig
from nmt.text.swapped_sides import Leaning, Vocabularies, are_exchanged, leanings, measure_profile
from nmt.text.tokenizer import Tokenizer


def looks_exchanged(text: list[str], side: str, shared: bool = True) -> bool:
    leaning = Leaning()
    leaning.add(text, profile(shared), vocabularies(shared))
    return leaning.looks_exchanged(side, profile(shared))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("name", ["validation", "test", "combinations"])
def test_only_exchanged_sides_of_the_demo_look_exchanged(name, shared):
    english, french = lines(f"{name}.en", 200), lines(f"{name}.fr", 200)
    assert looks_exchanged(french, "source", shared)
    assert looks_exchanged(english, "target", shared)
    assert not looks_exchanged(english, "source", shared)
    assert not looks_exchanged(french, "target", shared)


def test_texts_with_exchanged_sides_are_known_by_their_pieces():
    own, vocabulary = profile(), vocabularies()
    pairs = list(zip(lines("test.en", 300), lines("test.fr", 300), strict=True))
    assert not are_exchanged(own, measure_profile(pairs, vocabulary))
    assert are_exchanged(own, measure_profile([(target, source) for source, target in pairs], vocabulary))
    assert not are_exchanged(own, measure_profile([(source, source) for source, _ in pairs], vocabulary))
    same = measure_profile([(source, source) for source, _ in pairs], vocabulary)
    assert not are_exchanged(same, same)


@pytest.mark.parametrize(
    "text",
    [
        [],
        ["", "  "],
        ["1 , 2 , 3 , 4 , 5 , 6 , 7 , 8 , 9 , 10 , 11 , 12 ."],
        ["Olivier Pierre Emma Paris Berlin Tokyo"],
        ["Zwei Männer laufen durch den dunklen Wald .", "Das Kind schläft heute sehr lange im Garten ."],
        ["Два человека идут по улице .", "Мы живём в Москве ."],
        ["彼は昨日東京へ行きました。", "私は毎日本を読みます。"],
        ["oui"],
        lines("validation.en", 50) + lines("validation.fr", 50),
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_other_text_looks_like_no_exchange(text, shared):
    assert not any(looks_exchanged(text, side, shared) for side in ("source", "target"))


def test_one_sentence_is_enough_if_it_is_clear():
    assert looks_exchanged(lines("validation.fr", 3)[1:2], "source")
    assert not looks_exchanged(lines("validation.en", 3)[1:2], "source")


CLEAR = {"nats": 21.0, "characters": 40, "to_target": 8, "to_source": 2}
"""A text that looks like a target side: 8 of 10 lines lean towards it, by more than its 0.5 nats per character."""


@pytest.mark.parametrize(
    ("changes", "looks"),
    [
        ({}, True),
        ({"to_source": 3}, False),
        ({"nats": 20.0}, False),
        ({"characters": 24}, True),
        ({"characters": 23}, False),
        ({"characters": 80}, False),
        ({"nats": -21.0}, False),
    ],
)
def test_a_text_looks_exchanged_if_it_is_long_and_its_lines_agree(changes, looks):
    apart = replace(profile(), source_leaning=-0.5, target_leaning=0.5)
    text = Leaning(**(CLEAR | changes))
    assert text.looks_exchanged("source", apart) is looks
    mirrored = Leaning(-text.nats, text.characters, text.to_source, text.to_target)
    assert mirrored.looks_exchanged("target", apart) is looks
    assert not text.looks_exchanged("target", apart) and not mirrored.looks_exchanged("source", apart)
    alike = replace(profile(), source_leaning=-0.1, target_leaning=0.1)
    assert not text.looks_exchanged("source", alike)


def test_sides_that_are_alike_are_never_exchanged():
    """A text and its own sentences in another order, such as a corpus of paraphrases."""
    text = lines("train.en", 300)
    vocabulary = Vocabularies(vocabularies().source, vocabularies().source)
    alike = measure_profile(list(zip(text, text[::-1], strict=True)), vocabulary)
    leaning = Leaning()
    leaning.add(lines("validation.en", 100), alike, vocabulary)
    assert not any(leaning.looks_exchanged(side, alike) for side in ("source", "target"))


def test_a_leaning_is_the_difference_of_log_probabilities():
    """Pieces `a` 3 times and `b` once against `b` 4 times; half an occurrence is added to each of the 8 pieces."""
    vocabulary = Tokenizer.train(["a b c d"] * 9, VocabularyConfig(type="word", size=8))
    both = Vocabularies(vocabulary, vocabulary)
    counted = measure_profile([("a a a b", "b b b b")], both)
    assert leanings(["a", "b", "a b"], counted, both) == pytest.approx(
        [log(0.5 / 3.5), log(4.5 / 1.5), log(0.5 / 3.5) + log(4.5 / 1.5)]
    )


def test_an_unknown_piece_counts_for_each_of_its_characters():
    """Otherwise a sentence of one unknown piece would be probable under the vocabulary that cannot read it."""
    one = Tokenizer.train(["ab ba"] * 9, VocabularyConfig(type="char", size=8))
    other = Tokenizer.train(["ый йы"] * 9, VocabularyConfig(type="char", size=8))
    both = Vocabularies(one, other)
    counted = measure_profile([("ab ba", "ый йы")] * 20, both)
    assert leanings(["ыйыйыйый"], counted, both)[0] > 20
    assert leanings(["abababab"], counted, both)[0] < -20
