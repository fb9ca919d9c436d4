"""Sentences: statements, questions, commands, coordination, subordination, anaphora, changes of construction."""

from __future__ import annotations

from dataclasses import replace

from .clauses import Phrase, Predicate, Setting, Tense, choose_tense, english_group, french_group, realise
from .derivation import Blocked, Derivation, production
from .lexicon import THINGS, Noun, Row, Verb
from .modifiers import clock, in_city, in_country, time_phrase
from .nounphrases import (
    PERSON,
    NounPhrase,
    indefinite_article,
    modified,
    name_phrase,
    nominal,
    number,
    pronoun_subject,
    some_plural,
    with_determiner,
)
from .predicates import copula, direct_clitic, other_person, predicate_adjective
from .words import EnglishWord, FrenchWord, Pair, french_words, linked_words

SUBJECT_KINDS = (
    (70, PERSON),
    (14, frozenset({"animal"})),
    (8, frozenset(THINGS)),
    (4, frozenset({"building", "room", "place"})),
    (2, frozenset({"plant"})),
    (3, frozenset({"food", "drink"})),
    (3, frozenset({"idea"})),
)


def mark(text: str) -> Phrase:
    """A punctuation mark, the same in both languages."""
    word = EnglishWord(text)
    return Phrase([word], [FrenchWord(text, (word,))])


def finished(phrase: Phrase, end: str) -> Pair:
    """The sentence with its final mark."""
    whole = phrase + mark(end)
    return Pair.of(whole.english, whole.french)


def linked_word(row: Row) -> Phrase:
    """A conjunction or another row whose words are all linked to each other."""
    word = EnglishWord(row["english"])
    return Phrase([word], french_words(row["french"], [word]))


def choose_subject(d: Derivation) -> NounPhrase:
    """A subject: mostly a person, named, described or referred to by a pronoun."""
    kinds = SUBJECT_KINDS[d.draw([weight for weight, _ in SUBJECT_KINDS])][1]
    if kinds == PERSON:
        return d.expand("Subject", kinds)
    noun = d.noun(kinds)
    return modified(d, d.expand("Definite", noun))


def choose_setting(d: Derivation, times: str = "present past past future") -> Setting:
    """Time and polarity of a statement."""
    negator = d.even(["not", "not", "not", "not", "never", "no longer"]) if d.chance(24) else ""
    return Setting(d.even(times.split()), negator)


def questioned_subject(d: Derivation) -> NounPhrase:
    """The subject of an inverted question; it has no modifiers, because French has no place for them."""
    d.nested = True
    subject = choose_subject(d)
    if subject.nobody:
        raise Blocked
    return subject


def with_chain(d: Derivation, subject: NounPhrase, predicate: Predicate, setting: Setting) -> Predicate:
    """Put "is going to", "can" or "wants to" in front of a verb where the time or chance asks for it."""
    if setting.time == "future":
        return replace(predicate, chain=d.lexicon.verb("be going", "future"))
    if predicate.verb.aspect == "state" or not d.chance(18) or not subject.kinds & (PERSON | {"animal"}):
        return predicate
    if d.chance(35) and setting.time == "present" and setting.negator in ("", "not"):
        return replace(predicate, chain=d.verb(["modal"], subject.kinds))
    return replace(predicate, chain=d.verb(["to"], subject.kinds))


def simple_clause(d: Derivation, subject: NounPhrase, setting: Setting, adjunct: bool = True) -> Phrase:
    """Subject, predicate and perhaps an adjunct."""
    setting.nobody = subject.nobody
    if setting.negator and not subject.negatable:
        raise Blocked
    predicate = with_chain(d, subject, d.expand("Predicate", subject, setting), setting)
    tense = choose_tense(d, setting, subject, predicate.finite)
    clause = realise(d, subject, predicate, setting, tense, inverted=setting.question)
    return clause + d.expand("Adjunct", setting, tense, predicate) if adjunct else clause


@production("Sentence", 46)
def statement(d: Derivation) -> Pair:
    """Marie does not see the dog ."""
    return finished(simple_clause(d, choose_subject(d), choose_setting(d)), ".")


@production("Sentence", 6)
def fronted_time(d: Derivation) -> Pair:
    """Yesterday , Marie saw the dog ."""
    setting = choose_setting(d)
    time = time_phrase(d, setting.time, dated=False)
    subject = choose_subject(d)
    predicate = with_chain(d, subject, d.expand("Predicate", subject, setting), setting)
    setting.nobody = subject.nobody
    tense = choose_tense(d, setting, subject, predicate.finite)
    if tense is Tense.PERFECT or not subject.negatable:
        raise Blocked
    return finished(time + mark(",") + realise(d, subject, predicate, setting, tense), ".")


