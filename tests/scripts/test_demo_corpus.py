"""The demo corpus: its files, its splits, and the linguistics of the grammar that made it."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from pathlib import Path

import pytest

from corpora import make_demo_corpus
from corpora.demo_grammar import (
    baselines,
    clauses,
    derivation,
    modifiers,
    predicates,
    sentences,
    statistics,
    words,
)
from corpora.demo_grammar import corpus as corpus_module
from corpora.demo_grammar import lexicon as lexicon_module
from corpora.demo_grammar import nounphrases as nps

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "data" / "demo"
LEXICON = lexicon_module.Lexicon(DEMO / "lexicon")
SETS = {"train": 20_000, "validation": 500, "test": 500, "combinations": 500}
PRESENT, PROGRESSIVE, PAST, PERFECT, WAS_DOING = clauses.Tense


@pytest.fixture(scope="module")
def corpus() -> dict[str, list[tuple[str, str, str]]]:
    """The committed files: (English, French, links) of every set."""
    suffixes = ("en", "fr", "align")
    return {
        name: list(
            zip(*((DEMO / f"{name}.{s}").read_text(encoding="utf-8").splitlines() for s in suffixes), strict=True)
        )
        for name in SETS
    }


# ---------------------------------------------------------------- files and splits


@pytest.mark.slow
def test_regenerates_byte_for_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_demo_corpus.main(["--output", str(tmp_path)])
    assert str(tmp_path) in capsys.readouterr().out
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(f"{name}.{suffix}" for name in SETS for suffix in ("en", "fr", "align"))
    for name in made:
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes(), name


def test_counts(corpus) -> None:
    assert {name: len(pairs) for name, pairs in corpus.items()} == SETS
    assert LEXICON.size() >= 800
    assert statistics.production_count() >= 40


def test_tokens_and_lengths(corpus) -> None:
    for pairs in corpus.values():
        for english, french, _ in pairs:
            assert 4 <= len(english.split()) <= 18
            for sentence in (english, french):
                assert re.fullmatch(r"\S+( \S+)* [.?]", sentence)
                assert sentence[0].isupper()
                assert unicodedata.normalize("NFC", sentence) == sentence


def test_links(corpus) -> None:
    inserted = {"les", "la", "le", "l'", "que", "qu'"}  # articles of generic nouns and dates, left out relatives
    unlinked_english = {"to", "a", "an", "old", "on"}
    for pairs in corpus.values():
        for english, french, line in pairs:
            source, target = english.split(), french.split()
            links = [tuple(map(int, link.split("-"))) for link in line.split()]
            assert links == sorted(set(links))
            assert all(i < len(source) and j < len(target) for i, j in links)
            assert {word for i, word in enumerate(source) if i not in {i for i, _ in links}} <= unlinked_english
            assert {word.lower() for j, word in enumerate(target) if j not in {j for _, j in links}} <= inserted


def test_one_reference_per_source(corpus) -> None:
    french_of: dict[str, str] = {}
    for english, french, _ in (pair for pairs in corpus.values() for pair in pairs):
        assert french_of.setdefault(english, french) == french


def test_grammar_is_a_function() -> None:
    """An English sentence always has the same translation and links, even before duplicates are removed."""
    rng, pairs = random.Random(77), {}
    for _ in range(6000):
        pair, _ = corpus_module.derive(LEXICON, rng)
        assert pairs.setdefault(pair.english, pair) == pair


@pytest.mark.parametrize("side", [0, 1], ids=["English", "French"])
def test_splits_are_disjoint(corpus, side: int) -> None:
    seen: set[str] = set()
    for pairs in corpus.values():
        column = [pair[side] for pair in pairs]
        assert len(set(column)) == len(column)
        assert not seen & set(column)
        seen |= set(column)


@pytest.mark.parametrize("side", [0, 1], ids=["English", "French"])
def test_every_form_of_the_test_sets_is_known(corpus, side: int) -> None:
    count = Counter(word for pair in corpus["train"] for word in pair[side].split())
    for name in ("validation", "test", "combinations"):
        assert min(count[word] for pair in corpus[name] for word in pair[side].split()) >= 3


@pytest.mark.slow
def test_combinations_are_unseen(corpus) -> None:
    """Replay the derivations: reserved lemma pairs occur in every sentence of their set and nowhere else."""
    home = {pair[0]: name for name, pairs in corpus.items() for pair in pairs}
    for pair, reserved in corpus_module.stream(LEXICON, seed=1):
        if pair.english in home:
            assert reserved == (home.pop(pair.english) == "combinations"), pair.english
        if not home:
            break


def test_reserved_adjectives_and_nouns_never_meet_in_train(corpus) -> None:
    """No reserved adjective stands right before its noun in the training text."""
    reserved = {
        f" {adjective.english} {form} "
        for adjective in LEXICON.adjectives
        for noun in LEXICON.nouns
        for form in (noun.english, noun.plural)
        if corpus_module.is_reserved(("adjective-noun", adjective.english, noun.english), 1)
    }
    for name in ("train", "validation", "test"):
        for english, _, _ in corpus[name]:
            tokens = english.split()
            assert not any(f" {a} {b} " in reserved for a, b in zip(tokens, tokens[1:], strict=False)), english


def test_lexicon_selects_only_known_kinds() -> None:
    known = {noun.kind for noun in LEXICON.nouns} | {noun.english for noun in LEXICON.nouns} | {"city", "cityname"}
    for verb in LEXICON.verbs:
        assert verb.subject | verb.object <= known, verb.english
        assert len(verb.present) == len(verb.imperfect) == 5
    for adjective in LEXICON.adjectives:
        assert adjective.kinds <= known | {"drink"}, adjective.english
    for row in LEXICON.tables["prepositions"]:
        assert lexicon_module.expand_kinds(row["objects"]) <= known


def test_lexicon_has_no_ambiguous_lemma() -> None:
    for table in ("nouns", "adjectives", "names", "numbers", "prepositions", "determiners", "adverbs"):
        lemmas = [row["english"] for row in LEXICON.tables[table]]
        assert len(set(lemmas)) == len(lemmas), table


# ---------------------------------------------------------------- the command line


@pytest.mark.parametrize("command", ["--train 0", "--test x", "--nonsense", "--train 5 --validation 3 --test 3"])
def test_bad_arguments(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        make_demo_corpus.main(["--output", str(tmp_path), *command.split()])
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_small_corpus_and_another_seed(tmp_path: Path) -> None:
    make_demo_corpus.main(
        ["--output", str(tmp_path), "--train", "1500", "--validation", "20", "--test", "10", "--seed", "9"]
    )
    assert len((tmp_path / "validation.en").read_text(encoding="utf-8").splitlines()) == 20
    assert len((tmp_path / "combinations.align").read_text(encoding="utf-8").splitlines()) == 10


def test_baseline_parts() -> None:
    assert baselines.diagonal(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    gold = [{(0, 0), (1, 1)}]
    assert baselines.alignment_error_rate(gold, gold) == 0
    assert baselines.alignment_error_rate([{(0, 0), (1, 0)}], gold) == 0.5


# ---------------------------------------------------------------- linguistics


class Scripted(derivation.Derivation):
    """A derivation with given choices; a chance that is not given is false."""

    def __init__(self, *choices: object) -> None:
        super().__init__(LEXICON, random.Random(0))
        self.choices = list(choices)

    def chance(self, percent: int) -> bool:
        return bool(self.choices) and self.choices[0] is True and self.choices.pop(0)

    def choose(self, *_: object, **__: object):
        return self.choices.pop(0)

    pick = even = noun = adjective = verb = name = row = choose


def noun(english: str):
    return next(noun for noun in LEXICON.nouns if noun.english == english)


def adjective(english: str):
    return next(adjective for adjective in LEXICON.adjectives if adjective.english == english)


def pronoun(english: str):
    return next(row for row in LEXICON.tables["pronouns"] if row["english"] == english)


def name(english: str):
    return nps.name_phrase(next(name for name in LEXICON.names if name.english == english))


def he(english: str = "he"):
    return nps.pronoun_subject(pronoun(english))


def np(text: str, plural: bool = False, negated: bool = False):
    """A noun phrase from "the small black dog" (the noun in the singular, at most two adjectives)."""
    determiner, *adjectives, head = text.split()
    choices = [choice for word in adjectives for choice in (True, adjective(word))]
    return nps.with_determiner(Scripted(*choices), determiner, noun(head), plural, negated)


def clause(subject, predicate, tense=PRESENT, negator="", chain=None, inverted=False):
    """A whole sentence."""
    predicate.chain = LEXICON.verb(*chain) if chain else None
    setting = clauses.Setting(negator=negator)
    phrase = clauses.realise(Scripted(), subject, predicate, setting, tense, inverted)
    return sentences.finished(phrase, "?" if inverted else ".")


def see(object_, verb: str = "see"):
    return clauses.Predicate(LEXICON.verb(verb, "object"), object_.english, object_.french)


def see_it(which: str, verb: str = "see"):
    word, clitic, agreement = predicates.direct_clitic(pronoun(which))
    return clauses.Predicate(LEXICON.verb(verb, "object"), [word], [], [clitic], agreement)


def act(verb: str):
    return clauses.Predicate(LEXICON.verb(verb, "none"))


def check(pair, english: str, french: str, links: str = "") -> None:
    assert (pair.english, pair.french) == (english, french)
    if links:
        assert pair.pharaoh() == links


NOUN_PHRASES = [
    (np("the man"), "l' homme"),
    (np("the hero"), "le héros"),
    (np("the owl", plural=True), "les hiboux"),
    (np("this tree"), "cet arbre"),
    (np("this hero"), "ce héros"),
    (np("this school"), "cette école"),
    (np("my story"), "mon histoire"),
    (np("my beautiful story"), "ma belle histoire"),
    (np("my axe"), "ma hache"),
    (np("the beautiful bird"), "le bel oiseau"),
    (np("the beautiful bird", plural=True), "les beaux oiseaux"),
    (np("a beautiful hero"), "un beau héros"),
    (np("the old man"), "le vieil homme"),
    (np("the old friend", plural=True), "les vieux amis"),
    (np("a new hotel"), "un nouvel hôtel"),
    (np("a white dress"), "une robe blanche"),
    (np("the small black dog"), "le petit chien noir"),
    (np("a big red car"), "une grande voiture rouge"),
    (np("the royal castle", plural=True), "les châteaux royaux"),
    (np("some small house", plural=True), "de petites maisons"),
    (np("some white house", plural=True), "des maisons blanches"),
    (np("some huge tree", plural=True), "d' énormes arbres"),
    (np("some bread"), "du pain"),
    (np("some water"), "de l' eau"),
    (np("some meat"), "de la viande"),
    (np("any water", negated=True), "d' eau"),
    (np("many apple", plural=True), "beaucoup de pommes"),
    (np("many orange", plural=True), "beaucoup d' oranges"),
    (np("the potato", plural=True), "les pommes de terre"),
    (np("a former fireman"), "un ancien pompier"),
    (np("the Greek woman", plural=True), "les femmes grecques"),
    (np("both horse", plural=True), "les deux chevaux"),
]


@pytest.mark.parametrize(("phrase", "french"), NOUN_PHRASES, ids=[french for _, french in NOUN_PHRASES])
def test_noun_phrases(phrase, french: str) -> None:
    pair = words.Pair.of(phrase.english, phrase.french)
    assert pair.french == french[0].upper() + french[1:]


def test_numbers() -> None:
    def counted(number: str, head: str) -> str:
        (row,) = LEXICON.rows("numbers", english=number)
        phrase = nps.number(Scripted(row), noun(head), False, False)
        return words.Pair.of(phrase.english, phrase.french).french

    assert counted("twenty-one", "house") == "Vingt et une maisons"
    assert counted("twenty-one", "horse") == "Vingt et un chevaux"
    assert counted("eighty", "key") == "Quatre-vingts clés"
    assert counted("eighty-one", "key") == "Quatre-vingt-une clés"
    assert counted("seventy-one", "egg") == "Soixante et onze œufs"
    assert counted("two hundred", "bird") == "Deux cents oiseaux"


def test_elision_and_contraction() -> None:
    def surface(*texts: str) -> list[str]:
        underlying = [words.FrenchWord(t.strip("*"), article=t.startswith("*")) for t in texts]
        return [word.text for word in words.contract(words.elide(underlying))]

    assert surface("de", "*le", "chien") == ["du", "chien"]
    assert surface("de", "*le", "homme") == ["de", "l'", "homme"]
    assert surface("à", "*les", "amis") == ["aux", "amis"]
    assert surface("de", "le", "voir") == ["de", "le", "voir"]
    assert surface("si", "il", "pleut") == ["s'", "il", "pleut"]
    assert surface("si", "elle", "dort") == ["si", "elle", "dort"]
    assert surface("parce", "que", "Anne") == ["parce", "qu'", "Anne"]
    assert surface("ne", "y", "a") == ["n'", "y", "a"]


def test_negation_with_object_pronoun_and_agreement() -> None:
    not_seen = clause(name("Marie"), see_it("they", "eat"), PAST, "not")
    check(not_seen, "Marie did not eat them .", "Marie ne les a pas mangés .", "0-0 1-3 2-1 2-4 3-5 4-2 5-6")
    check(clause(he("I"), see_it("she"), PAST), "I saw her .", "Je l' ai vue .", "0-0 1-2 1-3 2-1 3-4")
    check(clause(he(), see_it("I", "love"), PRESENT, "no longer"), "He no longer loves me .", "Il ne m' adore plus .")
    check(clause(he("they"), see_it("we", "help"), PERFECT), "They have helped us .", "Ils nous ont aidés .")


def test_negation_and_do_support() -> None:
    pair = clause(name("Paul"), see(np("the dog")), PRESENT, "not")
    check(pair, "Paul does not see the dog .", "Paul ne voit pas le chien .", "0-0 1-2 2-1 2-3 3-2 4-4 5-5 6-6")
    pair = clause(he("you"), act("swim"), PRESENT, "not", chain=("can", "modal"))
    check(pair, "You cannot swim .", "Vous ne pouvez pas nager .", "0-0 1-1 1-2 1-3 2-4 3-5")
    check(
        clause(he("she"), see(np("a dog", negated=True)), PAST, "never"),
        "She never saw a dog .",
        "Elle n' a jamais vu de chien .",
    )


def test_subject_agreement_of_etre_verbs() -> None:
    check(clause(name("Marie"), act("leave"), PAST), "Marie left .", "Marie est partie .", "0-0 1-1 1-2 2-3")
    check(clause(he("they"), act("arrive"), PAST), "They arrived .", "Ils sont arrivés .")
    check(
        clause(np("the queen", plural=True), act("sit down"), PAST),
        "The queens sat down .",
        "Les reines se sont assises .",
    )
    check(clause(he("I"), act("get up"), PRESENT, chain=("must", "modal")), "I must get up .", "Je dois me lever .")
    check(clause(he("we"), act("hurry"), PAST, "not"), "We did not hurry .", "Nous ne nous sommes pas dépêchés .")


def test_tenses() -> None:
    check(clause(he(), act("sleep"), PROGRESSIVE), "He is sleeping .", "Il dort .", "0-0 1-1 2-1 3-2")
    check(clause(he(), act("swim"), WAS_DOING), "He was swimming .", "Il nageait .", "0-0 1-1 2-1 3-2")
    check(
        clause(he(), act("swim"), chain=("be going", "future")),
        "He is going to swim .",
        "Il va nager .",
        "0-0 1-1 2-1 4-2 5-3",
    )
    check(clause(he("they"), see_it("he", "know"), PAST), "They knew him .", "Ils le connaissaient .")
    check(
        clause(he(), see_it("she"), PAST, chain=("refuse", "to")),
        "He refused to see her .",
        "Il a refusé de la voir .",
        "0-0 1-1 1-2 2-3 3-5 4-4 5-6",
    )


def test_questions() -> None:
    pair = clause(he(), see(np("the dog")), PAST, inverted=True)
    check(pair, "Did he see the dog ?", "Est-ce qu' il a vu le chien ?", "0-0 0-1 0-3 1-2 2-4 3-5 4-6 5-7")
    pair = clause(np("the child", plural=True), act("sleep"), PROGRESSIVE, inverted=True)
    check(pair, "Are the children sleeping ?", "Est-ce que les enfants dorment ?")


def test_dative_pronouns_and_their_order() -> None:
    give, talk = LEXICON.verb("give", "gift"), LEXICON.verb("talk to", "dative")
    setting = clauses.Setting()
    pair = clause(name("Luc"), predicates.dative_pronoun(Scripted(talk, pronoun("she")), he(), setting))
    check(pair, "Luc talks to her .", "Luc lui parle .", "0-0 1-2 2-1 3-1 4-3")
    to_him = predicates.two_pronouns(Scripted(give, pronoun("he")), he(), setting)
    check(clause(he("she"), to_him, PAST, "not"), "She did not give them to him .", "Elle ne les lui a pas donnés .")
    to_me = predicates.two_pronouns(Scripted(give, pronoun("I")), he(), setting)
    check(clause(he("she"), to_me), "She gives them to me .", "Elle me les donne .", "0-0 1-3 2-2 3-1 4-1 5-4")


def test_government() -> None:
    def sentence(verb: str, phrase) -> words.Pair:
        predicate = clauses.Predicate(LEXICON.verb(verb, "oblique"), phrase.english)
        preposition = words.french_words(predicate.verb.preposition, predicate.preposition_sources)
        predicate.french = [*preposition, *phrase.french]
        return clause(he(), predicate)

    check(
        sentence("need", np("the car")),
        "He needs the car .",
        "Il a besoin de la voiture .",
        "0-0 1-1 1-2 1-3 2-4 3-5 4-6",
    )
    check(sentence("play", np("the piano")), "He plays the piano .", "Il joue du piano .", "0-0 1-1 1-2 2-2 3-3 4-4")
    check(
        sentence("think about", np("the price", plural=True)),
        "He thinks about the prices .",
        "Il pense aux prix .",
        "0-0 1-1 2-2 3-2 4-3 5-4",
    )
    check(sentence("remember", np("the hotel")), "He remembers the hotel .", "Il se souvient de l' hôtel .")
    check(
        clause(he("I"), see(np("a key"), "look for")),
        "I look for a key .",
        "Je cherche une clé .",
        "0-0 1-1 2-1 3-2 4-3 5-4",
    )


def test_relative_clauses() -> None:
    apple, eat = np("the apple"), LEXICON.verb("eat", "object")
    whole = modifiers.object_relative(Scripted(pronoun("he"), eat, "past", False), apple)
    assert [word.text for word in whole.english] == ["the", "apple", "that", "he", "ate"]
    assert words.Pair.of(whole.english, whole.french).french == "La pomme qu' il a mangée"


def test_predicates_with_be() -> None:
    happy = predicates.adjectival(Scripted(adjective("happy")), name("Julie"), clauses.Setting())
    check(
        clause(name("Julie"), happy, PAST, "not"),
        "Julie was not happy .",
        "Julie n' était pas heureuse .",
        "0-0 1-2 2-1 2-3 3-4 4-5",
    )
    taller = predicates.comparison(Scripted(adjective("tall"), True, pronoun("she")), he("they"), clauses.Setting())
    check(
        clause(he("they"), taller),
        "They are taller than her .",
        "Ils sont plus grands qu' elle .",
        "0-0 1-1 2-2 2-3 3-4 4-5 5-6",
    )
    (row,) = LEXICON.rows("numbers", english="twenty-one")
    aged = predicates.age(Scripted(row), he("she"), clauses.Setting())
    check(
        clause(he("she"), aged),
        "She is twenty-one years old .",
        "Elle a vingt et un ans .",
        "0-0 1-1 2-2 2-3 2-4 3-5 5-6",
    )
    afraid = predicates.state(Scripted(LEXICON.rows("states", english="afraid")[0]), he("I"), clauses.Setting())
    check(clause(he("I"), afraid, PAST), "I was afraid .", "J' avais peur .", "0-0 1-1 2-2 3-3")


def test_no_liaison_form_in_predicates() -> None:
    young_and_old = [adjective("old").agree(False, False, ()), words.FrenchWord("et")]
    assert words.elide(young_and_old)[0].text == "vieil"
    _, word = predicates.predicate_adjective(Scripted(adjective("old")), he())
    assert words.elide([word, words.FrenchWord("et")])[0].text == "vieux"


def test_missing_turns_the_clause_around() -> None:
    miss = LEXICON.verb("miss", "inverted")
    phrase = sentences.turned_around(Scripted(), he("I"), name("Paul"), miss, clauses.Setting())
    check(sentences.finished(phrase, "."), "I miss Paul .", "Paul me manque .", "0-1 1-2 2-0 3-3")
    phrase = sentences.turned_around(Scripted(), np("the child"), name("Marie"), miss, clauses.Setting(negator="not"))
    check(
        sentences.finished(phrase, "."),
        "The child does not miss Marie .",
        "Marie ne manque pas à l' enfant .",
        "0-5 1-6 2-2 3-1 3-3 4-2 4-4 5-0 6-7",
    )


def test_reference_follows_the_gender_of_the_antecedent() -> None:
    pears = sentences.reference(np("the pear", plural=True), "subject")
    assert (pears["english"], pears["subject"], pears["gender"]) == ("they", "elles", "f")
    assert sentences.reference(np("the key"), "object")["direct"] == "la"
    assert sentences.reference(np("the book"), "object")["direct"] == "le"
