"""Cleaning a parallel corpus: each rule on both sides of its threshold, and the command from end to end."""

from __future__ import annotations

import csv
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.errors import NmtError
from nmt.text.cleaning import (
    RULE_NAMES,
    CorpusStatistics,
    Duplicates,
    Fault,
    Rules,
    SpellingModel,
    find_fault,
    invalid,
    judge,
    judge_by_scores,
    learn_statistics,
    score_limit,
)

REPOSITORY = Path(__file__).parents[2]
DEMO = REPOSITORY / "data" / "demo"

PLAIN = CorpusStatistics("LATIN", "LATIN", 1.0, {}, SpellingModel([]), SpellingModel([]))
OFF = Rules(
    invalid=False, empty=False, longest=0, ratio=0, identical=0, script=0, language=0, spelling=0, duplicates="off"
)


def hit(source: str, target: str, usual: CorpusStatistics = PLAIN, **rules) -> Fault | None:
    return find_fault(source, target, replace(OFF, **rules), usual)


# Rules


def test_an_empty_side_is_named_and_no_other_rule_applies():
    assert [hit(*pair, empty=True) for pair in (("a", " "), ("", "b"), (" ", ""), ("a", "b"))] == [
        Fault("empty", "target"),
        Fault("empty", "source"),
        Fault("empty", "both"),
        None,
    ]
    assert hit("", "b", shortest=2, ratio=1.5, script=0.5) is None


def test_words_are_counted_on_both_sides():
    assert hit("a b", "a b c", shortest=2, longest=3) is None
    assert hit("a", "a b c", shortest=2) == hit("a b c", "a", shortest=2) == Fault("short", 1, 2)
    assert hit("a b c", "a", longest=2) == hit("a", "a b c", longest=2) == Fault("long", 3, 2)
    assert hit("a", "a", shortest=1) is None


@pytest.mark.parametrize("source, target", [(20, 40), (40, 20)])
def test_a_side_is_too_long_beyond_ratio_and_slack(source, target):
    """40 characters for 20: the ratio is 2, and 1.5 without ten characters of slack."""
    pair = "x" * source, "y" * target
    assert hit(*pair, ratio=1.5, slack=10) is None
    assert hit(*pair, ratio=1.5, slack=9).rule == hit(*pair, ratio=1.4, slack=10).rule == "ratio"
    assert hit(*pair, ratio=0, slack=0) is None


def test_a_ratio_is_longer_by_shorter_side_relative_to_the_corpus():
    """The value is without the slack, so its threshold is the setting whichever side is longer."""
    for pair in (("x" * 20, "y" * 60), ("x" * 60, "y" * 20)):
        assert hit(*pair, ratio=1.5, slack=10) == Fault("ratio", 2.5, 1.5)  # (60 - 10) / 20
    usual = replace(PLAIN, length=3.0)
    assert hit("x" * 20, "y" * 60, usual, ratio=1.5, slack=10) is None
    assert hit("x" * 20, "y" * 20, usual, ratio=1.5, slack=10).value == pytest.approx(2.5)  # 60 are usual
    assert hit("x" * 20, "y " * 20, ratio=1, slack=0) is None  # spaces do not count


def test_short_sentences_may_differ_more():
    assert hit("Go .", "Allez-vous-en", ratio=1.5, slack=10) is None  # 3 characters, 13
    assert hit("Go .", "Allez-vous-en", ratio=1.5, slack=0).rule == "ratio"


def test_identical_sides_are_dropped_if_they_have_enough_letters():
    assert hit("Not translated", "not  TRANSLATED ", identical=13) == Fault("identical", 13, 13)
    assert hit("Not translated", "not translated", identical=14) is None
    assert hit("Not translated", "not translated .", identical=5) is None
    assert hit("1 234 567 890", "1 234 567 890", identical=1) is None


def test_letters_of_another_script_are_a_share_of_the_letters():
    assert hit("abcd 12 .", "abвг 12 .", script=0.5) is None
    assert hit("abcd", "aбвг", script=0.5) == hit("aбвг", "abcd", script=0.5) == Fault("script", 0.75, 0.5)
    assert hit("12 .", "...", script=0.5) is None
    russian = replace(PLAIN, target_script="CYRILLIC")
    assert hit("abcd", "абвг", russian, script=0.5) is None
    assert hit("abcd", "abcd", russian, script=0.5) == Fault("script", 1.0, 0.5)


