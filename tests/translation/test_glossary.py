"""Glossaries: which terms occur in a sentence, how their translations are written in pieces, and files of terms."""

from __future__ import annotations

import pytest
from hand_written import make_run
from hypothesis import given
from hypothesis import strategies as st

from nmt.config import SearchConfig, VocabularyConfig
from nmt.errors import NmtError
from nmt.text.errors import CorpusError
from nmt.text.pieces import UNK
from nmt.text.tokenizer import SegmentedSentence, Tokenizer
from nmt.translation import glossary as glossaries
from nmt.translation.glossary import Glossary, Term, form_pieces, unanswered
from nmt.translation.request import TranslationRequest
from nmt.translation.required_text import MOST_OCCURRENCES, has_terms, piece_constraint


def found(text: str, *sources: str) -> list[str]:
    """The terms that occur in a text, by their sources."""
    return [one.term.source for one in Glossary(Term(source, ("x",)) for source in sources).occurrences(text)]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The garden is empty.", ["garden"]),
        ("The gardener left the gardens.", []),
        ("GARDEN, garden", ["garden", "garden"]),
        ("We left us in the US .", ["us", "US"]),
        ("Das Haus, DAS HAUS, das haus", ["das Haus", "das Haus"]),
        ("l'école et l' école", ["école", "école"]),
        ("an ice  cream, ice\tcream", ["ice cream", "ice cream"]),
        ("the ice", []),
        ("Salt and ice cream cake", ["ice cream cake"]),
        ("R&D", ["&"]),
        ("東京タワーへ", ["東京タワー"]),
        ("किताबें", []),
        ("यह किताब है", ["किताब"]),
        ("cafe\u0301", ["café"]),
        ("", []),
    ],
)
def test_terms_are_whole_words_and_the_longest_counts(text, terms):
    """Of overlapping terms the first counts. An upper-case letter stands for itself. Scripts without spaces have no
    words. A word in Devanagari goes on in a mark."""
    sources = [
        "garden",
        "us",
        "US",
        "das Haus",
        "école",
        "ice cream",
        "ice cream cake",
        "&",
        "東京",
        "東京タワー",
        "किताब",
        "café",
    ]
    assert found(text, *sources) == terms


WORDS = st.lists(st.sampled_from(["a", "B", "c d", "é", "東", "1"]), max_size=8)


@given(words=WORDS, sources=st.lists(st.sampled_from(["a", "b", "B", "c", "c d", "d a", "東", "a b"]), unique=True))
def test_occurrences_are_in_order_without_overlap_and_name_their_text(words, sources):
    text = " ".join(words)
    last = 0
    for term, begin, end in Glossary(Term(source, ("x",)) for source in sources).occurrences(text):
        assert last <= begin < end
        assert text[begin:end] == term.source or text[begin:end].casefold() == term.source.lower()
        last = end


@pytest.mark.parametrize(
    ("translation", "missing"),
    [("Die Tür und die Pforte", []), ("die Tür", ["gate"]), ("Türen", ["door", "gate"]), ("die Tür, die Tür", [])],
)
def test_a_form_answers_one_occurrence_of_a_term(translation, missing):
    """Two terms share their forms."""
    glossary = Glossary([Term("door", ("Tür", "Pforte")), Term("gate", ("Tür", "Pforte"))])
    count, found = glossary.missing("a door and a gate", translation)
    assert (count, [term.source for term in found]) == (2, missing)


@pytest.mark.parametrize(
    ("terms", "translation", "missing"),
    [
        (["parc|parcs"] * 3, "Parcs et parc , parcours", [2]),
        (["grand parc|parc"] * 2, "le grand parc", [1]),
        (["parc", "grand parc"], "le grand parc", [0]),
        (["parc", "grand parc"], "le grand parc et le parc", []),
        (["Tür|Pforte", "tür"], "die Tür und die Pforte", []),
        (["Tür|Pforte", "Tür|Tor"], "die Tür, die Pforte", []),
        (["Straße", "ΟΔΟΣ"], "STRASSE οδός οδος", []),
        (["parc", ""], "parc", [1]),
    ],
)
def test_an_occurrence_answers_one_term(terms, translation, missing):
    """The longest form takes its words."""
    assert unanswered([tuple(filter(None, term.split("|"))) for term in terms], translation) == missing


@pytest.fixture(scope="module")
def french() -> Tokenizer:
    texts = ["l'école est grande", "une école", "École", "des écoles d'ici", "日本語"] * 20
    return Tokenizer.train(texts, VocabularyConfig(type="char", size=60))


def required(phrase: str, vocabulary: Tokenizer) -> dict[str, str]:
    """The ways to write a required phrase, and where each may begin."""
    (forms,) = piece_constraint(TranslationRequest("x", SearchConfig(), phrases=(phrase,)), vocabulary).required
    return {"".join(vocabulary.pieces(way.pieces)): way.where for way in forms}


def test_a_required_phrase_needs_no_space_in_a_script_without_spaces_or_behind_an_apostrophe(french):
    """Its case stays."""
    assert required(" 日本", french) == {"▁日本": "anywhere", "日本": "inside"}
    assert required("école", french) == {"▁école": "anywhere", "école": "unspaced"}
    assert required("est grande", french) == {"▁est▁grande": "anywhere", "est▁grande": "unspaced"}
    blank = TranslationRequest("x", SearchConfig(), phrases=(" ", ""))
    assert not piece_constraint(blank, french).is_hard


def ways(forms: tuple[str, ...], vocabulary: Tokenizer) -> dict[str, str]:
    return {"".join(vocabulary.pieces(way.pieces)): way.where for way in form_pieces(forms, vocabulary)}


