"""Cleaning a parallel corpus: each rule on both sides of its threshold, and the command from end to end."""

from __future__ import annotations

import csv
import gzip
import io
import math
import random
from dataclasses import replace
from pathlib import Path

import fake_translator
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.cli import main
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


def unpacked(path: str) -> bytes:
    return gzip.decompress(Path(path).read_bytes())


def test_statistics_are_learned_from_the_whole_corpus():
    pairs = [(f"s{n}".encode(), f"t{n}".encode()) for n in range(100)]
    for count, places in ((100, range(100)), (50, range(0, 100, 2)), (30, range(0, 100, 4)), (1, [0])):
        usual = learn_statistics(iter(pairs), count)
        assert usual.leaning.keys() == {f"{side}{n}" for side in "st" for n in places}
    twins = [(b"Russian", "по-русски".encode())] * 100
    assert [fault for _, fault in judge(twins[:1], Rules(), CorpusStatistics.of([("a", "b")]))][0].rule == "script"
    assert [fault for _, fault in judge(twins[:1], Rules())] == [None]


def test_a_pipe_is_read_once(files, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"one\n\nthree\n")))
    Path("t").write_text("un\ndeux\ntrois\n")
    assert main([*files, "--source", "-", "--target", "t"]) == 0
    assert Path("o.txt").read_text() == "un\ntrois\n"
    assert main([*files, "--source", "-", "--target", "t", "--model", "run"]) == 2
    assert "-: can be read only once" in capsys.readouterr().err


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


