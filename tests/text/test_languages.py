"""Language tags, the scripts of text, and what follows from them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import ConfigError, CorpusConfig
from nmt.text.languages import (
    Language,
    Languages,
    english_name,
    guess_language,
    languages_of,
    main_script,
    script_counts,
)
from nmt.text.languages.names import _names

TEXTS = {
    "ja": "私は毎朝七時に起きて、新聞を読みます。Pythonも使います。",
    "zh": "我每天早上七点起床，然后看报纸。",
    "zh-Hant": "我每天早上七點起床，然後看報紙。這個國家很大。",
    "ko": "나는 매일 아침 일곱 시에 일어난다.",
    "th": "ฉันตื่นนอนตอนเจ็ดโมงเช้าทุกวัน",
    "km": "ខ្ញុំក្រោកពីគេងរាល់ព្រឹក",
    "lo": "ຂ້ອຍຕື່ນນອນທຸກເຊົ້າ",
    "my": "ကျွန်တော် မနက်တိုင်း စောစောထတယ်။",
    "bo": "ང་ཞོགས་པ་ཆུ་ཚོད་བདུན་པར་ལངས།",
    "el": "Ξυπνάω κάθε πρωί στις επτά.",
    "he": "אני קם כל בוקר בשבע.",
    "ka": "ყოველ დილით შვიდ საათზე ვდგები.",
    "hy": "Ես ամեն առավոտ արթնանում եմ յոթին։",
    "ta": "நான் தினமும் காலை ஏழு மணிக்கு எழுகிறேன்.",
    "und-Latn": "I get up at seven every morning.",
    "und-Cyrl": "Я встаю каждое утро в семь.",
    "und-Arab": "أستيقظ كل صباح في السابعة.",
    "und-Deva": "मैं हर सुबह सात बजे उठता हूँ।",
    "und": "1 + 2 = 3 …",
}


@pytest.mark.parametrize(("tag", "text"), TEXTS.items())
def test_the_script_of_text_decides_its_language_or_leaves_it_open(tag, text):
    assert guess_language([text]) == Language(tag)
    assert guess_language([*text, "42 %"]) == Language(tag)


def test_characters_that_scripts_share_do_not_count():
    assert script_counts(["Ab 1!", "é\u0301ж"]) == {"Latn": 3, "Cyrl": 1}


def test_text_of_equal_parts_of_three_scripts_has_no_main_script():
    assert main_script(script_counts(["abc где שלום"])) == ""
    assert main_script(script_counts([])) == ""


@pytest.mark.parametrize(
    ("tag", "direction", "unspaced", "many"),
    [
        ("ar", "rtl", False, False),
        ("he", "rtl", False, False),
        ("und-Arab", "rtl", False, False),
        ("pa-Arab", "rtl", False, False),
        ("pa", "ltr", False, False),
        ("ja", "ltr", True, True),
        ("zh-Hant-TW", "ltr", True, True),
        ("ko", "ltr", False, True),
        ("th", "ltr", True, False),
        ("bo", "ltr", True, False),
        ("en-GB", "ltr", False, False),
        ("und", "ltr", False, False),
    ],
)
def test_properties_follow_from_the_script(tag, direction, unspaced, many):
    language = Language.of(tag)
    assert (language.direction, language.is_unspaced, language.has_many_characters) == (direction, unspaced, many)


@pytest.mark.parametrize(
    ("given_tag", "tag"),
    [("ZH-hant-tw", "zh-Hant-TW"), ("pt-br", "pt-BR"), ("EN", "en"), ("", "und"), ("und-CYRL", "und-Cyrl")],
)
def test_a_tag_has_one_spelling(given_tag, tag):
    assert str(Language.of(given_tag)) == tag
    assert Language.of(tag) == Language.of(given_tag)


@given(st.from_regex(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,3}", fullmatch=True))
def test_any_tag_has_a_code_and_a_direction(tag):
    language = Language.of(tag)
    assert Language.of(language.tag) == language
    assert language.code == tag.split("-")[0].lower() and language.direction in ("ltr", "rtl")


def test_a_configuration_without_languages_has_unknown_ones():
    assert languages_of(CorpusConfig()) == Languages(Language("und"), Language("und"))
    assert languages_of(CorpusConfig(source_language="JA")).source == Language("ja")


@pytest.mark.parametrize("tag", ["Japanese", "pt_BR", "j", "en-", "de fr", "../x"])
def test_what_is_no_tag_is_refused(tag):
    with pytest.raises(ConfigError, match="target_language is .*: expected a BCP 47 tag such as en, pt-BR or zh-Hant"):
        CorpusConfig(target_language=tag)


@pytest.mark.parametrize(
    ("tag", "name"),
    [
        ("fr", "French"),
        ("zh-Hant", "Chinese (Traditional)"),
        ("pt-BR", "Portuguese (BR)"),
        ("sr-Cyrl-RS", "Serbian (Cyrillic, RS)"),
        ("und", "und"),
        ("xx-Latn", "xx-Latn"),
    ],
)
def test_a_language_has_its_english_name(tag, name):
    assert english_name(Language.of(tag)) == name


def test_the_english_names_are_those_of_cldr():
    names = pytest.importorskip("babel").Locale("en").languages
    assert _names() == {code: names[code].replace("\u2019", "'") for code in _names()}
    assert _names().keys() >= {code for code in names if len(code) == 2}
