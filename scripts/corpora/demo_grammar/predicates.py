"""Predicates: objects of verbs, with pronoun objects in front of the French verb, and predicates with "be"."""

from __future__ import annotations

from dataclasses import replace

from .clauses import Phrase, Predicate, Setting
from .derivation import Blocked, Derivation, production
from .lexicon import Noun, Row, Verb
from .nounphrases import PERSON, NounPhrase, modified, name_phrase, numeral, with_determiner
from .words import EnglishWord, FrenchWord, english_words, french_words

# Verbs of liking take a whole class as their object: likes dogs -> aime les chiens.
GENERIC_OBJECT = ("like", "love", "hate")


def noun_object(d: Derivation, verb: Verb, setting: Setting) -> NounPhrase:
    """A direct object that the verb selects."""
    if "city" in verb.object and d.chance(35):
        phrase = name_phrase(d.name("cityname"))
    elif "person" in verb.object and d.chance(20):
        phrase = name_phrase(d.name("name"))
    else:
        noun = d.noun(verb.object)
        if verb.english in GENERIC_OBJECT and d.chance(40):
            phrase = generic(d, noun)
        elif verb.english in GENERIC_OBJECT or (setting.negated and noun.fits(PERSON)) or d.chance(52):
            phrase = d.expand("Definite", noun)
        else:
            phrase = d.expand("Indefinite", noun, setting.negated, setting.question)
        if not setting.negated and verb.frame != "gift":  # a recipient still follows a gift
            phrase = modified(d, phrase)
    d.combine("verb-object", verb.english, phrase.head)
    return phrase


def generic(d: Derivation, noun: Noun) -> NounPhrase:
    """Dogs -> les chiens, bread -> le pain: the article has no counterpart."""
    phrase = with_determiner(d, "the", noun, not noun.mass)
    the = phrase.english.pop(0)
    phrase.french[0].sources = tuple(word for word in phrase.french[0].sources if word is not the)
    return phrase


def other_person(d: Derivation, subject: NounPhrase) -> Row:
    """An object pronoun that does not refer to the subject."""
    row = d.even(d.lexicon.tables["pronouns"])
    reflexive = row["person"] != "3" and int(row["person"]) == subject.person
    if reflexive or (row["english"] == "they" and not d.free_they):
        raise Blocked
    return row


def direct_clitic(row: Row) -> tuple[EnglishWord, FrenchWord, tuple[bool, bool]]:
    """A direct object pronoun with the agreement that it causes."""
    word = EnglishWord(row["english_object"])
    return word, FrenchWord(row["direct"], (word,)), (row["gender"] == "f", row["number"] == "plural")


def stressed(row: Row) -> Phrase:
    """A pronoun after a preposition."""
    word = EnglishWord(row["english_object"])
    return Phrase([word], [FrenchWord(row["stressed"], (word,))])