@production("Sentence", 11)
def yes_no_question(d: Derivation) -> Pair:
    """Does he see the dog ? -> Est-ce qu' il voit le chien ?"""
    setting = Setting(d.even(["present", "past", "past", "future"]), question=True)
    return finished(simple_clause(d, questioned_subject(d), setting), "?")


@production("Sentence", 5)
def subject_question(d: Derivation) -> Pair:
    """Who sees the dog ? -> Qui voit le chien ?"""
    who = EnglishWord("who")
    subject = NounPhrase([who], [FrenchWord("qui", (who,))])
    return finished(simple_clause(d, subject, choose_setting(d)), "?")


@production("Sentence", 6)
def adverb_question(d: Derivation) -> Pair:
    """Where does he eat ? -> Où est-ce qu' il mange ?"""
    english, french = d.even([("where", "où"), ("when", "quand"), ("why", "pourquoi")])
    word = EnglishWord(english)
    subject, setting = questioned_subject(d), Setting(d.even(["present", "past", "future"]))
    if english == "why" and d.chance(25):
        setting.negator = "not"
    predicate = with_chain(d, subject, d.expand("Predicate", subject, setting), setting)
    tense = choose_tense(d, setting, subject, predicate.finite)
    suits = predicate.verb.aspect != "state" and predicate.verb.frame != "place" and tense is not Tense.PERFECT
    if not (english == "why" or suits):
        raise Blocked
    clause = realise(d, subject, predicate, setting, tense, inverted=True)
    return finished(Phrase([word], [FrenchWord(french, (word,))]) + clause, "?")


@production("Sentence", 5)
def object_question(d: Derivation) -> Pair:
    """What does he eat ? -> Qu' est-ce qu' il mange ?"""
    person = d.chance(35)
    word = EnglishWord("who" if person else "what")
    subject, setting = questioned_subject(d), Setting(d.even(["present", "past", "future"]))
    verb = d.verb(["object"], subject.kinds)
    if person and "person" not in verb.object:
        raise Blocked
    predicate = with_chain(d, subject, Predicate(verb), setting)
    tense = choose_tense(d, setting, subject, predicate.finite)
    clause = realise(d, subject, predicate, setting, tense, inverted=True)
    adjunct = d.expand("Adjunct", setting, tense, predicate)
    return finished(Phrase([word], [FrenchWord("qui" if person else "que", (word,))]) + clause + adjunct, "?")


@production("Sentence", 7)
def coordinated(d: Derivation) -> Pair:
    """Marie sings and Paul dances ."""
    first = simple_clause(d, choose_subject(d), choose_setting(d, "present past"), adjunct=False)
    conjunction = linked_word(d.row("conjunctions", kind="coordination"))
    d.free_they = False
    second = simple_clause(d, d.expand("Subject", PERSON), choose_setting(d, "present past"), adjunct=False)
    return finished(first + conjunction + second, ".")


@production("Sentence", 9)
def subordinated(d: Derivation) -> Pair:
    """Marie sings because Paul dances ; "if" is followed by the present."""
    row = d.row("conjunctions", kind="subordination")
    times = {"if": "present future", "because": "present past", "when": "present past", "while": "present"}
    setting = choose_setting(d, times[row["english"]])
    main = simple_clause(d, choose_subject(d), setting, adjunct=False)
    d.free_they = False
    time = "present" if row["english"] == "if" else setting.time
    if time == "present" and row["english"] != "while" and d.chance(15):
        weather = d.row("weather")
        words = Phrase(*linked_words(weather["english"], weather["french"], weather["links"]))
        return finished(main + linked_word(row) + words, ".")
    subordinate = simple_clause(d, d.expand("Subject", PERSON), choose_setting(d, time), adjunct=False)
    return finished(main + linked_word(row) + subordinate, ".")


@production("Sentence", 5)
def reported(d: Derivation) -> Pair:
    """Marie says that Paul is tired ; in the present, so that French needs no sequence of tenses."""
    subject, setting = d.expand("Subject", PERSON), Setting("present")
    verb = d.verb(["that"], PERSON)
    if subject.nobody:
        raise Blocked
    tense = choose_tense(d, setting, subject, verb)
    if tense is Tense.PROGRESSIVE:
        raise Blocked
    main = realise(d, subject, Predicate(verb), setting, tense)
    d.free_they = False
    that = EnglishWord("that")
    clause = simple_clause(d, choose_subject(d), choose_setting(d, "present past future"), adjunct=False)
    return finished(main + Phrase([that], [FrenchWord("que", (that,))]) + clause, ".")