def test_scripts_are_those_of_unicode():
    usual = CorpusStatistics.of(
        [("Ａ ª é µ", "東京タワーへ行きました")]
    )  # full width and ordinal letters are Latin, µ is Greek
    assert (usual.source_script, usual.target_script) == ("LATIN", "CJK")
    assert hit("Ａ ª é µ", "東京タワーへ", usual, script=0.25) is None
    assert hit("Ａ ª é µ", "東京タワーへ", usual, script=0.24) == Fault("script", 0.25, 0.24)
    nothing = CorpusStatistics.of([("12", "")])
    assert (nothing.source_script, nothing.target_script, nothing.length) == ("", "", 1.0)


def test_words_lean_towards_the_side_that_has_them():
    """Four source words and four target words: the leaning is ln (target + 1) / (source + 1)."""
    usual = CorpusStatistics.of([("the cat Paris", "le chat Paris"), ("the", "le")])
    assert usual.leaning == pytest.approx(
        {"the": -math.log(3), "cat": -math.log(2), "paris": 0.0, "le": math.log(3), "chat": math.log(2)}
    )
    lean = (math.log(3) + math.log(2)) / (3 + 2)  # two words of leaning 0 are added
    for pair in (("le chat Paris", "x"), ("x", "The cat, Paris!"), ("le chat Paris", "the cat Paris")):
        assert hit(*pair, usual, language=0.99 * lean) == Fault("language", pytest.approx(lean), 0.99 * lean)
        assert hit(*pair, usual, language=1.01 * lean) is None
    assert hit("the cat Paris", "le chat Paris", usual, language=0.01) is None


def test_spelling_equals_the_formula():
    """Equal texts count once. "ab" and "AB" have the trigrams "  a", " ab" and "ab ", and six characters."""
    spelling = SpellingModel(["ab", "AB", "ab", " "])
    seen = math.log((2 + 2 * (2 + 1) / (6 + 4)) / (2 + 2))  # n = 2 in a context seen twice, prior 2, p(c) = 3 / 10
    elsewhere = math.log((1 + 2 * (2 + 1) / (6 + 4)) / (1 + 2))  # by the other sentence alone
    assert spelling.usual == pytest.approx(-elsewhere)
    assert spelling.excess("AB.") == spelling.excess("12 ab") == pytest.approx((-3 * seen + 3 * elsewhere) / (3 + 10))
    first = math.log(2 * (0 + 1) / 10 / (2 + 2))  # a letter never seen, in the context that begins a sentence
    rest = math.log(2 * (0 + 1) / 10 / (0 + 2)), math.log(2 * (2 + 1) / 10 / (0 + 2))  # the letter again, the space
    assert spelling.excess("zz") == pytest.approx((-first - sum(rest) + 3 * elsewhere) / (3 + 10))
    assert spelling.spread == 0 and spelling.limit(0.5) == 0.5


def test_a_script_of_thousands_of_characters_keeps_unseen_sentences():
    """Most trigrams of an unseen sentence are new there, so the usual surprise must come from unseen sentences too."""
    draw = random.Random(1)
    characters = [chr(0x4E00 + place) for place in range(2000)]
    shares = [1 / (place + 10) for place in range(2000)]
    texts = ["".join(draw.choices(characters, shares, k=draw.randint(8, 20))) for _ in range(3000)]
    spelling = SpellingModel(texts[:2000])
    limit = spelling.limit(Rules().spelling)
    for some in (texts[:2000], texts[2000:]):
        assert sum(spelling.excess(text) > limit for text in some) < 0.005 * len(some)


def test_a_corpus_of_varied_sentences_has_a_higher_limit():
    texts = ["aaaaaaaaaa", *("abcdefghij"[place:] * 2 for place in range(10))]
    spelling = SpellingModel(texts)
    assert spelling.spread > 0
    assert spelling.limit(2 * spelling.spread) == spelling.limit(0) == 3 * spelling.spread
    assert spelling.limit(4 * spelling.spread) == 4 * spelling.spread