def test_a_form_is_written_with_and_without_a_space_and_with_a_capital_letter(french):
    assert ways(("école",), french) == {"▁école": "anywhere", "▁École": "start", "école": "unspaced"}
    assert ways(("日本",), french) == {"▁日本": "anywhere", "日本": "inside"}
    assert ways(("Ω", "école"), french) == ways(("école",), french)
    assert ways(("Ω",), french) == {}
    assert all(UNK not in way.pieces for way in form_pieces(("Ωécole",), french))


def test_terms_that_no_pieces_can_write_are_named():
    vocabulary = make_run().target
    terms = [Term("a", ("ba", "Ω")), Term("b", ("Ω",))]
    assert Glossary(terms).unwritable(vocabulary) == terms[1:]


@pytest.mark.parametrize("form", ["\u200b", "\ufeff", "▁"])
@pytest.mark.parametrize("normalization", ["nmt_nfkc", "identity"])
def test_a_form_that_the_vocabulary_empties_is_left_out(form, normalization):
    settings = VocabularyConfig(type="char", size=30, normalization=normalization, character_coverage=1.0)
    vocabulary = Tokenizer.train(["une école", "le \u200b parc"] * 20, settings)
    empty = not vocabulary.decode(vocabulary.encode([form]))[0]
    assert empty or normalization == "identity"
    assert ways((form, "parc"), vocabulary).keys() >= ways(("parc",), vocabulary).keys()
    assert not empty or ways((form,), vocabulary) == {} == ways((form, "日本"), vocabulary)


def test_required_forms_are_compared_as_the_vocabulary_decodes_them():
    vocabulary = Tokenizer.train(["la fin 1/2"] * 20, VocabularyConfig(type="char", size=30, normalization="nmt_nfkc"))
    request = TranslationRequest("end", SearchConfig(), terms=(Term("end", ("la ﬁn", "日本", "\u200b")),))
    source = SegmentedSentence("end", ["end"], [5], [0])
    (term,) = piece_constraint(request, vocabulary, source=source).terms
    assert term.texts == ("la fin",)
    assert has_terms("C'est la fin", [term]) and not has_terms("C'est la suite", [term])


def test_a_form_that_only_its_capital_letter_writes_is_found():
    """The vocabulary lacks z."""
    vocabulary = Tokenizer.train(["Zab cad"] * 20, VocabularyConfig(type="char", size=12))
    request = TranslationRequest("end", SearchConfig(), terms=(Term("end", ("zab",)),))
    (term,) = piece_constraint(request, vocabulary, source=SegmentedSentence("end", ["end"], [5], [0])).terms
    assert [way.where for way in term.forms] == ["start"]
    assert has_terms("Zab cad", [term]) and not has_terms("cad", [term])


def test_a_search_follows_the_first_occurrences_of_terms():
    vocabulary = Tokenizer.train(["la fin 1/2"] * 20, VocabularyConfig(type="char", size=30))
    words = ["end"] * (MOST_OCCURRENCES + 1)
    request = TranslationRequest(" ".join(words), SearchConfig(), terms=(Term("end", ("fin",)),))
    source = SegmentedSentence(request.text, words, [5] * len(words), list(range(len(words))))
    terms = piece_constraint(request, vocabulary, source=source).terms
    assert [list(term.positions) for term in terms] == [[place] for place in range(MOST_OCCURRENCES)]


@pytest.mark.parametrize("term", [Term("", ("a",)), Term(" ", ("a",)), Term("a", ("b", " ")), Term("a", ())])
def test_a_blank_term_is_refused(term):
    with pytest.raises(NmtError, match="glossary: expected a source and its forms, none of them blank"):
        Glossary([term])


def test_a_file_has_terms_and_their_forms(write):
    path = write("g.tsv", "ice  cream\tglace\tglaces| une glace |", "", "US\tÉtats-Unis", "a\tb|c\tb|d")
    glossary = Glossary.load(path, "require")
    assert glossary.mode == "require"
    assert glossary.terms == (
        Term("ice cream", ("glace", "glaces", "une glace")),
        Term("US", ("États-Unis",)),
        Term("a", ("b|c", "b", "d")),
    )
    assert glossary.of("The US and Ice cream in the US") == (glossary.terms[1], glossary.terms[0])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("garden", r"g.tsv:2: expected a source term, a tab, its translation"),
        ("\tjardin", r"g.tsv:2: expected a source term"),
        ("garden\t\tjardin", r"g.tsv:2: expected a source term"),
        ("a\tb\tc\td", r"g.tsv:2: expected a source term"),
        ("tree\tbois", r"g.tsv:2: 'tree' is on line 1 too: give all its forms on one line"),
    ],
)
def test_a_line_of_another_form_is_named(line, message, write):
    with pytest.raises(CorpusError, match=message) as raised:
        Glossary.load(write("g.tsv", "tree\tarbre", line))
    assert "\n" not in str(raised.value)


def test_the_words_of_a_text_are_listed_once(monkeypatch):
    lists = []
    monkeypatch.setattr(Glossary, "_at", lambda self, words, at: lists.append(words))
    assert found("a b c d", "e") == [] and len(lists) == 4
    assert all(words is lists[0] for words in lists)


def test_long_forms_of_clients_do_not_fill_the_memory(french):
    kept = glossaries._form_pieces.cache_info().currsize, glossaries._decoded_forms.cache_info().currsize
    long = ("école " * 100,)
    assert form_pieces(long, french) and glossaries.decoded_forms(long, french)
    assert kept == (glossaries._form_pieces.cache_info().currsize, glossaries._decoded_forms.cache_info().currsize)
