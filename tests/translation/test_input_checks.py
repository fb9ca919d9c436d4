"""Warnings about text that does not look like the training text; silence about text that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from demo_sides import lines, profile, vocabularies
from hand_written import Copier
from profiled import LOWER_CASED, PLAIN, TOKENISED, profiled

from nmt.config import RunConfig
from nmt.run.directory import Run
from nmt.translation import input_checks
from nmt.translation.input_checks import FIRST_LINES, InputCheck
from nmt.translation.translator import Translator

RUSSIAN = ["Старый сад пуст .", "Оливье не видит трактор .", "Где находится библиотека ?"]


@pytest.fixture(scope="module")
def demo() -> Translator:
    run = Run(Path("nowhere"), RunConfig(), vocabularies().source, vocabularies().target)
    return Translator(run, Copier(), profile())


def said(translator: Translator, text: Sequence[str], side: str = "source") -> list[str]:
    """The warnings about a text."""
    found: list[str] = []
    assert list(InputCheck(translator, "FILE", found.append, side).over(text)) == list(text)
    assert all("\n" not in warning for warning in found)
    return found


def test_swapped_sides_are_named(demo):
    french, english = lines("test.fr", 40), lines("test.en", 40)
    (warning,) = said(demo, french)
    assert warning.startswith("warning: FILE: this looks like the target language of the run, such as 'En hiver")
    assert "in line 1: are the two sides swapped?" in warning
    (warning,) = said(demo, english, "target")
    assert "this looks like the source language of the run" in warning


@pytest.mark.parametrize("name", ["validation", "test", "combinations"])
def test_text_like_the_training_text_gives_no_warning(name, demo):
    assert said(demo, lines(f"{name}.en", 500)) == []
    assert said(demo, lines(f"{name}.fr", 500), "target") == []


def test_another_script_is_named_once_with_counts_and_an_example(demo):
    letters = sum(character.isalpha() for line in RUSSIAN for character in line)
    assert said(demo, ["", *RUSSIAN]) == [
        f"warning: FILE: {letters} of {letters} letters are Cyrillic or of another script that the source side of the "
        "training text does not have, such as 'Старый сад пуст .' in line 2: the model cannot read them, so do not "
        "rely on their translations"
    ]


@pytest.mark.parametrize("text", [["今日は晴れです。"], ["שלום עולם"], ["Привет"], ["สวัสดีครับ คุณสบายดีไหม"]])
def test_one_sentence_of_another_script_is_enough(text, demo):
    assert len(said(demo, text)) == 1


def test_a_table_in_place_of_sentences_is_named(demo):
    (warning,) = said(demo, [f"{line}\tLe jardin ." for line in lines("test.en", 5)])
    assert warning.startswith("warning: FILE: 5 of 5 lines have columns with tabs between them, such as '")
    assert warning.endswith("a line is one sentence; take the column of the sentences alone, such as with cut -f 1")
    assert said(demo, ["The garden\tis empty .", *lines("test.en", 5)]) == []


def test_characters_that_the_vocabulary_does_not_have(demo):
    (warning,) = said(demo, ["The old garden ☃ ☃ is empty .", *lines("test.en", 2)])
    assert "1 of 3 lines have characters or words that the vocabulary does not have, such as '☃' in line 1" in warning
    assert said(demo, ["The old garden ☃ is empty .", *lines("test.en", 40)]) == []


def test_a_few_foreign_words_give_no_warning(demo):
    assert said(demo, [*lines("test.en", 100), "Ivan ( Иван ) reads ."]) == []


def test_a_vocabulary_of_words_has_unknown_words_in_its_training_text():
    """Its own share of them is usual."""
    text = [f"the garden has a w{number} and the tractor is empty" for number in range(300)]
    known = profiled(text)
    assert known.profile.source.unreadable_share > 0.03
    assert said(known, text[100:160]) == []
    assert said(known, ["one two three four five six", "seven eight nine ten"])
    settings = replace(known.run.config, vocabulary=replace(known.run.config.vocabulary, run="another"))
    new = [f"the garden has a zebra{number} and the tractor is empty" for number in range(60)]
    assert said(known, new) == []
    (warning,) = said(Translator(replace(known.run, config=settings), Copier(), known.profile), new)
    assert "60 of 60 lines have characters or words that the vocabulary does not have" in warning


@pytest.mark.parametrize(
    ("training", "text", "warning"),
    [
        (LOWER_CASED, PLAIN, "the training text is in lower case, this is not, such as 'The garden is empty.'"),
        (LOWER_CASED, LOWER_CASED, ""),
        (
            TOKENISED,
            LOWER_CASED * 2,
            "this is in lower case, the training text is not, such as 'the garden is empty .'",
        ),
        (TOKENISED, LOWER_CASED[:3], ""),
        (TOKENISED, [line.upper() for line in TOKENISED], "this is in capital letters, the training text is not"),
        (TOKENISED, PLAIN, "the training text is tokenised ('garden .'), this is not, such as 'The garden is empty.'"),
        (PLAIN, TOKENISED, "this is tokenised ('garden .'), the training text is not, such as 'The garden is empty .'"),
        (PLAIN, PLAIN[:9], ""),
        (TOKENISED, ["The garden is empty."], ""),
    ],
)
def test_other_case_and_other_punctuation(training, text, warning, monkeypatch):
    """What unknown words would say first is left out here: the vocabulary has whole words only."""
    monkeypatch.setattr(input_checks.InputCheck, "_unreadable", lambda *_: iter(()))
    found = said(profiled(training), text)
    assert len(found) == bool(warning)
    assert all(warning in one for one in found)


def test_conversions_are_reported(monkeypatch):
    monkeypatch.setattr(input_checks.InputCheck, "_unreadable", lambda *_: iter(()))
    assert said(profiled(LOWER_CASED), PLAIN)[0].endswith("in line 1: nmt reads it in lower case")
    assert said(profiled(LOWER_CASED), PLAIN, "target")[0].endswith("write it in lower case too")
    assert (
        "nmt puts a space before , . ? at the ends of words; tokenise the rest" in said(profiled(TOKENISED), PLAIN)[0]
    )
    assert "in line 1: tokenise it as" in said(profiled(TOKENISED), PLAIN, "target")[0]


def test_no_conversion_is_claimed_that_does_not_happen(monkeypatch):
    """Text without spaces between words is read as it is."""
    monkeypatch.setattr(input_checks.InputCheck, "_unreadable", lambda *_: iter(()))
    lower, tokenised = profiled(LOWER_CASED, languages=("ja", "en")), profiled(TOKENISED, languages=("ja", "en"))
    assert lower.source_text.convert("I see.") == tokenised.source_text.convert("I see.") == "I see."
    assert said(lower, PLAIN)[0].endswith("in line 1: write it in lower case too")
    assert "in line 1: tokenise it as" in said(tokenised, PLAIN)[0]


def test_a_few_capitals_are_lower_case_too(monkeypatch):
    """One letter of 2,000, as the training text may have."""
    monkeypatch.setattr(input_checks.InputCheck, "_unreadable", lambda *_: iter(()))
    known = profiled(LOWER_CASED)
    line = "the garden is empty . " * 200
    assert said(known, [line, "The garden is empty ."]) == []
    assert len(said(known, [line, "The Garden Is empty ."])) == 1


def test_converted_text_has_no_unknown_words():
    """Every letter is known in lower case, and every mark behind a space."""
    shouted = [line.replace(" .", ".").replace(" ,", ",").upper() for line in TOKENISED[::2]]
    (warning,) = said(profiled(LOWER_CASED), shouted)
    assert "the training text is in lower case" in warning


def test_the_warning_comes_before_the_first_translation(demo):
    """Also from a stream without an end: after 500 lines, once."""

    def stream():
        while True:
            yield from RUSSIAN

    found: list[str] = []
    checked = InputCheck(demo, "-", found.append).over(stream())
    counts = [(next(checked), len(found))[1] for _ in range(3 * FIRST_LINES)]
    assert counts == [0] * (FIRST_LINES - 1) + [1] * (2 * FIRST_LINES + 1)
    assert found[0].startswith("warning: standard input: ")


def test_a_text_that_changes_late_is_judged_at_its_end(demo):
    text = [*lines("train.en", FIRST_LINES + 20), *RUSSIAN * 800]
    (warning,) = said(demo, text)
    assert f"'{RUSSIAN[0]}' in line {FIRST_LINES + 21}" in warning


def test_a_text_of_whole_chunks_is_judged_at_its_end(demo):
    text = [*lines("train.en", FIRST_LINES), *(RUSSIAN * FIRST_LINES)[:FIRST_LINES]]
    assert len(text) == 2 * FIRST_LINES and len(said(demo, text)) == 1


def test_without_a_profile_nothing_is_said(demo):
    bare = Translator(demo.run, demo.inference)
    assert said(bare, RUSSIAN) == said(bare, lines("test.fr", 40)) == []


def test_lines_are_counted_behind_those_read_before(demo):
    found: list[str] = []
    list(InputCheck(demo, "FILE", found.append, before=1000).over(RUSSIAN))
    assert "in line 1001" in found[0]
