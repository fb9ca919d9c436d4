"""Modifiers of clauses and nouns: places, times, manner, company, relative clauses, "of" phrases."""

from __future__ import annotations

from .clauses import Phrase, Predicate, Setting, Tense, choose_tense, realise
from .derivation import Blocked, Derivation, production
from .lexicon import expand_kinds
from .nounphrases import PERSON, NounPhrase, as_modified, name_phrase, pronoun_subject, with_determiner
from .predicates import stressed
from .words import EnglishWord, FrenchWord, english_words, french_words, linked_words

# Nouns whose parts or members are named with "of": the door of the house.
PARTS = (
    ("door,window,key,garden,kitchen,cellar,garage,bedroom,attic", "house,castle,hotel,farm,inn,apartment"),
    ("page,sentence,word", "book,letter,novel,poem,story"),
    ("mayor,street,bridge,square,church,museum,station,library,market,river", "cityname"),
    ("wheel,engine,window,door", "car,truck,bus,tractor,taxi"),
)


@production("Place", 60)
def place_phrase(d: Derivation) -> Phrase:
    """In front of the church -> devant l' église."""
    return prepositional(d, "place")


@production("Place", 18)
def in_city(d: Derivation) -> Phrase:
    """In Paris -> à Paris."""
    preposition, city = EnglishWord("in"), name_phrase(d.name("cityname"))
    return Phrase([preposition, *city.english], [FrenchWord("à", (preposition,)), *city.french])


@production("Place", 14)
def in_country(d: Derivation) -> Phrase:
    """In France -> en France, in Portugal -> au Portugal."""
    preposition, country = EnglishWord("in"), name_phrase(d.name("country"))
    french = FrenchWord("en" if country.feminine else "au", (preposition,))
    return Phrase([preposition, *country.english], [french, *country.french])


def prepositional(d: Derivation, kind: str) -> Phrase:
    """A preposition with a noun phrase of the kinds that it takes."""
    row = d.row("prepositions", kind=kind)
    noun = d.noun(expand_kinds(row["objects"]))
    phrase = d.expand("Definite", noun) if d.chance(50) else with_determiner(d, "the", noun, False)
    preposition = preposition_words(row["english"], row["french"])
    return Phrase([*preposition.english, *phrase.english], [*preposition.french, *phrase.french])


def preposition_words(english: str, french: str) -> Phrase:
    """A preposition; a final "of" or "to" is the final "de", every other word goes with every other."""
    words = english_words(english)
    if len(words) > 1 and french.endswith(" de"):
        head = french_words(french.removesuffix(" de"), words[:-1])
        return Phrase(words, [*head, FrenchWord("de", (words[-1],))])
    return Phrase(words, french_words(french, words))


@production("Company", 2)
def with_person(d: Derivation) -> Phrase:
    """With the baker, with Marie."""
    row = d.row("prepositions", kind="company")
    word = EnglishWord(row["english"])
    phrase = name_phrase(d.name("name")) if d.chance(50) else d.expand("Definite", d.noun(PERSON))
    return Phrase([word, *phrase.english], [FrenchWord(row["french"], (word,)), *phrase.french])


@production("Company", 1)
def with_pronoun(d: Derivation) -> Phrase:
    """With him -> avec lui."""
    row = d.row("prepositions", kind="company")
    word, pronoun = EnglishWord(row["english"]), stressed(d.row("pronouns", person="3", number="singular"))
    return Phrase([word, *pronoun.english], [FrenchWord(row["french"], (word,)), *pronoun.french])


def time_phrase(d: Derivation, time: str, dated: bool = True) -> Phrase:
    """A time that goes with the tense: yesterday, next week, on Monday -> lundi."""
    suitable = ("any", time, "dated") if dated and time != "present" else ("any", time)
    row = d.pick([row for row in d.lexicon.tables["times"] if row["tense"] in suitable])
    return Phrase(*linked_words(row["english"], row["french"], row["links"]))