def test_a_side_in_a_third_language_has_a_surprising_spelling():
    english, french = ((DEMO / f"validation.{side}").read_text().splitlines() for side in ("en", "fr"))
    usual = CorpusStatistics.of(zip(english, french, strict=True))
    assert hit(english[0], french[0], usual, spelling=1.0) is None
    strange = "Der Hund ist heute sehr groß und schwarz ."
    excess = usual.target_spelling.excess(strange)
    assert hit(english[0], strange, usual, spelling=excess - 0.01) == Fault("spelling", excess, excess - 0.01)
    assert hit(english[0], strange, usual, spelling=excess + 0.01) is None
    assert hit(french[2], french[2], usual, spelling=1.0).rule == "spelling"


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_a_frequent_third_language_is_found(share):
    """English in a French corpus: a model of the whole corpus would find a tenth of English usual."""
    french, english = ((DEMO / f"validation.{side}").read_text().splitlines() for side in ("fr", "en"))
    strangers = set(range(0, len(french), round(1 / share)))
    mixed = [english[i] if i in strangers else text for i, text in enumerate(french)]
    spelling = SpellingModel(mixed)
    found = {i for i, text in enumerate(mixed) if spelling.excess(text) > spelling.limit(Rules().spelling)}
    assert len(found & strangers) > 0.8 * len(strangers)
    assert len(found - strangers) <= 1


