"""The words of sentences with and without spaces, and the pieces that they share."""

from __future__ import annotations

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmt.config import CorpusConfig, VocabularyConfig
from nmt.text.languages import Language, Words, decide_languages, words_of
from nmt.text.languages.words import words_of_language
from nmt.text.tokenizer import Tokenizer, cut_words

JAPANESE = ["私は毎朝七時に起きて、新聞を読みます。", "猫が好きです。", "明日はGoogleのPython 3.12を使う。"]
TAGS = ["ja", "zh", "zh-Hant", "zh-TW", "yue", "th", "lo", "km", "my", "bo", "und-Hani"]
LETTERS = st.sampled_from("猫が好きです。、私は新聞读書ーﾊﾞ１Ａab3. \u3000\u200bกำลังเ้ຂ້ຍខ្ញုံကျွန်တော်း།་ང་ཞོགས་̈👨\u200d👩")
TEXT = st.one_of(st.text(max_size=20), st.lists(LETTERS, max_size=30).map("".join))


@pytest.mark.parametrize(
    ("tag", "text", "words"),
    [
        ("ja", JAPANESE[0], "私|は|毎朝|七|時|に|起き|て|、|新聞|を|読み|ます|。"),
        ("ja", JAPANESE[2], "明日|は|Google|の|Python|3.12|を|使う|。"),
        ("ja", "ﾊﾞﾅﾅとコーヒー１２３円", "ﾊﾞﾅﾅ|と|コーヒー|１２３|円"),
        (
            "zh",
            "他昨天在北京买了两本Python书，花了3.50元。",
            "他|昨天|在|北京|买|了|两|本|Python|书|，|花|了|3.50|元|。",
        ),
        ("zh-TW", "我每天早上七點起床。", "我|每|天|早|上|七點|起床|。"),
        ("th", "ฉันตื่นนอนตอนเจ็ดโมงเช้า น้ำ 5 ขวด", "ฉัน|ตื่น|นอน|ตอน|เจ็ดโมง|เช้า|น้ำ|5|ขวด"),
        ("km", "ខ្ញុំក្រោក។", "ខ្ញុំ|ក្រោ|ក|។"),
        ("my", "ကျွန်တော် တိုင်း။", "ကျွ|န်|တော်|တို|င်း|။"),
        ("lo", "ຂ້ອຍຕື່ນ", "ຂ້|ອ|ຍ|ຕື່|ນ"),
        ("bo", "ང་ཞོགས་པ་ལངས། བཀྲ་ཤིས།", "ང་|ཞོགས་|པ་|ལངས|།|བཀྲ་|ཤིས|།"),
    ],
)
def test_words_of_languages_without_spaces(tag: str, text: str, words: str) -> None:
    assert "|".join(words_of_language(Language.of(tag))(text)) == words


@settings(max_examples=200, deadline=None)
@given(tag=st.sampled_from(TAGS), text=TEXT)
def test_every_character_belongs_to_one_word(tag: str, text: str) -> None:
    words = words_of_language(Language.of(tag))(text)
    assert "".join(words) == "".join(text.split())
    assert all(words) and len(words) >= len(text.split())


@settings(deadline=None)
@given(tag=st.sampled_from(TAGS), text=TEXT)
@example(tag="ja", text="0\u102b\u200c")
def test_no_word_begins_within_a_character(tag: str, text: str) -> None:
    for token in text.split():
        ends, end = {0}, 0
        for cluster in regex.findall(r"\X", token):
            end += len(cluster)
            ends.add(end)
        end = 0
        for word in words_of_language(Language.of(tag))(token):
            assert end in ends
            end += len(word)


def rules(source: str, target: str, **settings: str) -> list[str]:
    """The rules that text decides for its words."""
    corpus = decide_languages(CorpusConfig(**settings), [source], [target])
    return [rule.name for rule in words_of(corpus)]


