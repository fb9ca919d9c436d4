"""Placeholders and frames of texts in documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.documents.templates import line_by_line, same_placeholders


@pytest.mark.parametrize(
    "placeholder",
    ["%s", "%d", "%5.2f", "%1$s", "%%", "%lu", "%@", "%(name)s", "%{name}", "%1", "%L2", "{name}", "{0}", "{}", "${x}"]
    + ["{{ name }}", "<b>", "</b>", "<br/>", '<a href="x">', "&nbsp;", "&#160;", "\\n", "https://example.org/a?b=c"],
)
def test_a_lost_changed_or_new_placeholder_is_noticed(placeholder):
    assert same_placeholders(f"a {placeholder} b", f"Ä {placeholder}")
    assert not same_placeholders(f"a {placeholder} b", "Ä b")
    assert not same_placeholders("a b", f"a {placeholder}")
    assert not same_placeholders(f"a {placeholder}", f"a {placeholder} {placeholder}")


def test_order_counts_where_it_decides():
    assert not same_placeholders("%s of %d", "%d of %s")
    assert same_placeholders("%1$s of %2$d", "%2$d of %1$s")
    assert same_placeholders("{a} of {b}", "{b} of {a}")


@pytest.mark.parametrize("text", ["100 %", "50 % of it", "a & b", "a < b > c", "3 {", "C:", "it's"])
def test_ordinary_text_has_no_placeholders(text):
    assert same_placeholders(text, "x")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        (" one \n\n  two\n", ("one", "two")),
        ("<p>one</p>", ("one",)),
        ("<p><b class='x'>one</b> </p>", ("one",)),
        ("<b>one</b> and <b>two</b>", ("<b>one</b> and <b>two</b>",)),
        ("<code>one</code>", ("<code>one</code>",)),
        ('<p><span translate="no">one</span></p>', ('<span translate="no">one</span>',)),
        ("- one\r\n- two", ("one", "two")),
        ("\n", ()),
        ("", ()),
    ],
)
def test_sentences_of_a_text(text, sentences):
    assert line_by_line(text).texts == sentences


@given(text=st.text(st.sampled_from("ab <>/{}\\-%\r\n\t")))
def test_sentences_fill_their_own_place(text):
    template = line_by_line(text)
    assert all(sentence == sentence.strip() != "" for sentence in template.texts)
    assert template.fill(template.texts) == text
    if template.texts:
        assert template.fill(["", *template.texts[1:]]) is None