def sentences(language: str) -> list[str]:
    """A hundred everyday sentences; line by line the languages are translations of each other."""
    with open(Path(__file__).with_name("clean_sentences.tsv"), encoding="utf-8", newline="") as file:
        return [row[language] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


LANGUAGES = ["ja", "zh", "ar", "hi", "th", "tr", "fi", "ru", "el"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("copies", [1, 4])
def test_good_sentences_of_any_language_are_kept(language, copies):
    """Also where a small corpus repeats them, and where some sentences have spaces between characters."""
    english, other = sentences("en"), sentences(language)
    spaced = [" ".join(text) if language in ("ja", "zh", "th") and i % 9 == 0 else text for i, text in enumerate(other)]
    for targets in (other, spaced):
        pairs = [(s.encode(), t.encode()) for s, t in zip(english, targets, strict=True)] * copies
        for corpus in (pairs, [(target, source) for source, target in pairs], pairs[: 10 * copies]):
            rules = Rules(duplicates="off")
            assert [(pair[1].decode(), fault) for pair, fault in judge(corpus, rules) if fault] == []


def test_a_name_among_usual_words_is_no_other_language():
    """Both sentences surprise equally; only one is surprising without its most surprising word."""
    spelling = SpellingModel((DEMO / "validation.fr").read_text().splitlines())
    limit = spelling.limit(Rules().spelling)
    name = "Le chien noir de Mxyzptlkqw Zwxqkj est grand ."
    german = "Der Hund ist heute sehr groß und schwarz ."
    assert spelling.is_sure
    assert spelling.excess(name) > limit and spelling.excess(german) > limit
    assert spelling.excess_without_names(name) < 0.3 * limit < spelling.excess_without_names(german)


def test_spelling_is_silent_in_a_small_corpus():
    french = (DEMO / "validation.fr").read_text().splitlines()
    english = (DEMO / "validation.en").read_text().splitlines()
    for count, rule in ((50, None), (500, "spelling")):
        usual = CorpusStatistics.of(zip(english[:count], french[:count], strict=True))
        assert usual.target_spelling.is_sure == (rule is not None)
        fault = hit(english[0], "Der Hund ist heute sehr groß und schwarz .", usual, spelling=1.0)
        assert (fault and fault.rule) == rule


def test_digits_without_a_partner_are_a_fault():
    assert hit("at 12,500 in 2 days", "à 12 500 en 2 jours", numbers=True) is None
    assert hit("on 5/12", "le 12/5", numbers=True) is None
    assert hit("২", "2", numbers=True) is None
    assert hit("2 men", "deux hommes", numbers=True) == Fault("numbers", 1, 0)
    assert hit("men", "les 12 hommes", numbers=True) == Fault("numbers", 2, 0)
    assert hit("2 men", "deux hommes") is None


@pytest.mark.parametrize(
    "of, dropped",
    [("off", []), ("pair", [3]), ("source", [1, 3]), ("target", [2, 3]), ("either", [1, 2, 3])],
)
def test_all_equal_pairs_but_the_first_are_duplicates(of, dropped):
    copies = Duplicates(of)
    pairs = [("a", "x"), ("a", "y"), ("b", "x"), (" a", "x "), ("A", "X"), ("x", "a")]
    assert [i for i, pair in enumerate(pairs) if copies.find(*pair)] == dropped


def test_invalid_text_is_reported_with_its_byte():
    assert invalid((b"a", "é".encode())) is None
    assert invalid((b"a", b"ab\xff")) == Fault("invalid", "target, byte 3")
    assert invalid((b"\xe9", b"\xff")) == Fault("invalid", "source, byte 1")
    pairs = [(b"\xff", b"a"), (b"\xfe", b"a")]
    assert [fault for _, fault in judge(pairs, replace(OFF, duplicates="pair"))] == [None, None]


def test_the_worst_share_exceeds_its_limit():
    scores = [3.0, 1.0, math.nan, 5.0, 2.0]
    limit = score_limit(scores, 0.5)
    pair, empty = (b"a", b"b"), ((b"", b""), Fault("empty", "source"))
    judged = judge_by_scores([(pair, None), empty, *[(pair, None)] * 4], "unusual", scores, limit)
    assert [fault for _, fault in judged] == [
        Fault("unusual", 3.0, 2.0),
        empty[1],
        None,
        None,
        Fault("unusual", 5.0, 2.0),
        None,
    ]
    assert score_limit(scores, 0) == 5
    assert score_limit([1.0] * 4, 0.5) == 1  # equals stay together
    assert score_limit([], 0.5) == -math.inf


@pytest.mark.parametrize(
    "wrong", [{"ratio": 0.5}, {"slack": -1}, {"script": 1.5}, {"sample": 0}, {"language": math.nan}]
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(NmtError, match=f"{next(iter(wrong))} is"):
        Rules(**wrong)


# A corpus


TEXTS = st.one_of(
    st.text(max_size=30).map(str.encode),
    st.binary(max_size=8),
    st.sampled_from([b"", b" ", b"the same long sentence twice", "слово за слово".encode(), b"a " * 120]),
)


@given(st.lists(st.tuples(TEXTS, TEXTS)), st.integers(1, 5), st.sampled_from(["off", "pair", "either"]))
def test_every_pair_comes_out_once_unchanged_and_in_order(pairs, sample, duplicates):
    rules = Rules(sample=sample, duplicates=duplicates, numbers=True)
    judged = list(judge(iter(pairs), rules))
    assert [pair for pair, _ in judged] == pairs
    assert all(fault is None or fault.rule in RULE_NAMES for _, fault in judged)
    kept = [pair for pair, fault in judged if fault is None]
    for source, target in kept:
        assert source.decode().strip() and target.decode().strip()
    if duplicates == "pair":
        assert len({(source.decode().strip(), target.decode().strip()) for source, target in kept}) == len(kept)


@given(st.lists(st.tuples(TEXTS, TEXTS)))
def test_without_rules_nothing_is_dropped(pairs):
    assert all(fault is None for _, fault in judge(pairs, OFF))


def test_pairs_are_streamed():
    read = []

    def pairs():
        for number in range(1000):
            read.append(number)
            yield f"sentence {number}".encode(), f"phrase {number}".encode()

    judged = judge(pairs(), Rules(sample=10))
    next(judged)
    assert len(read) == 10
    assert sum(1 for _ in judged) == 999


def test_statistics_are_learned_from_the_whole_corpus():
    pairs = [(f"s{n}".encode(), f"t{n}".encode()) for n in range(100)]
    for count, places in ((100, range(100)), (50, range(0, 100, 2)), (30, range(0, 100, 4)), (1, [0])):
        usual = learn_statistics(iter(pairs), count)
        assert usual.leaning.keys() == {f"{side}{n}" for side in "st" for n in places}
    twins = [(b"Russian", "по-русски".encode())] * 100
    assert [fault for _, fault in judge(twins[:1], Rules(), CorpusStatistics.of([("a", "b")]))][0].rule == "script"
    assert [fault for _, fault in judge(twins[:1], Rules())] == [None]


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().removesuffix(b"\n").split(b"\n")


@pytest.mark.parametrize("name", ["validation", "test", "combinations"])
def test_a_clean_corpus_loses_almost_nothing(name):
    pairs = zip(lines(DEMO / f"{name}.en"), lines(DEMO / f"{name}.fr"), strict=True)
    faults = [fault.rule for _, fault in judge(pairs, Rules()) if fault]
    assert faults == (["spelling"] if name == "test" else [])  # a short sentence with two unique names


def test_exchanged_and_untranslated_sides_are_found_in_the_demo():
    pairs = list(zip(lines(DEMO / "validation.en"), lines(DEMO / "validation.fr"), strict=True))
    pairs[10:20] = [(target, source) for source, target in pairs[10:20]]
    pairs[30:40] = [(source, source) for source, _ in pairs[30:40]]
    found = {i: fault.rule for i, (_, fault) in enumerate(judge(pairs, Rules(identical=0))) if fault}
    assert set(found) == {*range(10, 20), *range(30, 40)}
    assert list(found.values()).count("language") >= 18  # 480 good pairs lack some words