def test_text_that_is_cut_already_keeps_its_words() -> None:
    assert rules("猫 が 好き です 。", JAPANESE[0]) == ["", "by budoux's model ja_word"]
    assert rules("ฉันตื่นนอนตอนเจ็ดโมงเช้า น้ำดื่ม", "I like it .") == ["by budoux's model th", ""]


def test_settings_decide_over_the_text() -> None:
    assert rules("猫が好き", "猫が好き", source_words="spaces", target_language="en") == ["", ""]
    assert rules("猫 が 好き です 。", "x", source_words="cut") == ["by budoux's model ja_word", ""]


def test_a_configuration_without_languages_has_spaces_between_words() -> None:
    assert [rule.name for rule in words_of(CorpusConfig())] == ["", ""]
    assert [rule.name for rule in words_of(CorpusConfig(target_language="th"))] == ["", "by budoux's model th"]


@pytest.fixture(scope="module")
def tokenizers() -> list[Tokenizer]:
    """Vocabularies whose pieces cross the ends of words, with Japanese words."""
    words = words_of_language(Language("ja"))
    lines = [*JAPANESE * 4, "ﾊﾞﾅﾅ㍿です", "the cat is here"]
    kinds = ("char", "word", "bpe")
    sizes = dict.fromkeys(kinds, 500) | {"bpe": 90}
    made = [Tokenizer.train(lines, VocabularyConfig(type=kind, size=sizes[kind])) for kind in kinds]
    return [one.with_words(words) for one in made]


def coverage(text: str, words: list[str], segmented) -> list[float]:
    """The pieces of each word, shares counted."""
    divided, total = dict(segmented.divided), [0.0] * len(words)
    for piece, word in enumerate(segmented.word_of_piece):
        for n, share in enumerate(divided.get(piece, (1.0,))):
            total[word + n] += share
    return total


def test_a_piece_that_covers_several_words_is_divided_by_characters(tokenizers: list[Tokenizer]) -> None:
    word_model = tokenizers[1]
    got = word_model.segment("猫が好きです。")
    assert got.words == ["猫", "が", "好き", "です", "。"]
    assert (len(got.ids), got.word_of_piece) == (1, [0])
    assert got.divided == ((0, (1 / 7, 1 / 7, 2 / 7, 2 / 7, 1 / 7)),)
    assert word_model.join(got.ids) == got


def test_pieces_of_one_word_are_not_divided(tokenizers: list[Tokenizer]) -> None:
    got = tokenizers[0].segment("猫が好き")
    assert got.divided == () and got.word_of_piece == [0, 0, 1, 2, 2]  # the first piece is SentencePiece's space


@settings(max_examples=200, deadline=None)
@given(text=TEXT, limit=st.integers(1, 8))
def test_shares_of_a_piece_sum_to_one_and_name_words_that_exist(tokenizers, text: str, limit: int) -> None:
    for tokenizer in tokenizers:
        whole = tokenizer.segment(text)
        for got in (whole, tokenizer.join(whole.ids), cut_words(whole, limit)):
            assert got.word_of_piece == sorted(got.word_of_piece)
            for piece, shares in got.divided:
                assert sum(shares) == pytest.approx(1) and min(shares) > 0
                assert got.word_of_piece[piece] + len(shares) <= len(got.words)
            assert sum(coverage(text, got.words, got)) == pytest.approx(len(got.ids) if got.words else 0)
        assert len(cut_words(whole, limit).words) <= limit


def test_every_word_of_ordinary_text_has_a_part_of_a_piece(tokenizers: list[Tokenizer]) -> None:
    for tokenizer in tokenizers:
        for line in JAPANESE:
            got = tokenizer.segment(line)
            assert min(coverage(line, got.words, got)) > 0


def test_equal_models_with_other_words_are_equal(tokenizers: list[Tokenizer]) -> None:
    def letters(text: str) -> list[str]:
        return list(text)

    other: Words = type("Letters", (), {"name": "letters", "__call__": staticmethod(letters)})()
    assert tokenizers[0].with_words(other) == tokenizers[0]
    assert tokenizers[0].with_words(other).segment("猫が").words == ["猫", "が"]
