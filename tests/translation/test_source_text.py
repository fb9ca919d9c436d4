"""The source as the model reads it: converted to the form of the training text where only one conversion is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiled import LOWER_CASED, PLAIN, TOKENISED, profiled

from nmt.translation.source_text import SourceText
from nmt.translation.translator import Translator

MODELS = {name: profiled(lines) for name, lines in (("tokenised", TOKENISED), ("plain", PLAIN), ("lower", LOWER_CASED))}
BARE = Translator(MODELS["tokenised"].run, MODELS["tokenised"].inference)


def read(translator: Translator, text: str) -> str:
    """The pieces that the model reads, joined."""
    found = translator.source_text.segment(text)
    assert found.text == text
    assert found.words == text.split()
    assert found.word_of_piece == sorted(found.word_of_piece)
    return translator.run.source.decode([found.ids])[0]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("The garden is empty.", "The garden is empty ."),
        ("Well, the garden is empty", "Well , the garden is empty"),
        ("Is the tractor empty?", "Is the tractor empty ?"),
        ("The garden is empty .", "The garden is empty ."),
        ("The tractor is empty. The garden is empty.", "The tractor is⁇ The garden is empty ."),
        ("Emma,", "Emma ,"),
        ("", ""),
    ],
)
def test_marks_are_separated_for_a_tokenised_training_text(text, seen):
    assert read(MODELS["tokenised"], text) == seen


@pytest.mark.parametrize("word", ["U.S.", "...", "a.", "3.5", "e.g.,x", "?", ",", "!?", "garden:", "garden!"])
def test_other_words_stay_whole(word):
    """Abbreviations, lone marks, and marks that the training text does not have."""
    source = MODELS["tokenised"].source_text
    assert source.segment(f"The {word}").ids == BARE.source_text.segment(f"The {word}").ids


def test_vowel_signs_and_marks_of_letters_end_a_word():
    convert = MODELS["tokenised"].source_text.convert
    assert [convert(text) for text in ("यह घर?", "वह कहाँ है?", "cafe\u0301,")] == [
        "यह घर ?",
        "वह कहाँ है ?",
        "cafe\u0301 ,",
    ]


def test_upper_case_is_lowered_for_a_lower_cased_training_text():
    assert read(MODELS["lower"], "THE Garden is Empty.") == "the garden is empty ."
    assert read(MODELS["tokenised"], "The Garden") == "The⁇"


def test_turkish_dotless_i():
    turkish = profiled(["ırmak ılık ve iri", "bir kız ve bir ışık"] * 20)
    assert read(turkish, "Irmak İri") == "ırmak iri"
    beside_turkish = profiled(["it is in the inn"] * 20, ["ırmak ılık ve iri"] * 20)
    assert read(beside_turkish, "It Is") == "it is"


def test_a_plain_text_and_an_unknown_text_are_read_as_they_are():
    for text in ("The garden is empty.", "The garden is empty .", "THE garden"):
        assert MODELS["plain"].source_text.segment(text) == MODELS["plain"].run.source.segment(text)
        assert BARE.source_text.segment(text) == BARE.run.source.segment(text)


def test_alignments_count_the_words_of_the_given_text():
    """A mark and its word are one word of the text; both attend to it."""
    (pair,) = MODELS["tokenised"].align("Well, I see Emma.", "Well , I see Emma .")
    assert pair.source == "Well, I see Emma."
    assert pair.alignment.source == ("Well,", "I", "see", "Emma.")
    assert pair.alignment.pharaoh() == "0-0 0-1 1-2 2-3 3-4 3-5"
    translation = MODELS["tokenised"].translate_one("Well, I see Emma.")
    assert (translation.text, translation.alignment) == ("Well , I see Emma .", pair.alignment)


def test_a_model_of_other_conversions_has_another_fingerprint():
    assert MODELS["tokenised"].fingerprint != BARE.fingerprint


@given(st.text(alphabet=st.sampled_from("aB .,?!\t'\u00a0İIı\u200b"), max_size=20))
def test_any_text_keeps_its_words(text):
    for model in MODELS.values():
        found = model.source_text.segment(text)
        assert (found.text, found.words) == (text, text.split())
        assert all(0 <= word < len(found.words) for word in found.word_of_piece)
        assert found.word_of_piece == sorted(found.word_of_piece)


def test_what_a_profile_decides():
    found = {
        name: (model.source_text.lowers, "".join(sorted(model.source_text.separates))) for name, model in MODELS.items()
    }
    assert found == {"tokenised": (False, ",.?"), "plain": (False, ""), "lower": (True, ",.?")}
    unknown = SourceText(MODELS["lower"].run, None)
    assert (unknown.lowers, unknown.separates, unknown.most_sentences) == (False, frozenset(), None)
