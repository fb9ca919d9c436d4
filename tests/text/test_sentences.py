"""Lines cut into sentences."""

from __future__ import annotations

import pytest
from demo_sides import lines
from hypothesis import given
from hypothesis import strategies as st

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
        ("", ["One sentence without an end"]),
        ("", ["(see p. 4) and Fig. 2"]),
        ("", ["  "]),
    ],
)
def test_sentences_keep_the_white_space_behind_them(language, sentences):
    assert split_sentences("".join(sentences), language) == sentences


@given(st.text(alphabet=st.sampled_from("aB 1.!?…。،؟।\"“”」』'ん漢é\t\u2028\u00a0-•()"), max_size=40))
def test_joined_sentences_are_the_line(line):
    assert "".join(split_sentences(line)) == line


@given(st.text(max_size=30))
def test_any_text_can_be_cut(line):
    assert "".join(split_sentences(line, "xx")) == line


def test_sentences_of_the_demo_stay_whole():
    text = lines("train.en", 2000) + lines("train.fr", 2000)
    assert [split_sentences(line) for line in text] == [[line] for line in text]
