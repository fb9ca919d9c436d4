"""The profile of a text."""

from __future__ import annotations

import json
import math

import pytest
from demo_sides import profile

from nmt.config import VocabularyConfig
from nmt.text.profile import Punctuation, SideProfile, TextProfile, count_marks
from nmt.text.spread_sample import SpreadSample
from nmt.text.tokenizer import Tokenizer


def test_the_counts_of_a_text():
    lines = ["Das ist gut .", "Ja . Ja , ja . Ja .", "日本 ☃"]
    vocabulary = Tokenizer.train([line.replace("☃", "") for line in lines], VocabularyConfig(type="word", size=20))
    found = SideProfile.measure(lines, vocabulary)
    assert (found.lines, found.words) == (3, 14)
    assert (found.upper, found.lower) == (4, 13)
    assert found.letters == {"LATIN": 17, "CJK": 2}
    assert found.scripts == {"LATIN", "CJK"}
    assert found.marks == {".": Punctuation(4, 0), ",": Punctuation(1, 0)}
    assert found.separate_share == 1
    assert found.unreadable == 1
    assert sum(found.pieces) == 14
    assert found.sentences == pytest.approx(5 / 3)
    assert found.most_sentences == 3


@pytest.mark.parametrize(("line", "share"), [("a b", 0), ("a, b. a , b", 1 / 3), ("a. b.", 0), ("a !", 0)])
def test_the_share_of_separate_commas_and_full_stops(line, share):
    vocabulary = Tokenizer.train(["a b"], VocabularyConfig(type="word", size=10))
    assert SideProfile.measure([line], vocabulary).separate_share == share


def test_a_few_foreign_letters_are_no_script_of_the_text():
    vocabulary = Tokenizer.train(["a b"], VocabularyConfig(type="word", size=10))
    assert SideProfile.measure(["a" * 2000, "я"], vocabulary).scripts == {"LATIN"}


def test_marks_count_at_the_ends_of_words():
    assert count_marks("3.5 a.b x, y ,\nz . ... U.S. !") == {
        ",": Punctuation(1, 1), ".": Punctuation(1, 2), "!": Punctuation(1, 0)
    }  # fmt: skip
    assert count_marks("garden\u00a0.\n") == {".": Punctuation(1, 0)}


def test_json_there_and_back():
    assert TextProfile.from_json(json.loads(json.dumps(profile().to_json()))) == profile()


def damaged(**values: object) -> dict:
    whole: dict = json.loads(json.dumps(profile().to_json()))
    return whole | {"source": whole["source"] | values}


@pytest.mark.parametrize(
    "values",
    [
        {"lines": "3"},
        {"words": -1},
        {"upper": None},
        {"lower": True},
        {"sentences": math.nan},
        {"sentences": math.inf},
        {"most_sentences": [1]},
        {"unreadable": 10**400},
        {"letters": ["LATIN"]},
        {"letters": {"LATIN": "many"}},
        {"marks": {".": {"separate": -1, "attached": 0}}},
        {"marks": {".": 3}},
        {"pieces": {"0": 1}},
        {"pieces": [1, [2]]},
        {"pieces": [1, "a\nb"]},
    ],
)
def test_values_that_count_nothing_are_refused(values):
    with pytest.raises((ValueError, TypeError, AttributeError)) as error:
        TextProfile.from_json(damaged(**values))
    assert "\n" not in str(error.value)


def test_a_leaning_is_finite():
    with pytest.raises(ValueError, match="expected finite numbers"):
        TextProfile.from_json(damaged() | {"target_leaning": math.nan})


def test_the_demo_is_tokenised_and_has_one_sentence_per_line():
    for side in (profile().source, profile().target):
        assert side.separate_share == 1
        assert side.scripts == {"LATIN"}
        assert (side.sentences, side.most_sentences, side.unreadable) == (1, 1, 0)
        assert 0.02 < side.upper_share < 0.1


@pytest.mark.parametrize("length", [0, 1, 9, 10, 11, 19, 20, 21, 1000, 1001])
def test_a_spread_sample_has_equal_distances(length):
    sample: SpreadSample[int] = SpreadSample(10)
    assert list(sample.over(range(length))) == list(range(length))
    kept = sample.kept
    assert min(length, 5) <= len(kept) <= 10
    assert len({b - a for a, b in zip(kept, kept[1:], strict=False)}) <= 1
    assert kept[:1] == [0][:length]