# The command


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A source and a target of six pairs, two of them good."""
    monkeypatch.chdir(tmp_path)
    source = ["A first  sentence .", "", "A third\tsentence .", "A first  sentence .", "A sentence .", "Fine ."]
    target = ["Une phrase .", "Rien .", "x" * 90, "Une phrase .", "", "Bien ."]
    Path("s.txt").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(source).encode() + b"\r\n")
    with gzip.open("t.gz", "wb") as file:
        file.write("\n".join(target[:4]).encode() + b"\n\xff\n" + target[5].encode())
    return ["clean", "--source", "s.txt", "--target", "t.gz", "--output-source", "o.gz", "--output-target", "o.txt"]


def test_rows_that_are_no_pairs_are_dropped_and_reported_at_their_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("p.tsv").write_text("one\tein\nno tab\ntwo\tzwei\nthree\tdrei\n")
    command = ["clean", "--tsv", "p.tsv", "--output-source", "o.s", "--output-target", "o.t", "--report", "r.tsv"]
    assert main(command) == 0
    assert Path("o.t").read_text() == "ein\nzwei\ndrei\n"
    (row,) = [line.split("\t") for line in Path("r.tsv").read_text().splitlines()[1:]]
    assert row[:2] == ["2", "malformed"] and row[2].startswith("p.tsv, line 2: 1 column, expected at least 2")
    assert "4 pairs read, 3 kept, 1 dropped" in capsys.readouterr().err

    assert main([*command, "--no-malformed"]) == 2
    assert "p.tsv, line 2: 1 column, expected at least 2" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"no tab\n" * 3 + b"a\tb\n")))
    assert main([*command, "--tsv", "-"]) == 2
    assert "standard input, line 1: 1 column" in (said := capsys.readouterr().err) and "(3 of 4 rows" in said
    assert Path("o.t").read_text() == "ein\nzwei\ndrei\n"


@pytest.mark.parametrize("full", ["--output-source", "--output-target", "--report"])
def test_after_a_write_error_all_files_keep_their_content(files, capsys, full):
    Path("r.tsv").write_text("old")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    assert main([*files, "--report", "r.tsv", full, "/dev/full"]) == 2
    assert "/dev/full: No space left on device" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_the_command_writes_good_pairs_and_reports_bad_ones(files, capsys):
    assert main([*files, "--report", "r.tsv"]) == 0
    assert unpacked("o.gz") == b"A first  sentence .\nFine .\n"
    assert Path("o.txt").read_bytes() == b"Une phrase .\nBien .\n"
    with open("r.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert [(row["line"], row["rule"], row["value"], row["target"][:5]) for row in rows] == [
        ("2", "empty", "source", "Rien ."[:5]),
        ("3", "ratio", rows[1]["value"], "xxxxx"),
        ("4", "duplicate", "pair", "Une p"),
        ("5", "invalid", "target, byte 1", "\ufffd"),
    ]
    assert rows[1]["source"] == "A third sentence ." and float(rows[1]["value"]) > float(rows[1]["threshold"]) == 1.5
    said = capsys.readouterr().err
    assert "nmt: 6 pairs read, 2 kept, 4 dropped\n" in said
    for rule in ("empty", "ratio", "duplicate", "invalid"):
        assert f"nmt:   {rule:9}         1  (16.67%)\n" in said
    assert said.endswith("nmt: the kept pairs are in o.gz and o.txt; the dropped pairs are in r.tsv\n")


def test_many_invalid_pairs_may_have_another_encoding(files, capsys):
    """One bad line of a hundred has other reasons."""
    command = "clean --source t.fr --target t.en --output-source o.fr --output-target o.en"
    remedy = "not valid UTF-8: if the text has another encoding, convert it to UTF-8 (if it is Latin-1: iconv "
    for bad, warned in ((1, False), (2, True)):
        lines = [f"la rue {number} \u00e9tait vide" for number in range(100)]
        text = [line.encode("latin1" if number < bad else "utf-8") for number, line in enumerate(lines)]
        Path("t.fr").write_bytes(b"".join(line + b"\n" for line in text))
        Path("t.en").write_text("".join(f"the street {number} was empty\n" for number in range(100)))
        assert main(command.split()) == 0
        assert (f"nmt: {bad} pairs {remedy}" in capsys.readouterr().err) == warned


def test_every_rule_can_be_switched_off(files):
    off = "--no-invalid --no-empty --longest 0 --ratio 0 --identical 0 --script 0 --language 0 --spelling 0"
    off += " --duplicates off"
    assert main([*files, *off.split()]) == 0
    assert unpacked("o.gz").count(b"\n") == 6
    assert Path("o.txt").read_bytes() == unpacked("t.gz") + b"\n"


class Model(fake_translator.Translator):
    """A translator that finds line n less probable for larger n: n nats per piece."""

    def align(self, sources, targets):
        for pair in super().align(sources, targets):
            yield replace(pair, log_probability=-int(pair.source.strip("x")) * len(pair.pieces))


@pytest.fixture
def modelled(tmp_path, monkeypatch):
    """A hundred pairs, each with its number; the targets of lines 1 and 2 are empty."""
    fake_translator.install(monkeypatch.setattr)
    monkeypatch.setattr("nmt.cli.clean.load_models", lambda arguments: Model())
    monkeypatch.chdir(tmp_path)
    Path("s").write_text("".join(f"x{n}\n" for n in range(1, 101)))
    Path("t").write_text("\n\n" + "".join(f"y{n}\n" for n in range(3, 101)))
    command = "clean --source s --target t --output-source o.s --output-target o.t --report r --model run"
    return command.split()


@pytest.mark.parametrize("flags, kept", [([], 93), (["--worst", "0.5"], 49), (["--worst", "0"], 98)])
def test_a_model_drops_the_most_unusual_pairs_that_the_rules_keep(modelled, flags, kept):
    assert main([*modelled, *flags]) == 0
    assert Path("o.t").read_text().splitlines() == [f"y{n}" for n in range(3, 3 + kept)]
    rows = [row.split("\t") for row in Path("r").read_text().splitlines()[1:]]
    assert [row[:2] for row in rows] == [
        [str(n), rule] for n, rule in [(1, "empty"), (2, "empty"), *((n, "unusual") for n in range(3 + kept, 101))]
    ]


def test_the_score_equals_that_of_explain(modelled):
    """Lines 3 to 100: the median is 51.5 nats per piece, and half of the lines are within 24.5 of it."""
    limit = 0.6745 * (80 - 51.5) / 24.5
    assert main([*modelled, "--threshold", str(limit + 0.001)]) == 0
    rows = [row.split("\t") for row in Path("r").read_text().splitlines()[3:]]
    assert [int(row[0]) for row in rows] == list(range(81, 101))
    assert float(rows[0][2]) == pytest.approx(0.6745 * (81 - 51.5) / 24.5, abs=1e-3)


def test_a_model_can_judge_by_likelihood_alone(modelled):
    assert main([*modelled, "--by", "unlikely", "--threshold", "80"]) == 0
    rows = [row.split("\t")[:4] for row in Path("r").read_text().splitlines()[3:]]
    assert rows == [[str(n), "unlikely", str(n), "80"] for n in range(81, 101)]


def test_a_model_ignores_pairs_with_an_empty_side(modelled):
    assert main([*modelled, "--no-empty", "--worst", "0.5", "--duplicates", "target"]) == 0
    assert Path("o.t").read_text().splitlines() == ["", "", *(f"y{n}" for n in range(3, 52))]


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--target", "short"], "s.txt has 6 lines, short has 1 line:"),
        (["--source", "missing"], "missing: No such file or directory"),
        (["--output-source", "s.txt"], "s.txt: is named twice"),
        (["--output-source", "./linked"], "./linked: is named twice"),
        (["--output-target", "o.gz"], "o.gz: is named twice"),
        (["--report", "t.gz"], "t.gz: is named twice"),
        (["--output-source", "nowhere/o"], "nowhere: no such directory"),
        (["--worst", "0.1"], "--worst is for the pairs that a model drops"),
        (["--worst", "2", "--model", "run"], "expected a share"),
        (["--worst", "0.1", "--threshold", "-1", "--model", "run"], "not allowed with"),
        (["--model", "run", "--source", "missing"], "missing: No such file or directory"),
        (["--model", "run"], "run: no such run directory"),
        (["--ratio", "0.5"], "ratio is 0.5"),
    ],
)
def test_user_errors_are_one_line_and_nothing_is_written(files, flags, message, capsys):
    Path("short").write_text("one\n")
    Path("linked").symlink_to("s.txt")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert main([*files, *flags]) == 2
    said = capsys.readouterr().err
    assert message in said and said.count("\n") == 1
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
