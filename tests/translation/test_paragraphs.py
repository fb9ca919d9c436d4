"""Paragraphs are translated sentence by sentence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hand_written import Copier
from hypothesis import given
from hypothesis import strategies as st
from profiled import PLAIN, TOKENISED, profiled

from nmt.text.profile import TextProfile
from nmt.text.sentences import split_sentences
from nmt.translation.request import RequestError, TranslationRequest
from nmt.translation.source_text import MOST_WORDS
from nmt.translation.translator import Translator

TWO = "The garden is empty.  Is the garden empty?"
COPYING = profiled(PLAIN)


@pytest.fixture
def translator() -> Translator:
    return profiled(PLAIN, beam_size=3)


def searched(translator: Translator, text: str, split: str = "auto", **fields) -> tuple[str, int]:
    """The translation of a text, and how many sentences were searched for."""
    assert isinstance(translator.inference, Copier)
    translator.inference.calls.clear()
    search = replace(translator.config.search, split_sentences=split)
    ((translation, *_),) = translator.answer([TranslationRequest(text, search, **fields)])
    return translation.text, sum(call[0] for call in translator.inference.calls)


def test_a_paragraph_is_searched_for_sentence_by_sentence(translator):
    assert searched(translator, TWO) == (" ".join(TWO.split()), 2)


@pytest.mark.parametrize(
    ("split", "lines", "text", "sentences"),
    [
        ("auto", PLAIN, "The garden is empty.", 1),
        ("never", PLAIN, TWO, 1),
        ("always", PLAIN, TWO, 2),
        ("auto", [f"{line} {line}" for line in PLAIN], TWO, 1),
        ("auto", [f"{line} {line}" for line in PLAIN], f"{TWO} {TWO}", 1),
        ("always", [f"{line} {line}" for line in PLAIN], TWO, 2),
        ("auto", [*PLAIN, *(f"{line} {line}" for line in PLAIN[:5])], TWO, 1),
        ("auto", [*PLAIN, *(f"{line} {line}" for line in PLAIN[:5])], f"{TWO} Well, I see.", 3),
        ("auto", TOKENISED, "The garden is empty . Is the garden empty ?", 2),
    ],
)
def test_auto_splits_lines_with_more_sentences_than_the_training_text(split, lines, text, sentences):
    """Of a training text of paragraphs it splits nothing."""
    assert searched(profiled(lines), text, split)[1] == sentences


def test_without_a_profile_auto_splits_nothing(translator):
    bare = Translator(translator.run, translator.inference)
    assert searched(bare, TWO)[1] == 1
    assert searched(bare, TWO, "always")[1] == 2


@pytest.mark.parametrize(
    "fields", [{"nbest": 2}, {"prefix": "Well,"}, {"phrases": ("see",)}, {"nbest": 2, "phrases": ("see",)}]
)
def test_lists_prefixes_and_phrases_are_for_whole_lines(translator, fields):
    assert searched(translator, TWO, **fields)[1] == 1
    with pytest.raises(RequestError, match="split_sentences .* always joins one translation of each sentence"):
        searched(translator, TWO, "always", **fields)


def test_minimum_bayes_risk_chooses_for_each_sentence(translator):
    text, sentences = searched(translator, TWO, minimum_bayes_risk="chrf")
    assert sentences == 2
    assert text.startswith("The garden is empty.")


def test_samples_of_two_sentences_have_two_numbers(translator):
    translator.inference.ids.clear()
    searched(translator, f"{TWO} {TWO}", sentence_id=7)
    ids = translator.inference.ids
    assert ids[0] == 7
    assert len({number % 2**32 for number in ids}) == 4


def test_the_largest_sentence_id_is_split_too(translator):
    assert searched(translator, TWO, sentence_id=2**63 - 1)[1] == 2


def test_the_alignment_counts_the_words_of_the_paragraph(translator):
    whole = translator.translate_one(TWO)
    assert whole.source == TWO
    assert whole.alignment.source == whole.alignment.target == tuple(TWO.split())
    assert whole.alignment.pharaoh() == " ".join(f"{i}-{i}" for i in range(8))
    np.testing.assert_allclose(whole.alignment.weights.sum(axis=1) + whole.alignment.end_of_sentence, 1)
    parts = [translator.translate_one(text) for text in ("The garden is empty.", "Is the garden empty?")]
    assert whole.log_probability == sum(part.log_probability for part in parts)
    assert whole.pieces == parts[0].pieces + parts[1].pieces
    assert len(whole.piece_log_probabilities) == len(whole.pieces)


def test_a_cut_sentence_does_not_shift_the_words_behind_it(translator):
    """The model reads two words of each sentence."""
    search = replace(translator.config.search, max_source=2)
    (whole,) = translator.translate([TWO], search)
    assert whole.truncated
    assert whole.alignment.source == tuple(TWO.split())
    assert whole.text == "The garden Is the"
    assert whole.alignment.pharaoh() == "0-0 1-1 4-2 5-3"


@given(
    st.lists(
        st.sampled_from([*"aB1.!?-\t\u2028\u3000", " ", "ASP.NET", "Fa.Müller", "The garden is empty. "]), max_size=30
    )
)
def test_joined_words_are_the_words_of_the_line(parts):
    line = "".join(parts)
    search = replace(COPYING.config.search, split_sentences="always")
    (whole,) = COPYING.translate([line], search)
    assert whole.alignment.source == tuple(line.split())
    assert whole.alignment.target == tuple(whole.text.split())


def test_a_very_long_line_stays_whole(translator):
    sentence = "The garden is empty. "
    assert searched(translator, sentence * (MOST_WORDS // 4))[1] == MOST_WORDS // 4
    for split in ("auto", "always"):
        assert searched(translator, sentence * (MOST_WORDS // 4) + "Well.", split)[1] == 1


def test_lines_in_are_lines_out_with_reports_of_lines(translator):
    lines = [TWO, "", "The garden is empty.", f"  {TWO} {TWO} "]
    reported: list[int] = []
    found = list(translator.translate(lines, report=reported.append))
    assert [one.source for one in found] == lines
    assert [len(one.text.split()) for one in found] == [8, 0, 4, 16]
    assert sum(reported) <= len(lines)


@pytest.mark.parametrize(
    ("languages", "text", "expected"),
    [
        (("ja", "en"), "今日 は 晴れ です。明日 は 雨 でしょう。", "今日 は 晴れ です。 明日 は 雨 でしょう。"),
        (("en", "ja"), "It is late. It rains.", "It is late.It rains."),
        (("ja", "en"), "今日 は 晴れ です。\u3000明日 は 雨 でしょう。", "今日 は 晴れ です。 明日 は 雨 でしょう。"),
        (("en", "ja"), "It is late.  It rains.", "It is late.It rains."),
        (("en", "ja"), "It is late.\nIt rains.", "It is late.\nIt rains."),
        (("en", "fr"), "It is late.\tIt rains. ", "It is late. It rains."),
        (("en", "fr"), "It is late.\r\n \nIt rains.", "It is late.\n\nIt rains."),
        *((("en", "fr"), f"It is late. {mark} It rains.", "It is late. It rains.") for mark in "\r\v\f\x85\u2028"),
    ],
)
def test_the_space_between_sentences(languages, text, expected):
    known = profiled(split_sentences(text, languages[0], languages[0] == "ja") * 100, languages=languages)
    assert searched(known, text) == (expected, 2)


def test_a_profile_of_paragraphs_is_one(translator):
    assert isinstance(translator.profile, TextProfile)
    assert translator.source_text.most_sentences == 1
    assert profiled([f"{line} {line}" for line in PLAIN]).source_text.most_sentences is None
