"""Lines with markup: their parts, and the text alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.text.markup import MarkupKind, parse_markup, plain_text
from nmt.text.markup.marked_text import DEEPEST


def kinds(line: str, kind: MarkupKind = "auto") -> list[str]:
    return [f"{item.kind} {item.raw}" for item in parse_markup(line, kind).items if item.raw.strip()]


@given(st.text("<>/b i&;amp='\"{}%s0😀1x", max_size=30))
def test_the_parts_joined_are_the_line(line: str) -> None:
    assert "".join(item.raw for item in parse_markup(line, "auto").items) == line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<b>a</b>", ["open <b>", "text a", "close </b>"]),
        ("<B>a</b>", ["open <B>", "text a", "close </b>"]),
        ("a<br>b<img src='x'>", ["text a", "code <br>", "text b", "code <img src='x'>"]),
        ("<0>a</0>", ["open <0>", "text a", "close </0>"]),
        ("<!-- a --> b", ["code <!-- a -->", "text  b"]),
        ("1 < 2 & I <3 you", ["number 1", "text  < ", "number 2", "text  & I <", "number 3", "text  you"]),
        ("mail a.b@c.de, now", ["text mail ", "placeholder a.b@c.de", "text , now"]),
        ("at (http://a.b/c?d=e), 12:30", ["text at (", "placeholder http://a.b/c?d=e", "text ), ", "number 12:30"]),
        ("%(n)s %1$d 50% of {0} {}s", ["placeholder %(n)s", "placeholder %1$d", "number 50", "text % of ",
                                       "placeholder {0}", "placeholder {}s"]),
        ("{{name}} {{{ raw }}} ${{ x }}", ["placeholder {{name}}", "placeholder {{{ raw }}}", "placeholder ${{ x }}"]),
        ("see https://a.b/{id}, www.a.b/{x}/y.", ["text see ", "placeholder https://a.b/{id}", "text , ",
                                                  "placeholder www.a.b/{x}/y", "text ."]),
        ('{"url":"http://a.b/c"}', ['placeholder {"url":"http://a.b/c"}']),
        ("👩‍👧 🇫🇷 ❤️ ©", ["code 👩‍👧", "code 🇫🇷", "code ❤️", "text  ©"]),
        ("a😀😀<br> {0}{1}", ["text a", "code 😀😀<br>", "placeholder {0}{1}"]),
        ("<i>😀</i> a", ["code <i>😀</i>", "text  a"]),
        ("<span translate='no'>a <b>b</b></span>", ["placeholder <span translate='no'>a <b>b</b></span>"]),
        ("<p>a <b>b</p>", ["open <p>", "text a ", "code <b>", "text b", "close </p>"]),
    ],
)  # fmt: skip
def test_the_parts_of_a_line(line: str, expected: list[str]) -> None:
    assert kinds(line) == expected


def test_codes_of_xliff_and_tmx() -> None:
    line = '<g id="1">a</g><x id="2"/><bpt i="1">&lt;b></bpt>b<ept i="1">c</ept><ph>{</ph><bx id="3"/>d<ex id="3"/>'
    assert kinds(line) == [
        'open <g id="1">', "text a", "close </g>", 'code <x id="2"/>',
        'open <bpt i="1">&lt;b></bpt>', "text b", 'close <ept i="1">c</ept>', "code <ph>{</ph>",
        'open <bx id="3"/>', "text d", 'close <ex id="3"/>',
    ]  # fmt: skip
    assert kinds("a<br>b", "xliff") == ["text a", "code <br>", "text b"]  # XML has no tags without an end
    assert parse_markup("a<br>b", "xliff").problems == ("<br> is not closed",)
    assert parse_markup("a<br>b", "html").problems == ()


def test_tags_without_a_partner_are_named() -> None:
    assert parse_markup("<b>a<i>b</b></i>", "auto").problems == ("<i> is not closed", "</i> closes nothing")


def test_the_text_alone() -> None:
    assert plain_text("a<br/>b <b>c</b>d &lt;{0}", "auto") == "a b cd <"
    assert plain_text("{0} has 12 dogs", "auto") == " has 12 dogs"
    assert plain_text("<td>a</td><td>b</td> <b>c</b>d", "auto").split() == ["a", "b", "cd"]


@pytest.mark.parametrize("part", ["a", "a.b-", "%0", "0", "%(", "http://", "<a ", "{", "www."])
@pytest.mark.parametrize("begin", ["", "%"])
def test_the_time_of_a_long_text_is_linear(begin, part):
    """A pattern that goes back to each earlier place would take hours."""
    line = begin + part * 30_000
    assert "".join(item.raw for item in parse_markup(line, "html").items) == line


def test_tags_that_are_nested_too_deep_stand_alone():
    """Each is kept, and no translation meets the limit of Python's calls."""
    line = "<b>" * 2000 + "dog" + "</b>" * 2000
    marked = parse_markup(line, "html")
    assert "".join(item.raw for item in marked.items) == line
    assert sum(item.partner >= 0 for item in marked.items) == 2 * DEEPEST
    assert "<b> is nested in 100 tags" in marked.problems