def reference(phrase: NounPhrase, case: str) -> Row:
    """The pronoun that refers to a thing: it or they, he or she in French."""
    gender, number = "f" if phrase.feminine else "m", "plural" if phrase.plural else "singular"
    row = {"person": "3", "number": number, "gender": gender, "reflexive": "se"}
    if phrase.plural:
        forms = {"english": "they", "english_object": "them", "subject": "elles" if phrase.feminine else "ils"}
        return {**row, **forms, "direct": "les"}
    subject, direct = ("elle", "la") if phrase.feminine else ("il", "le")
    return {**row, "english": "it", "english_object": "it", "subject": subject, "direct": direct}


@production("Sentence", 6)
def subject_anaphora(d: Derivation) -> Pair:
    """The pears are ripe but they are small -> Les poires sont mûres mais elles sont petites ."""
    noun = d.noun(frozenset((*THINGS, "food", "animal", "building", "place")))
    topic = d.expand("Definite", noun)
    first, first_french = predicate_adjective(d, topic)
    conjunction = linked_word(d.row("conjunctions", kind="coordination"))
    echo = pronoun_subject(reference(topic, "subject"))
    second, second_french = predicate_adjective(d, topic)
    if first.text == second.text:
        raise Blocked
    settings = [Setting("present", d.even(["", "", "not"])) for _ in range(2)]
    clauses = [
        realise(d, subject, Predicate(copula(d), [english], [french]), setting, Tense.PRESENT)
        for subject, english, french, setting in zip(
            (topic, echo), (first, second), (first_french, second_french), settings, strict=True
        )
    ]
    return finished(clauses[0] + conjunction + clauses[1], ".")


@production("Sentence", 8)
def object_anaphora(d: Derivation) -> Pair:
    """Marie bought the pears but she did not eat them -> ... mais elle ne les a pas mangées ."""
    subject = name_phrase(d.name("name")) if d.chance(60) else pronoun_subject(d.row("pronouns", number="singular"))
    verb = d.verb(["object"], PERSON)
    noun = d.noun(verb.object - PERSON)
    topic = with_determiner(d, "the", noun, some_plural(d, noun))
    second = d.verb(["object"], PERSON)
    if second is verb or "have" in (verb.english, second.english) or not noun.fits(second.object) or noun.fits(PERSON):
        raise Blocked
    d.combine("verb-object", verb.english, noun.english)
    d.combine("verb-object", second.english, noun.english)
    setting = choose_setting(d, "present past")
    first = realise(
        d, subject, Predicate(verb, topic.english, topic.french), setting, choose_tense(d, setting, subject, verb)
    )
    echo = pronoun_subject(subject.pronoun or named_pronoun(d, subject))
    word, clitic, agreement = direct_clitic(reference(topic, "object"))
    setting = choose_setting(d, setting.time)
    predicate = with_chain(d, echo, Predicate(second, [word], [], [clitic], agreement), setting)
    clause = realise(d, echo, predicate, setting, choose_tense(d, setting, echo, predicate.finite))
    return finished(first + linked_word(d.row("conjunctions", kind="coordination")) + clause, ".")


def named_pronoun(d: Derivation, subject: NounPhrase) -> Row:
    """He or she for a name."""
    return d.row("pronouns", english="she" if subject.feminine else "he")


@production("Sentence", 5)
def existential(d: Derivation) -> Pair:
    """There are no dogs in the garden -> Il n' y a pas de chiens dans le jardin ."""
    noun = d.noun(frozenset((*THINGS, "animal", "person", "profession", "plant")))
    place = d.expand("Place")
    there = EnglishWord("there")
    past = d.chance(30)
    negated = d.chance(30)
    phrase = existential_phrase(d, noun, negated)
    form = ("were" if past else "are") if phrase.plural else "was" if past else "is"
    verb = EnglishWord(form)
    french = [FrenchWord("il", (there,))]
    sources = (phrase.english[0],)
    ne, pas = ([FrenchWord("ne", sources)], [FrenchWord("pas", sources)]) if negated else ([], [])
    french += [*ne, FrenchWord("y", (there,)), FrenchWord("avait" if past else "a", (verb,)), *pas, *phrase.french]
    return finished(Phrase([there, verb, *phrase.english], french) + place, ".")


