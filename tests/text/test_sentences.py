"""Lines cut into sentences."""

from __future__ import annotations

from time import process_time

import pytest
from demo_sides import lines
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.languages import Language
from nmt.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["Mr. Smith went home. ", "He left at 3.5 p.m. yesterday. ", "Was it late?"]),
        ("", ["The old garden is empty . ", "Olivier does not see the tractor ."]),
        ("", ["i like it. ", "you like it."]),
        ("", ["Hi!   ", "How are you?  "]),
        ("", ["1. First the soup. ", "2. Then the fish."]),
        ("fr", ["Bonjour ! ", "M. Dupont est là."]),
        ("fr", ["Il habite av. Foch. ", "Oui."]),
        ("pt-BR", ["O Sr. Silva e a Sra. Costa. ", "Sim."]),
        ("de", ["Am 3. Mai kam Dr. Müller z.B. nach Berlin. ", "Er blieb dort."]),
        ("", ["Er steht bzw. sitzt. ", "Sie geht."]),
        ("ja", ["今日は晴れです。", "「本当？」と彼は言った。", "はい。"]),
        ("zh-Hant", ["今天天氣好。", "明天下雨！", "真的嗎？"]),
        ("", ["यह एक किताब है। ", "वह घर जाता है।"]),
        ("ar", ["أين أنت؟ ", "أنا في البيت."]),
        ("ur", ["یہ ایک کتاب ہے۔ ", "وہ گھر جاتا ہے۔"]),
        ("my", ["ဒါက စာအုပ်ပါ။ ", "သူ အိမ်ပြန်သွားတယ်။"]),
        ("am", ["ይህ መጽሐፍ ነው። ", "እሱ ወደ ቤት ሄደ።"]),
        ("", ["a sign says &quot; welcome . &quot;"]),
        ("", ["Wait... what? ", "No!"]),
        (
            "en",
            [
                "My mother is ill. ",
                "I hope you can come. ",
                "Please help me. ",
                "I'm lost. ",
                "No. ",
                "A friend called.",
            ],
        ),
        ("en", ["See Fig. I of the book."]),
        ("", ["One sentence without an end"]),
        ("", ["(see p. 4) and Fig. 2"]),
        ("", ["  "]),
        ("", ["I use ASP.NET every day. ", "Visit www.Example.Com now."]),
        ("", ["https://a.com/Foo?Bar=Baz!Qux is a link. ", "Open it."]),
        ("de", ["Das ist Fa.Müller aus Köln. ", "Sie liefert."]),
        ("ja", ["ASP.NETです。", "次はa.com/Foo?Bar=Bazを見て。"]),
        ("zh", ["他用ASP.NET。", "A.B公司。"]),
        ("th", ["คุณไปไหน?", "ฉันไปบ้าน"]),
    ],
)
def test_sentences_keep_the_white_space_behind_them(language, sentences):
    assert split_sentences("".join(sentences), language, Language(language).is_unspaced) == sentences


LINES = st.text(alphabet=st.sampled_from("aB 1.!?…。،؟।\"“”」』'ん漢é\t\u2028\u00a0-•()"), max_size=40)


@given(LINES, st.booleans())
def test_joined_sentences_are_the_line(line, unspaced):
    assert "".join(split_sentences(line, unspaced=unspaced)) == line


@given(LINES)
def test_no_word_is_cut(line):
    assert [word for sentence in split_sentences(line) for word in sentence.split()] == line.split()


@pytest.mark.parametrize("text", ["1. ", "M. "])
def test_the_time_grows_in_proportion_to_the_line(text):
    """In proportion it is some hundredths of a second, with the square of the length it is several seconds."""
    split_sentences("A.")
    begin = process_time()
    assert len(split_sentences(text * 16_000)) == 1
    assert process_time() - begin < 2


@given(st.text(max_size=30))
def test_any_text_can_be_cut(line):
    assert "".join(split_sentences(line, "xx")) == line


@pytest.mark.parametrize("space", ["\u00a0", "\u2028", "\u3000", "\x85"])
def test_wide_white_space_is_white_space(space):
    """sentencex panics before such white space behind an initial."""
    line = f"It is empty. B{space}. Then{space}it fills."
    assert split_sentences(line, "en") == ["It is empty. ", f"B{space}. Then{space}it fills."]
    assert split_sentences(f"It is empty.{space}It fills.") == [f"It is empty.{space}", "It fills."]


def test_sentences_of_the_demo_stay_whole():
    text = lines("train.en", 2000) + lines("train.fr", 2000)
    assert [split_sentences(line) for line in text] == [[line] for line in text]
