"""Normalisation of vocabularies: characters stay as written by default, and rewritten text is counted and shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.config import VocabularyConfig
from nmt.text.rewriting import Rewriting
from nmt.text.tokenizer import Tokenizer

WRITTEN = "ＡＢＣ１２ ﾊﾞﾅﾅ ㍿ ﬁn ½ … ™ café"
ACCENTS = "\u0300\u0301\u0302\u0308\u0323\u0327\u3099"
LETTERS = st.characters(categories=["Lu", "Ll", "Lo"], max_codepoint=0x30FF).filter(
    lambda letter: not unicodedata.decomposition(letter) and not "\u1100" <= letter <= "\u11ff"
)
"""Letters without an accent, but not those of which Hangul syllables are made."""


def vocabulary(normalization: str, text: str = WRITTEN) -> Tokenizer:
    return Tokenizer.train([text] * 3, VocabularyConfig(type="char", size=500, normalization=normalization))


@pytest.fixture(scope="module")
def nfc() -> Tokenizer:
    return vocabulary("nfc")


def normalized(tokenizer: Tokenizer, text: str) -> str:
    return dict(tokenizer.rewritten([text])).get(text, text)


def test_text_stays_as_written_by_default() -> None:
    default = Tokenizer.train([WRITTEN] * 3, VocabularyConfig(type="char", size=500))
    assert default == vocabulary("nfc") and default.keeps_characters
    assert default.decode(default.encode([WRITTEN])) == [WRITTEN]
    assert not vocabulary("nmt_nfkc").keeps_characters


@settings(deadline=None)
@given(letters=st.lists(st.tuples(LETTERS, st.sampled_from(["", *ACCENTS])), min_size=1, max_size=8))
def test_nfc_composes_letters_and_accents_as_unicode_does(nfc: Tokenizer, letters: list[tuple[str, str]]) -> None:
    text = unicodedata.normalize("NFD", "".join(letter + accent for letter, accent in letters))
    assert normalized(nfc, text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["e\u0302\u0323", "e\u0323\u0302", "\u212b", "\u00ea\u0323", "カ\u3099", "\u0344"])
def test_nfc_of_several_accents_and_of_equal_characters(nfc: Tokenizer, text: str) -> None:
    assert normalized(nfc, text) == unicodedata.normalize("NFC", text) != text


def test_rewritten_text_is_given_as_written_and_as_normalised() -> None:
    old = vocabulary("nmt_nfkc")
    assert old.rewritten(["a  b", "x ½", "ｶﾞ", ""]) == [("x ½", "x 1⁄2"), ("ｶﾞ", "ガ")]
    assert vocabulary("nfc").rewritten(["ｶﾞ ½", "cafe\u0301"]) == [("cafe\u0301", "café")]


def test_the_report_counts_lines_and_shows_the_first_change() -> None:
    rewriting = Rewriting("target")
    rewriting.note([])
    rewriting.note([("第２番です", "第2番です"), ("ｶﾞ", "ガ")])
    rewriting.note([("…", "...")])
    assert rewriting.summary() == "normalisation changes 3 target lines, such as '２' to '2'"
    assert rewriting.report(keeps_characters=True) == rewriting.summary()
    assert rewriting.report(keeps_characters=False) == (
        f"{rewriting.summary()}; translations never have such characters: --vocabulary.normalization nfc keeps them"
    )


@pytest.mark.parametrize(
    ("written", "normalized", "change"),
    [
        ("a½", "a1/2", "'½' to '1/2'"),
        ("½a", "1/2a", "'½' to '1/2'"),
        ("abＣ", "abC", "'Ｃ' to 'C'"),
        ("aab", "ab", "'a' to ''"),
        ("ab", "aab", "'' to 'a'"),
        ("ab", "", "'ab' to ''"),
    ],
)
def test_an_example_has_the_changed_part_alone(written: str, normalized: str, change: str) -> None:
    rewriting = Rewriting("source")
    rewriting.note([(written, normalized)])
    assert rewriting.summary().endswith(f"1 source line, such as {change}")


def test_an_example_is_short() -> None:
    rewriting = Rewriting("source")
    rewriting.note([("Ａ" * 40, "A" * 40)])
    assert rewriting.summary() == (f"normalisation changes 1 source line, such as '{'Ａ' * 12}...' to '{'A' * 12}...'")