def existential_phrase(d: Derivation, noun: Noun, negated: bool) -> NounPhrase:
    """No dogs, or an indefinite noun phrase."""
    if not negated:
        return (indefinite_article if d.chance(60) else number)(d, noun, False, False)
    no = EnglishWord("no")
    return nominal(d, noun, True).determined([no], [FrenchWord("de", (no,))])


@production("Sentence", 2)
def time_of_day(d: Derivation) -> Pair:
    """It is five o'clock -> Il est cinq heures ."""
    hour = clock(d)
    it, verb = EnglishWord("it"), EnglishWord("is")
    phrase = Phrase([it, verb], [FrenchWord("il", (it,)), FrenchWord("est", (verb,))]) + hour
    where = (in_city if d.chance(60) else in_country)(d)
    return finished(phrase + where, ".")


@production("Sentence", 2)
def weather(d: Derivation) -> Pair:
    """It is raining in Paris -> Il pleut à Paris ."""
    row = d.row("weather")
    phrase = Phrase(*linked_words(row["english"], row["french"], row["links"])) + d.expand("Place")
    return finished(phrase + time_phrase(d, "present") if d.chance(40) else phrase, ".")


@production("Sentence", 4)
def inverted_roles(d: Derivation) -> Pair:
    """Marie misses Paul -> Paul manque à Marie, I miss him -> Il me manque."""
    verb = d.verb(["inverted"], PERSON)
    experiencer = d.expand("Subject", PERSON)
    setting = choose_setting(d, "present past")
    if experiencer.nobody or setting.negator not in ("", "not"):
        raise Blocked
    if verb.english == "miss" and d.chance(30):
        row = other_person(d, experiencer)
        cause = replace(pronoun_subject(row), english=[EnglishWord(row["english_object"])])
        cause.french[0].sources = tuple(cause.english)
    elif "city" in verb.object and d.chance(50):
        cause = name_phrase(d.name("name" if d.chance(60) else "cityname"))
    else:
        cause = d.expand("Definite", d.noun(verb.object))
    d.combine("verb-object", verb.english, cause.head)
    return finished(turned_around(d, experiencer, cause, verb, setting), ".")


def turned_around(d: Derivation, experiencer: NounPhrase, cause: NounPhrase, verb: Verb, setting: Setting) -> Phrase:
    """An English clause whose object is the French subject and whose subject the French dative."""
    tense = choose_tense(d, setting, experiencer, verb)
    if tense is Tense.PERFECT or (setting.time == "past" and cause.person != 3):
        raise Blocked
    predicate = Predicate(verb)
    if experiencer.pronoun:
        predicate.clitics = [FrenchWord(experiencer.pronoun["dative"], tuple(experiencer.english))]
    else:
        predicate.french = [FrenchWord("à", (predicate.word,)), *experiencer.french]
    group = english_group(predicate, setting, tense, experiencer, None, inverted=False)
    return Phrase(
        [*experiencer.english, *group.auxiliary, *group.middle, *group.main, *cause.english],
        [*cause.french, *french_group(d, predicate, setting, tense, cause, group)],
    )


@production("Sentence", 4)
def command(d: Derivation) -> Pair:
    """Do not open the door -> N' ouvrez pas la porte ."""
    (you,) = d.lexicon.rows("pronouns", english="you")
    setting = Setting("present", "not" if d.chance(40) else "")
    predicate = d.expand("Predicate", pronoun_subject(you), setting)
    verb = predicate.verb
    if predicate.nothing:
        raise Blocked
    if verb not in d.lexicon.everyday_verbs:  # an initial capital makes yet another form
        raise Blocked
    willed = verb.aspect == "action" or verb.frame in ("object", "gift", "dative")
    if not willed or verb.aspect == "state" or verb.reflexive or (predicate.clitics and not setting.negator):
        raise Blocked
    predicate.word.text = verb.english.split()[0]
    do = [EnglishWord("do"), EnglishWord("not")] if setting.negator else []
    ne, pas = ([FrenchWord("ne", (do[1],))], [FrenchWord("pas", (do[1],))]) if do else ([], [])
    finite = FrenchWord(verb.present[3], (*do[:1], *predicate.lexical))
    french = [*ne, *predicate.clitics, finite, *pas, *predicate.french]
    d.combine("subject-verb", "", verb.english)
    return finished(Phrase([*do, predicate.word, *predicate.particles, *predicate.english], french), ".")
