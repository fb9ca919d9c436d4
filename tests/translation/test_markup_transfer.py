"""Markup in requests: taken out before the search, put back into the translations at the linked words."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from documents import xliff
from hand_written import Copier, make_run
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt.alignment.word_alignment import WordAlignment
from nmt.config import SearchConfig
from nmt.text.documents import open_document
from nmt.text.languages import UNKNOWN
from nmt.text.markup import MarkupKind, parse_markup
from nmt.translation.markup.transfer import TakenMarkup, _nested, _Node
from nmt.translation.request import RequestError, TranslationRequest
from nmt.translation.result import Translation
from nmt.translation.translator import Translator


def taken(source: str, stand_ins: tuple[str, ...] = (), kind="auto") -> TakenMarkup:
    """The markup of a text whose placeholders have these stand-ins."""
    marked = parse_markup(source, kind)
    free = iter(stand_ins)
    chosen = {
        place: item.raw if item.kind == "number" else next(free, "")
        for place, item in enumerate(marked.items)
        if item.kind in ("placeholder", "number")
    }
    text, spans = marked.render(lambda place: chosen[place])
    return TakenMarkup(source, marked, text, tuple(spans), chosen)


def put_back(source: str, text: str, links: str, *stand_ins: str, kind="auto") -> str:
    """The markup of a source in a translation with these links; the attention is on the linked words."""
    markup = taken(source, stand_ins, kind)
    words, found = markup.text.split(), text.split()
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    weights = np.zeros((len(found), len(words)), np.float32)
    for s, t in pairs:
        weights[t, s] = 1
    weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1)
    alignment = WordAlignment(
        tuple(words), tuple(found), weights, np.zeros(len(found), np.float32), frozenset((s, t) for s, t in pairs)
    )
    (result,) = markup.put_back([Translation(markup.text, text, -1.0, -1.0, alignment)])
    assert result.source == source
    return result.text


@pytest.mark.parametrize(
    ("source", "translation", "links", "expected"),
    [
        ("the <b>old</b> dog", "le chien vieux", "0-0 1-2 2-1", "le chien <b>vieux</b>"),
        ("the <b>old dog</b>", "le chien vieux", "0-0 1-2 2-1", "le <b>chien vieux</b>"),
        ("<p>the <b>old</b> dog .</p>", "le chien vieux .", "0-0 1-2 2-1 3-3", "<p>le chien <b>vieux</b> .</p>"),
        # a discontinuous translation is enclosed with the word between its parts
        ("he does <b>not</b> see", "il ne voit pas", "0-0 1-2 2-1 2-3 3-2", "il <b>ne voit pas</b>"),
        # also if a part belongs to another word too
        ("he does <b>not</b> see", "il ne voit pas", "0-0 1-1 2-1 2-3 3-2", "il <b>ne voit pas</b>"),
        # unless that word has a tag of its own
        ("he does <b>not</b> <i>see</i>", "il ne voit pas", "0-0 2-1 2-3 3-2", "il <b>ne</b> <i>voit</i> pas"),
        # two tags for one word
        ("he <b>is</b> <i>going</i>", "il va", "0-0 1-1 2-1", "il <b><i>va</i></b>"),
        # exchanged order
        ("<b>a</b> <i>b</i>", "B A", "0-1 1-0", "<i>B</i> <b>A</b>"),
        # nothing is linked to the word
        ("go <b>to</b> see", "aller voir", "0-0 2-1", "aller <b></b> voir"),
        # marks of punctuation stay outside
        ("<b>No</b>, he is.", "Non, il est.", "0-0 1-1 2-2", "<b>Non</b>, il est."),
        ("he (the <b>boss</b>) is.", "il (le chef) est.", "0-0 1-1 2-2 3-3", "il (le <b>chef</b>) est."),
        # codes
        ("a <x/> b", "A B", "0-0 1-1", "A <x/> B"),
        ("a<br/>b", "A B", "0-0 1-1", "A<br/>B"),
        ("a 😀😀 b", "A B", "0-0 1-1", "A 😀😀 B"),
        ("<td>a</td><td>b</td>", "A B", "0-0 1-1", "<td>A</td><td>B</td>"),
        ("<li>a<br/></li><li>b</li>", "A B", "0-0 1-1", "<li>A<br/></li><li>B</li>"),
        ("a<x/> b", "B A", "0-1 1-0", "B A<x/>"),
        ("<x/>a b<x/>", "A B", "0-0 1-1", "<x/>A B<x/>"),
        ("see <b></b> it", "voir le", "0-0 1-1", "voir <b></b> le"),
        ("I like it 😀 !", "je aime le !", "0-0 1-1 2-2 3-3", "je aime le 😀 !"),
        # the spaces around tags are those of the source
        ("a <b> b </b> c", "A B C", "0-0 1-1 2-2", "A <b> B </b> C"),
        # a tag without a partner stays at its word
        ("<p>a b", "A B", "0-0 1-1", "<p>A B"),
        ("a <b>b <i>c</b> d</i>", "A B C D", "0-0 1-1 2-2 3-3", "A <b>B <i>C</b> D</i>"),
        # attributes come back byte for byte
        ('<a  href=\'x?a=1&b="2">"\' >a</a>', "A", "0-0", '<a  href=\'x?a=1&b="2">"\' >A</a>'),
    ],
)
def test_markup_comes_back_at_its_words(source: str, translation: str, links: str, expected: str) -> None:
    assert put_back(source, translation, links) == expected


@pytest.mark.parametrize(
    ("source", "translation", "links", "expected"),
    [
        ("{0} sees %s .", "Paul voit Marie .", "0-0 1-1 2-2 3-3", "{0} voit %s ."),
        ("{0} sees {1} .", "Marie voit Paul .", "0-1 1-0 2-2 3-3", "{1} voit {0} ."),
        # a part of a word of the translation
        ("the dog of {name}", "le chien d'Paul", "0-0 1-1 3-2", "le chien d'{name}"),
        # a stand-in that does not come back gives its place to the placeholder
        ("{0} sees", "Luc voit", "0-0 1-1", "{0} voit"),
        # and one that comes twice is there once
        ("{0} sees", "Paul voit Paul .", "0-0 1-1", "{0} voit ."),
        (
            "see https://x.org/a?b=1&amp;c. <b>I</b>",
            "voir Paul. I",
            "0-0 1-1 2-2",
            "voir https://x.org/a?b=1&amp;c. <b>I</b>",
        ),
        ("<code>f(x)</code> is <b>{0}</b>", "Paul est Marie", "0-0 1-1 2-2", "<code>f(x)</code> est <b>{0}</b>"),
        ("he has 12,5 dogs", "il a 12,5 chiens", "0-0 1-1 2-2 3-3", "il a 12,5 chiens"),
        # a number is no part of a longer one
        ("use 3.5 or 3 litres", "use 3.5 or 3 litres", "0-0 1-1 2-2 3-3 4-4", "use 3.5 or 3 litres"),
        ("from 10 to 10:30 .", "until 10:30 from 10 .", "0-2 1-3 2-0 3-1 4-4", "until 10:30 from 10 ."),
        ("on 2024-01-02 . 2024 it", "on 2024-01-02 . 2024 it", "0-0 1-1 2-2 3-3 4-4", "on 2024-01-02 . 2024 it"),
        ("he has 12 dogs", "il a douze chiens", "0-0 1-1 2-2 3-3", "il a 12 chiens"),
    ],
)
def test_placeholders_take_the_place_of_their_stand_ins(source, translation, links, expected) -> None:
    assert put_back(source, translation, links, "Paul", "Marie") == expected


def test_entities_are_decoded_for_the_search_and_written_again() -> None:
    assert taken("a &amp; b &lt;c&#233; &quot;").text == 'a & b <cé "'
    assert put_back("a &amp; &eacute;", "é < &", "0-0 1-2 2-1") == "&eacute; &lt; &amp;"
    assert put_back("a & b", "A & B >", "0-0 1-1 2-2") == "A & B &gt;"
    assert put_back("&copy; a", "© é", "0-1", kind="xliff") == "&copy; © é"  # XML lacks this entity: it is a code


WORDS = st.sampled_from(["a", "bc", "de.", ",", "(f", "g's"])
TAGS = st.sampled_from(["<b>", "</b>", "<i c='1'>", "</i>", "<br>", "<x/>", "{0}", "%s", "😀", "&amp;", "12", " ", " "])


@settings(max_examples=60)
@given(st.lists(st.one_of(WORDS, TAGS), max_size=14), st.data())
def test_every_tag_is_written_once_and_pairs_are_nested(parts: list[str], data: st.DataObject) -> None:
    source = "".join(parts)
    markup = taken(source, ("Paul", "Luc", "Emma"))
    words = tuple(markup.text.split())
    target = tuple(data.draw(st.lists(st.sampled_from(["A", "B.", ",", "Paul", "Paul", "d'Luc"]), max_size=6)))
    cells = st.tuples(st.integers(0, max(len(words) - 1, 0)), st.integers(0, max(len(target) - 1, 0)))
    links = frozenset(data.draw(st.lists(cells, max_size=8)) if words and target else ())
    weights = np.zeros((len(target), len(words)), np.float32)
    for s, t in links:
        weights[t, s] = 0.1
    alignment = WordAlignment(words, target, weights, np.zeros(len(target), np.float32), links)
    (found,) = markup.put_back([Translation(markup.text, " ".join(target), -1.0, -1.0, alignment)])
    for raw in ("<b>", "</b>", "<i c='1'>", "</i>", "<br>", "<x/>", "{0}", "%s", "😀"):
        assert found.text.count(raw) == source.count(raw), raw
    again = parse_markup(found.text, "auto")
    if not markup.marked.problems:
        assert not again.problems
    assert all(found.alignment.source) and all(found.alignment.target)


def aligned(source: str, text: str, links: str, *stand_ins: str, unread: str = "") -> tuple[WordAlignment, str]:
    """Alignment and text of the translation of a marked text whose model does not read the number `unread`."""
    markup = taken(source, stand_ins)
    if unread:
        kept = {place: "" if word == unread else word for place, word in markup.stand_ins.items()}
        plain, spans = markup.marked.render(lambda place: kept[place])
        markup = replace(markup, stand_ins=kept, text=plain, spans=tuple(spans))
    words, found = tuple(markup.text.split()), tuple(text.split())
    pairs = frozenset(tuple(map(int, link.split("-"))) for link in links.split())
    weights = np.zeros((len(found), len(words)), np.float32)
    rest = np.ones(len(found), np.float32)
    values = tuple(-1.0 - place for place in range(len(found)))
    made = Translation(
        markup.text, text, -1.0, -1.0, WordAlignment(words, found, weights, rest, pairs), False, (), (), values
    )
    (result,) = markup.put_back([made])
    assert len(result.word_log_probabilities) == len(result.alignment.target)
    assert set(filter(None, result.word_log_probabilities)) <= set(values)
    return result.alignment, result.text


@pytest.mark.parametrize(
    ("source", "text", "links", "stand_ins", "ours", "theirs", "found"),
    [
        # a number that the model cannot read is a word of both sides
        ("the <b>old</b> 12 dog .", "le vieux chien .", "0-0 1-1 2-2 3-3", (),
         "the old 12 dog .", "le vieux 12 chien .", "0-0 1-1 2-2 3-3 4-4"),
        # so is a placeholder without a stand-in
        ("a 12 {0} b", "A B", "0-0 1-1", (), "a 12 {0} b", "A 12 {0} B", "0-0 1-1 2-2 3-3"),
        # a stand-in that is written twice is one word
        ("{0} sees", "Paul voit Paul", "0-0 1-1 0-2", ("Paul",), "{0} sees", "{0} voit", "0-0 1-1"),
        # what touches a word is a part of it
        ("a b12 c", "A B C", "0-0 1-1 2-2", (), "a b12 c", "A B C", "0-0 1-1 2-2"),
    ],
)  # fmt: skip
def test_links_count_the_words_of_both_texts(source, text, links, stand_ins, ours, theirs, found) -> None:
    alignment, _ = aligned(source, text, links, *stand_ins, unread="12")
    assert (" ".join(alignment.source), " ".join(alignment.target)) == (ours, theirs)
    assert alignment.pharaoh() == found


@given(
    st.lists(st.sampled_from(["a", "bc", "de.", "12", "12", "{0}", "%s"]), min_size=1, max_size=8),
    st.lists(st.sampled_from(["A", "B", ",", "Paul", "Luc"]), min_size=1, max_size=6),
    st.data(),
)
def test_words_between_spaces_are_the_words_of_the_alignment(ours: list[str], theirs: list[str], data) -> None:
    source, text = " ".join(ours), " ".join(theirs)
    read = len(taken(source, ("Paul", "Luc")).text.replace("12", "").split())
    cells = st.tuples(st.integers(0, max(read - 1, 0)), st.integers(0, len(theirs) - 1))
    links = " ".join(f"{s}-{t}" for s, t in data.draw(st.lists(cells, max_size=6))) if read else ""
    alignment, written = aligned(source, text, links, "Paul", "Luc", unread="12")
    assert (list(alignment.source), list(alignment.target)) == (ours, written.split())


def test_a_translator_translates_text_alone() -> None:
    copier = Copier()
    translator = Translator(make_run(beam_size=2), copier)
    assert [one.text for one in translator.translate(["ba <b>ki</b> ma", "<i>le</i> me"], markup="auto")] == [
        "ba <b>ki</b> ma", "<i>le</i> me",
    ]  # fmt: skip
    lists = translator.translate_nbest(["ba <b>ki</b>"], nbest=2, markup="html")[0]
    assert [one.text for one in lists] == ["ba <b>ki</b>", "ba <b>ki</b> ki"]
    assert lists[0].alignment.source == ("ba", "ki")
    plain = translator.translate_one("ba <b>ki</b> ma").text
    assert plain != "ba <b>ki</b> ma"  # without markup= it is text, which this vocabulary cannot read
    request = TranslationRequest("ba <b>ki</b>", SearchConfig(), markup="auto")
    mixed = [request, replace(request, text="ba ki", markup=None)]
    assert [answers[0].text for answers in translator.answer(mixed)] == ["ba <b>ki</b>", "ba ki"]


def test_requests_carry_markup_as_json() -> None:
    request = TranslationRequest("a", SearchConfig(), markup="xliff")
    assert TranslationRequest.from_json(request.to_json()) == request
    with pytest.raises(RequestError, match="markup is 'tex': expected auto, html, xliff or none"):
        TranslationRequest("a", SearchConfig(), markup="tex")  # type: ignore[arg-type]


def test_a_blank_text_keeps_its_tags() -> None:
    translator = Translator(make_run(), Copier())
    found = [one.text for one in translator.translate(["<br>", "", "<p> </p>", "😀"], markup="auto")]
    assert [re.sub(" ", "", text) for text in found] == ["<br>", "", "<p></p>", "😀"]


def test_a_line_of_numbers_alone_stays_as_it_is() -> None:
    lines = ["10:30 2,500", "<b>12</b> 15", "{0} {1}", "<td>12</td><td>15</td>"]
    copied = Translator(make_run(), Copier()).translate(lines, markup="auto")
    assert [one.text for one in copied] == lines


def test_an_empty_translation_keeps_the_markup_and_its_spaces() -> None:
    markup = taken("{0} dog {1}{2}")
    alignment = WordAlignment(("dog",), (), np.zeros((0, 1), np.float32), np.zeros(0, np.float32), frozenset())
    (result,) = markup.put_back([Translation(markup.text, "", -1.0, -1.0, alignment)])
    assert result.text == "{0} {1}{2}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [("a <b>{0}</b>", "A <b>{0}</b>"), ("<p>a</p> <p>{0}</p>", "<p>A</p> <p>{0}</p>"),
     ("<b>{0}</b> <i>{1}</i> a", "<b>{0}</b> <i>{1}</i> A"), ("a<b>{0}</b>", "A<b>{0}</b>")],
)  # fmt: skip
def test_placeholders_without_stand_ins_keep_the_spaces_of_their_tags(source: str, expected: str) -> None:
    assert put_back(source, "A", "0-0") == expected


def test_units_of_documents_keep_their_codes(tmp_path) -> None:
    inside = 'ba <g id="1">ki <x id="2"/></g> %s ma'
    path = tmp_path / "in.xlf"
    path.write_bytes(xliff(f"<source>{inside}</source>", "<source>&lt;b>le&lt;/b> me</source>"))
    document = open_document(str(path), UNKNOWN, everything=False, codes=True)
    assert document.kinds() == ["xliff", "auto"]
    translator = Translator(make_run(), Copier())
    requests = [
        TranslationRequest(text, SearchConfig(), markup=kind)
        for text, kind in zip(document.texts(), document.kinds(), strict=True)
    ]
    filled = document.filled(answers[0].text for answers in translator.answer(requests)).decode()
    assert f">{inside}</target>" in filled
    assert ">&lt;b&gt;le&lt;/b&gt; me</target>" in filled
    assert document.outcome.summary() == "2 units filled in"


class Backwards:
    """An aligner that links the first word to the last, and so on."""

    def align(self, pairs):
        for source, target in pairs:
            words, found = tuple(source), tuple(target)
            links = frozenset((s, len(found) - 1 - s) for s in range(min(len(words), len(found))))
            weights = np.zeros((len(found), len(words)), np.float32)
            yield WordAlignment(words, found, weights, np.zeros(len(found), np.float32), links)


def test_an_aligner_makes_the_links_of_translations_and_pairs() -> None:
    translator = Translator(make_run(), Copier())
    assert translator.translate_one("<b>ba</b> ki ma", markup="auto").text == "<b>ba</b> ki ma"
    translator.aligner = Backwards()
    found = list(translator.translate(["<b>ba</b> ki ma", "le me <i>ko</i>"], markup="auto"))
    assert [one.text for one in found] == ["ba ki <b>ma</b>", "<i>le</i> me ko"]
    assert found[0].alignment.pharaoh() == "0-2 1-1 2-0"
    assert [pair.alignment.pharaoh() for pair in translator.align(["ba ki"], ["le me"])] == ["0-1 1-0"]


def test_the_aligner_rests_where_nobody_reads_links() -> None:
    translator = Translator(make_run(), Copier())
    translator.aligner = Backwards()
    texts: list[tuple[str, MarkupKind | None]] = [("ba ki ma", None), ("<b>ba</b> ki ma", "auto")]
    for aligned, expected in ((True, "0-2 1-1 2-0"), (False, "0-0 1-1 2-2")):
        requests = [TranslationRequest(text, SearchConfig(), markup=kind, aligned=aligned) for text, kind in texts]
        (plain,), (marked,) = translator.answer(requests)
        assert plain.alignment.pharaoh() == expected
        assert marked.text == "ba ki <b>ma</b>"  # markup reads them


def test_any_number_of_tags_may_fall_on_one_word():
    count = 1500
    found = put_back("<b>a</b>" * count, "A", "0-0")
    assert found.count("<b>") == found.count("</b>") == count and re.sub("<.*?>", "", found) == "A"


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_tags_are_nested_as_by_the_definition(stretches):
    """The definition: nodes in order, each within the last one if that one encloses it, over and over."""

    def nested(nodes):
        found = []
        for node in sorted(nodes, key=lambda one: one.order):
            if found and found[-1].encloses(node):
                found[-1] = replace(found[-1], inside=nested([*found[-1].inside, node]))
            else:
                found.append(node)
        return found

    def shape(nodes):
        return [(node.place, shape(node.inside)) for node in nodes]

    def made():
        nodes = [_Node(min(pair), max(pair), place) for place, pair in enumerate(stretches)]
        for outer, inner in zip(nodes[::2], nodes[1::2], strict=False):  # as by the source
            if outer.encloses(inner):
                outer.inside.append(inner)
        inside = {id(one) for node in nodes for one in node.inside}
        return [node for node in nodes if id(node) not in inside]

    assert shape(_nested(made())) == shape(nested(made()))
