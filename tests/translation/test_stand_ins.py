"""Words that stand in for placeholders: chosen by how often both sides of a text have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt.config import RunConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.text.profile import SideProfile, TextProfile
from nmt.text.tokenizer import Tokenizer
from nmt.translation.markup.stand_ins import can_read, stand_ins

COUNTS = {
    "taxi": (50, 50),  # in lower case: behind all names
    "Paul": (30, 30),
    "Anna": (30, 24),  # four fifths of the other side
    "Olga": (30, 23),
    "Otto": (23, 30),
    "Ida": (20, 20),
    "Eva": (19, 19),
    "Jo": (60, 60),  # two letters
    "R2D": (60, 60),
    "Marie": (40, 40),
    "only": (60, 0),
}
"""How often a word is in the source and in the target."""


@pytest.fixture(scope="module")
def run() -> Run:
    """A run whose vocabularies have each word as one piece."""
    config = RunConfig(vocabulary=VocabularyConfig(type="word", size=100))
    sides = [Tokenizer.train(lines(side), config.vocabulary) for side in (0, 1)]
    return Run(Path("nowhere"), config, *sides)


def lines(side: int) -> list[str]:
    return [word for word, counts in COUNTS.items() for _ in range(counts[side])]


def profile(run: Run, times: int = 1) -> TextProfile:
    """The profile of the text, which is there this many times."""
    sides = [SideProfile.measure(lines(side) * times, words) for side, words in enumerate((run.source, run.target))]
    return TextProfile(*sides, source_leaning=-1.0, target_leaning=1.0)


def test_names_that_both_sides_have_equally_often_come_first(run: Run) -> None:
    assert stand_ins(run, profile(run)) == ["Marie", "Paul", "Anna", "Ida", "taxi"]


def test_a_word_must_be_frequent(run: Run) -> None:
    assert stand_ins(run, profile(run, times=2)) == ["Marie", "Paul", "Anna", "Ida", "Eva", "taxi"]


def test_without_a_profile_there_are_none(run: Run) -> None:
    assert stand_ins(run, None) == []


def test_a_text_is_readable_if_no_piece_is_unknown(run: Run) -> None:
    assert can_read(run, "Paul only")
    assert not can_read(run, "Paul never")