@production("Adjunct", 60)
def no_adjunct(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """Nothing."""
    return Phrase()


@production("Adjunct", 16)
def time(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """Yesterday; not with the perfect."""
    if tense is Tense.PERFECT or d.relative:
        raise Blocked
    return time_phrase(d, setting.time)


@production("Adjunct", 12)
def place(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """In the garden."""
    if predicate.verb.english == "be" or predicate.verb.frame == "place":
        raise Blocked
    return d.expand("Place")


@production("Adjunct", 10)
def manner(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """Slowly."""
    if predicate.verb.aspect != "action":
        raise Blocked
    row = d.pick(d.lexicon.rows("adverbs", kind="manner"))
    word = EnglishWord(row["english"])
    return Phrase([word], [FrenchWord(row["french"], (word,))])


@production("Adjunct", 7)
def company(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """With Marie."""
    if predicate.verb.aspect != "action":
        raise Blocked
    return d.expand("Company")


@production("Adjunct", 5)
def event(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """During the lesson."""
    if predicate.verb.aspect == "state":
        raise Blocked
    return prepositional(d, "event")


@production("Adjunct", 4)
def clock_time(d: Derivation, setting: Setting, tense: Tense, predicate: Predicate) -> Phrase:
    """At five o'clock -> à cinq heures."""
    if predicate.verb.aspect == "state" or tense is Tense.PERFECT:
        raise Blocked
    at = EnglishWord("at")
    hour = clock(d)
    return Phrase([at, *hour.english], [FrenchWord("à", (at,)), *hour.french])


def clock(d: Derivation) -> Phrase:
    """Five o'clock -> cinq heures."""
    row = d.even([row for row in d.lexicon.tables["numbers"] if int(row["value"]) <= 11])
    number, oclock = english_words(f"{row['english']} o'clock")
    french = [FrenchWord(row["feminine"], (number,), aspirated=row["initial"] == "aspirated")]
    return Phrase([number, oclock], [*french, FrenchWord("heures", (oclock,))])


@production("Modifier", 74)
def no_modifier(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """Nothing."""
    return phrase


@production("Modifier", 5)
def located(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """The man in the garden."""
    enter_modifier(d)
    where = prepositional(d, "place")
    d.nested = False
    return as_modified(phrase, where.english, where.french)


@production("Modifier", 5)
def part_of(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """The door of the house, the mayor of Paris."""
    enter_modifier(d)
    wholes = [wholes for parts, wholes in PARTS if phrase.head in parts.split(",")]
    whole = d.even(wholes)
    of = EnglishWord("of")
    owner = name_phrase(d.name(whole)) if whole == "cityname" else d.expand("Definite", d.noun(expand_kinds(whole)))
    d.nested = False
    return as_modified(phrase, [of, *owner.english], [FrenchWord("de", (of,)), *owner.french])


def enter_modifier(d: Derivation) -> None:
    """Modifiers do not nest."""
    if d.nested:
        raise Blocked
    d.nested = True


@production("Modifier", 8)
def subject_relative(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """The man who sees the dog -> l' homme qui voit le chien."""
    enter_modifier(d)
    relative = EnglishWord("who" if phrase.kinds & PERSON else "that")
    antecedent = NounPhrase(
        [relative],
        [FrenchWord("qui", (relative,))],
        plural=phrase.plural,
        feminine=phrase.feminine,
        kinds=phrase.kinds,
        head=phrase.head,
    )
    clause = relative_clause(d, antecedent)
    return as_modified(phrase, clause.english, clause.french)


def relative_clause(d: Derivation, subject: NounPhrase) -> Phrase:
    """A short clause inside a noun phrase."""
    setting = Setting(d.even(["present", "past"]), "not" if d.chance(12) else "")
    predicate = d.expand("Predicate", subject, setting)
    clause = realise(d, subject, predicate, setting, choose_tense(d, setting, subject, predicate.verb))
    d.nested, d.relative = False, True
    return clause


@production("Modifier", 8)
def object_relative(d: Derivation, phrase: NounPhrase) -> NounPhrase:
    """The apple (that) he ate -> la pomme qu' il a mangée; before a pronoun English may leave "that" out."""
    enter_modifier(d)
    subject = name_phrase(d.name("name")) if d.chance(50) else pronoun_subject(d.even(d.lexicon.tables["pronouns"]))
    if subject.pronoun and subject.pronoun["english"] == "they" and not d.free_they:
        raise Blocked
    verbs = [v for v in d.lexicon.verbs if v.frame == "object" and v.object & phrase.kinds and v.subject & PERSON]
    verb = d.pick(verbs)
    d.combine("verb-object", verb.english, phrase.head)
    setting = Setting(d.even(["present", "past"]), "not" if d.chance(12) else "")
    predicate = Predicate(verb, preceding=(phrase.feminine, phrase.plural))
    clause = realise(d, subject, predicate, setting, choose_tense(d, setting, subject, verb))
    d.nested, d.relative = False, True
    that = [] if subject.pronoun and d.chance(35) else [EnglishWord("that")]
    return as_modified(phrase, [*that, *clause.english], [FrenchWord("que", tuple(that)), *clause.french])
