"""Noun phrases: determiners, adjectives on both sides of the noun, names, pronouns, coordination."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .derivation import Blocked, Derivation, production
from .lexicon import PEOPLE, Adjective, Name, Noun, Row
from .words import EnglishWord, FrenchWord, english_words, french_words

PERSON = frozenset(PEOPLE)


@dataclass
class NounPhrase:
    """A noun phrase of both languages with the features that verbs, adjectives and pronouns agree with."""

    english: list[EnglishWord]
    french: list[FrenchWord]
    person: int = 3
    plural: bool = False
    feminine: bool = False
    kinds: frozenset[str] = PERSON  # the kind of the head and the head itself; verbs select by them
    head: str = ""  # English lemma of the head noun or the name; "" for pronouns
    pronoun: Row | None = None
    nobody: bool = False  # a negative subject, whose clause has "ne" without "pas"
    negatable: bool = True  # whether its clause may be negated without an ambiguous scope

    @property
    def third_singular(self) -> bool:
        """Whether an English verb takes -s."""
        return self.person == 3 and not self.plural


@dataclass
class Nominal:
    """A noun with its adjectives, still without a determiner."""

    noun: Noun
    plural: bool
    english: list[EnglishWord] = field(default_factory=list)
    french: list[FrenchWord] = field(default_factory=list)
    adjective_first: bool = False

    def determined(self, english: list[EnglishWord], french: list[FrenchWord]) -> NounPhrase:
        """The noun phrase with a determiner in front."""
        noun = self.noun
        return NounPhrase(
            english=[*english, *self.english],
            french=[*french, *self.french],
            plural=self.plural,
            feminine=noun.feminine,
            kinds=frozenset({noun.kind, noun.english}),
            head=noun.english,
        )


def nominal(d: Derivation, noun: Noun, plural: bool, adjectives: int = 45) -> Nominal:
    """A noun with at most one adjective on each side in French; ``adjectives`` is the percentage that have one."""
    head = EnglishWord(noun.plural if plural else noun.english)
    french = french_words(noun.french_plural if plural else noun.french, [head], noun.aspirated)
    chosen: list[Adjective] = []
    if d.chance(adjectives):
        chosen = [d.adjective(noun)]
        if chosen[0].precedes and d.chance(25):
            chosen.append(d.adjective(noun, precedes=False))
    built = Nominal(noun, plural, french=french)
    for adjective in chosen:
        d.combine("adjective-noun", adjective.english, noun.english)
        word = EnglishWord(adjective.english)
        built.english.append(word)
        agreeing = adjective.agree(noun.feminine, plural, (word,))
        built.french = [agreeing, *built.french] if adjective.precedes else [*built.french, agreeing]
        built.adjective_first = built.adjective_first or adjective.precedes
    built.english.append(head)
    return built


def determiner(row: Row, feminine: bool, plural: bool, source: EnglishWord) -> list[FrenchWord]:
    """The agreeing French determiner, possibly of two words (``de le``, ``beaucoup de``)."""
    form = row[("feminine" if feminine else "masculine") + ("_plural" if plural else "")]
    return [FrenchWord(text, (source,), article=text in ("le", "la", "les")) for text in form.split()]


def with_determiner(d: Derivation, english: str, noun: Noun, plural: bool, negated: bool = False) -> NounPhrase:
    """A noun with a determiner of the lexicon.

    The indefinite ones become plain ``de`` under negation, and the plural ``des`` also before an adjective.
    """
    built = nominal(d, noun, plural)
    word = EnglishWord(english)
    row = d.lexicon.determiners[english]
    if english in ("a", "every", "both") and built.english[0].text == "other":  # another, every other, both others
        raise Blocked
    if row["kind"] == "indefinite" and (negated or (plural and built.adjective_first)):
        return built.determined([word], [FrenchWord("de", (word,))])
    return built.determined([word], determiner(row, noun.feminine, plural, word))


def article(noun: Noun, plural: bool, *sources: EnglishWord) -> FrenchWord:
    """The definite article."""
    return FrenchWord("les" if plural else "la" if noun.feminine else "le", sources, article=True)


def some_plural(d: Derivation, noun: Noun, percent: int = 30) -> bool:
    """Whether to make a noun plural."""
    return not noun.mass and d.chance(percent)


def only_countable(noun: Noun) -> None:
    """Give up on a determiner that counts."""
    if noun.mass:
        raise Blocked


@production("Definite", 40)
def definite_article(d: Derivation, noun: Noun) -> NounPhrase:
    """The dog."""
    return with_determiner(d, "the", noun, some_plural(d, noun))


@production("Definite", 14)
def demonstrative(d: Derivation, noun: Noun) -> NounPhrase:
    """This dog, these dogs."""
    plural = some_plural(d, noun)
    return with_determiner(d, "these" if plural else "this", noun, plural)


@production("Definite", 18)
def possessive(d: Derivation, noun: Noun) -> NounPhrase:
    """My dog; ``ma``, ``sa`` change before a vowel."""
    owner = d.row("determiners", kind="possessive")["english"]
    return with_determiner(d, owner, noun, some_plural(d, noun))


@production("Definite", 6)
def owner(d: Derivation, noun: Noun) -> NounPhrase:
    """Paul 's dog -> le chien de Paul: the possessive marker is both the article and the preposition."""
    plural = some_plural(d, noun)
    built = nominal(d, noun, plural)
    possessor = name_phrase(d.name("name")) if d.chance(60) else d.expand("Definite", d.noun(PERSON))
    if possessor.plural:
        raise Blocked
    marker = EnglishWord("'s")
    phrase = built.determined([], [article(noun, plural, marker)])
    phrase.english = [*possessor.english, marker, *phrase.english]
    phrase.french = [*phrase.french, FrenchWord("de", (marker,)), *possessor.french]
    return phrase