@production("Predicate", 17)
def intransitive(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Sleeps, gets up."""
    return Predicate(d.verb(["none"], subject.kinds))


@production("Predicate", 34)
def transitive(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Sees the dog."""
    verb = d.verb(["object"], subject.kinds)
    phrase = noun_object(d, verb, setting)
    return Predicate(verb, phrase.english, phrase.french)


@production("Predicate", 14)
def transitive_pronoun(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Sees him -> le voit; a verb that cannot have a person as its object only takes "them"."""
    verb = d.verb(["object"], subject.kinds)
    row = other_person(d, subject)
    if verb.english == "have" or ("person" not in verb.object and row["english"] != "they"):
        raise Blocked
    word, clitic, agreement = direct_clitic(row)
    return Predicate(verb, [word], [], [clitic], agreement)


@production("Predicate", 2)
def nothing(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Sees nothing -> ne voit rien."""
    if setting.negated or setting.question:
        raise Blocked
    word = EnglishWord("nothing")
    return Predicate(d.verb(["object"], subject.kinds), [word], nothing=word)


@production("Predicate", 6)
def dative(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Answers the boy -> répond au garçon."""
    verb = d.verb(["dative"], subject.kinds)
    phrase = person_phrase(d)
    predicate = Predicate(verb, phrase.english)
    predicate.french = [FrenchWord("à", predicate.preposition_sources), *phrase.french]
    d.combine("verb-object", verb.english, phrase.head)
    return predicate


@production("Predicate", 5)
def dative_pronoun(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Talks to her -> lui parle."""
    verb = d.verb(["dative"], subject.kinds)
    row = other_person(d, subject)
    word = EnglishWord(row["english_object"])
    predicate = Predicate(verb, [word])
    predicate.clitics = [FrenchWord(row["dative"], (*predicate.particles[-1:], word))]
    return predicate


def person_phrase(d: Derivation) -> NounPhrase:
    """A person who is given, told or answered something."""
    return name_phrase(d.name("name")) if d.chance(40) else d.expand("Definite", d.noun(PERSON))


@production("Predicate", 6)
def gift(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Gives a book to the boy -> donne un livre au garçon."""
    verb = d.verb(["gift"], subject.kinds)
    phrase, recipient, to = noun_object(d, verb, setting), person_phrase(d), EnglishWord("to")
    return Predicate(
        verb,
        [*phrase.english, to, *recipient.english],
        [*phrase.french, FrenchWord("à", (to,)), *recipient.french],
    )


@production("Predicate", 5)
def gift_to_pronoun(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Gives the book to her -> lui donne le livre."""
    verb = d.verb(["gift"], subject.kinds)
    phrase, row = noun_object(d, verb, setting), other_person(d, subject)
    to, word = english_words(f"to {row['english_object']}")
    return Predicate(verb, [*phrase.english, to, word], phrase.french, [FrenchWord(row["dative"], (to, word))])


@production("Predicate", 3)
def two_pronouns(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Gives them to me -> me les donne, but gives them to him -> les lui donne."""
    verb = d.verb(["gift"], subject.kinds)
    (they,) = d.lexicon.rows("pronouns", english="they")
    row = other_person(d, subject)
    if not d.free_they or row is they:
        raise Blocked
    direct, clitic, agreement = direct_clitic(they)
    to, word = english_words(f"to {row['english_object']}")
    indirect = FrenchWord(row["dative"], (to, word))
    clitics = [clitic, indirect] if row["person"] == "3" else [indirect, clitic]
    return Predicate(verb, [direct, to, word], [], clitics, agreement)


@production("Predicate", 9)
def oblique(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Needs the car -> a besoin de la voiture; a pronoun keeps its place: remembers him -> se souvient de lui."""
    verb = d.verb(["oblique"], subject.kinds)
    predicate = Predicate(verb)
    if verb.object >= PERSON and d.chance(35):
        complement = stressed(other_person(d, subject))
    else:
        noun = d.noun(verb.object)
        phrase = d.expand("Definite", noun)
        d.combine("verb-object", verb.english, phrase.head)
        complement = Phrase(phrase.english, phrase.french)
    predicate.english = complement.english
    preposition = french_words(verb.preposition, predicate.preposition_sources)
    predicate.french = [*preposition, *complement.french]
    return predicate


@production("Predicate", 5)
def destination(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Goes to the market, goes to Paris, comes from Athens."""
    verb = d.verb(["place"], subject.kinds)
    if d.chance(25):
        verb = d.lexicon.verb("come from", "oblique")
    phrase = name_phrase(d.name("cityname")) if d.chance(50) else with_determiner(d, "the", d.noun(verb.object), False)
    d.combine("verb-object", verb.english, phrase.head)
    predicate = Predicate(verb, phrase.english)
    predicate.french = [*french_words(verb.preposition, predicate.preposition_sources), *phrase.french]
    return predicate


def copula(d: Derivation) -> Verb:
    """The verb "be"."""
    return d.lexicon.verb("be", "copula")


def be_as_have(d: Derivation) -> Verb:
    """The "be" that French says with avoir: hungry, twenty years old."""
    have = d.lexicon.verb("have", "object")
    return replace(copula(d), french="avoir", present=have.present, imperfect=have.imperfect)


def predicate_adjective(
    d: Derivation, subject: NounPhrase, graded: bool = False, compared: bool = False
) -> tuple[EnglishWord, FrenchWord]:
    """An adjective that agrees with the subject; one with degrees, or in its English comparative, if asked for."""
    suitable = [a for a in d.lexicon.adjectives if a.kinds & subject.kinds and not a.attributive]
    adjective = d.pick([a for a in suitable if a.comparative or not (graded or compared)])
    d.combine("adjective-noun", adjective.english, subject.head)
    word = EnglishWord(adjective.comparative if compared else adjective.english)
    return word, without_liaison(adjective.agree(subject.feminine, subject.plural, (word,)))


def without_liaison(word: FrenchWord) -> FrenchWord:
    """The same word without a liaison form: "bel" only stands before a noun."""
    return FrenchWord(word.text, word.sources, aspirated=word.aspirated)


@production("Predicate", 16)
def adjectival(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is (very) happy."""
    if not d.chance(40):
        word, agreeing = predicate_adjective(d, subject)
        return Predicate(copula(d), [word], [agreeing])
    word, agreeing = predicate_adjective(d, subject, graded=True)
    row = d.row("adverbs", kind="degree")
    if setting.negated and row["english"] == "quite":  # not quite sad is not pas assez triste
        raise Blocked
    degree = EnglishWord(row["english"])
    return Predicate(copula(d), [degree, word], [FrenchWord(row["french"], (degree,)), agreeing])


@production("Predicate", 4)
def comparison(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is taller than Paul -> est plus grand que Paul."""
    word, agreeing = predicate_adjective(d, subject, compared=True)
    *more, last = words = english_words(word.text)
    plus = FrenchWord("plus", tuple(more) or (last,))
    agreeing.sources = (last,)
    than = EnglishWord("than")
    other = standard(d, subject)
    english = [*words, than, *other.english]
    return Predicate(copula(d), english, [plus, agreeing, FrenchWord("que", (than,)), *other.french])


@production("Predicate", 3)
def equality(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is as tall as Paul -> est aussi grand que Paul."""
    word, agreeing = predicate_adjective(d, subject, graded=True)
    first, second = english_words("as as")
    other = standard(d, subject)
    english = [first, word, second, *other.english]
    french = [FrenchWord("aussi", (first,)), agreeing, FrenchWord("que", (second,)), *other.french]
    return Predicate(copula(d), english, french)


def standard(d: Derivation, subject: NounPhrase) -> Phrase:
    """The other side of a comparison, of the same kind as the subject."""
    if subject.kinds & PERSON and d.chance(30):
        return stressed(other_person(d, subject))
    if subject.kinds & PERSON and d.chance(50):
        phrase = name_phrase(d.name("name"))
    else:
        phrase = d.expand("Definite", d.noun(subject.kinds - {subject.head}))
    if phrase.head == subject.head:
        raise Blocked
    return Phrase(phrase.english, phrase.french)


@production("Predicate", 4)
def profession(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is a teacher -> est professeur: the article has no counterpart."""
    named = subject.head and subject.kinds == PERSON and not subject.plural
    pronoun = subject.pronoun is not None and not subject.plural
    if not (named or pronoun):
        raise Blocked
    nouns = [noun for noun in d.lexicon.nouns if noun.kind == "profession" and noun.feminine == subject.feminine]
    noun = d.pick(nouns)
    a, word = EnglishWord("a"), EnglishWord(noun.english)
    return Predicate(copula(d), [a, word], french_words(noun.french, [word]))


@production("Predicate", 5)
def location(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is behind the church."""
    place = d.expand("Place")
    return Predicate(copula(d), place.english, place.french)


@production("Predicate", 3)
def state(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is hungry -> a faim, is afraid of the dog -> a peur du chien."""
    if not subject.kinds & (PERSON | {"animal"}):
        raise Blocked
    row = d.row("states")
    word = EnglishWord(row["english"])
    predicate = Predicate(be_as_have(d), [word], [FrenchWord(row["french"], (word,))])
    if row["kind"] == "of" and d.chance(70):
        of = EnglishWord("of")
        phrase = d.expand("Definite", d.noun(frozenset({"animal"}) | PERSON))
        predicate.english += [of, *phrase.english]
        predicate.french += [FrenchWord("de", (of,)), *phrase.french]
    return predicate


@production("Predicate", 3)
def age(d: Derivation, subject: NounPhrase, setting: Setting) -> Predicate:
    """Is twenty years old -> a vingt ans: "old" has no counterpart."""
    if not subject.kinds & PERSON:
        raise Blocked
    number, numeral_words = numeral(d, feminine=False)
    years, old = english_words("years old")
    if number[-1].text == "thousand":
        raise Blocked
    return Predicate(be_as_have(d), [*number, years, old], [*numeral_words, FrenchWord("ans", (years,))])