@production("Definite", 4)
def all_the(d: Derivation, noun: Noun) -> NounPhrase:
    """All the dogs -> tous les chiens."""
    only_countable(noun)
    every, the = english_words("all the")
    built = nominal(d, noun, True)
    universal = determiner(d.lexicon.determiners["all"], noun.feminine, True, every)
    return built.determined([every, the], [*universal, article(noun, True, the)])


@production("Definite", 5)
def ordinal(d: Derivation, noun: Noun) -> NounPhrase:
    """The first dog."""
    only_countable(noun)
    row = d.row("ordinals")
    the, rank = EnglishWord("the"), EnglishWord(row["english"])
    built = nominal(d, noun, False, adjectives=0)
    form = row["feminine" if noun.feminine else "masculine"]
    return built.determined([the, rank], [article(noun, False, the), FrenchWord(form, (rank,))])


@production("Indefinite", 45)
def indefinite_article(d: Derivation, noun: Noun, negated: bool, question: bool) -> NounPhrase:
    """A dog, some dogs, some bread; any under negation and in yes-no questions."""
    if noun.mass or d.chance(35):
        return with_determiner(d, "any" if negated or question else "some", noun, not noun.mass, negated)
    return with_determiner(d, "a", noun, False, negated)


@production("Indefinite", 22)
def number(d: Derivation, noun: Noun, negated: bool, question: bool) -> NounPhrase:
    """Twenty-one dogs -> vingt et un chiens; small numbers are more frequent."""
    only_countable(noun)
    english, french = numeral(d, noun.feminine)
    return nominal(d, noun, True).determined(english, french)


@production("Indefinite", 16)
def quantity(d: Derivation, noun: Noun, negated: bool, question: bool) -> NounPhrase:
    """Every dog, several dogs, many dogs -> beaucoup de chiens."""
    only_countable(noun)
    if negated:
        raise Blocked
    row = d.row("determiners", kind="quantity")
    return with_determiner(d, row["english"], noun, row["english"] != "every")


def numeral(d: Derivation, feminine: bool) -> tuple[list[EnglishWord], list[FrenchWord]]:
    """A number; words pair off one to one where both languages have equally many, else all with all."""
    row = d.pick(d.lexicon.tables["numbers"])
    english = english_words(row["english"])
    french = french_words(row["feminine" if feminine else "masculine"], english, row["initial"] == "aspirated")
    if len(english) == len(french):
        for source, word in zip(english, french, strict=True):
            word.sources = (source,)
    return english, french


def name_phrase(name: Name) -> NounPhrase:
    """A proper name."""
    word = EnglishWord(name.english)
    return NounPhrase(
        [word],
        [FrenchWord(name.french, (word,))],
        feminine=name.feminine,
        kinds=PERSON if name.kind == "name" else frozenset({"city", name.kind}),
        head=name.english,
    )


def pronoun_subject(row: Row) -> NounPhrase:
    """A personal pronoun as subject."""
    word = EnglishWord(row["english"])
    return NounPhrase(
        [word],
        [FrenchWord(row["subject"], (word,))],
        person=int(row["person"]),
        plural=row["number"] == "plural",
        feminine=row["gender"] == "f",
        pronoun=row,
    )


@production("Subject", 34)
def subject_pronoun(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """He; "they" refers to a noun elsewhere in the sentence only where a production says so."""
    row = d.pick(d.lexicon.tables["pronouns"])
    if row["english"] == "they" and not d.free_they:
        raise Blocked
    return pronoun_subject(row)


@production("Subject", 22)
def subject_name(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """Marie."""
    return name_phrase(d.name("name"))


@production("Subject", 50)
def subject_noun(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """A common noun, possibly modified."""
    noun = d.noun(kinds)
    phrase = d.expand("Definite", noun) if d.chance(75) else d.expand("Indefinite", noun, False, False)
    return modified(d, phrase)


@production("Subject", 6)
def subject_coordination(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """Marie and the baker; masculine wins."""
    first, second = name_phrase(d.name("name")), d.expand("Definite", d.noun(PERSON))
    if d.chance(50):
        second = name_phrase(d.name("name"))
    if first.head == second.head:
        raise Blocked
    conjunction = EnglishWord("and")
    return NounPhrase(
        [*first.english, conjunction, *second.english],
        [*first.french, FrenchWord("et", (conjunction,)), *second.french],
        plural=True,
        feminine=first.feminine and second.feminine,
    )


@production("Subject", 3)
def everybody(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """Everybody -> tout le monde."""
    word = EnglishWord("everybody")
    return NounPhrase([word], french_words("tout le monde", [word]), negatable=False)


@production("Subject", 2)
def somebody(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """Somebody -> quelqu'un."""
    word = EnglishWord("somebody")
    return NounPhrase([word], [FrenchWord("quelqu'un", (word,))], negatable=False)


@production("Subject", 3)
def nobody(d: Derivation, kinds: frozenset[str]) -> NounPhrase:
    """Nobody -> personne ... ne."""
    word = EnglishWord("nobody")
    return NounPhrase([word], [FrenchWord("personne", (word,))], nobody=True, negatable=False)


def modified(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """A noun phrase that may be followed by a modifier; modifiers do not nest."""
    return phrase if d.nested else d.expand("Modifier", phrase)


def as_modified(phrase: NounPhrase, english: list[EnglishWord], french: list[FrenchWord]) -> NounPhrase:
    """A noun phrase followed by a modifier."""
    return replace(phrase, english=[*phrase.english, *english], french=[*phrase.french, *french])
