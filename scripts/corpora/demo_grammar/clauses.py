"""Verb groups and clauses: auxiliaries, negation around the verb, object pronouns before it, participle agreement."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from .derivation import Blocked, Derivation
from .lexicon import Lexicon, Row, Verb
from .nounphrases import NounPhrase
from .words import EnglishWord, FrenchWord, english_words, french_words


class Tense(Enum):
    """English tenses; French follows from them and from the aspect of the verb."""

    PRESENT = "sees"
    PROGRESSIVE = "is seeing"
    PAST = "saw"
    PERFECT = "has seen"
    PAST_PROGRESSIVE = "was seeing"


NEGATORS = {"not": "pas", "never": "jamais", "no longer": "plus"}


@dataclass
class Setting:
    """The time, polarity and mood of a clause."""

    time: str = "present"  # "present", "past" or "future"
    negator: str = ""
    question: bool = False
    nobody: bool = False

    @property
    def negated(self) -> bool:
        """Whether indefinite objects take plain ``de``."""
        return bool(self.negator) or self.nobody


@dataclass
class Predicate:
    """A verb with its complements in each language and the clitics before the French verb.

    ``word`` is the inflected English verb: it exists before its form is known, so that French words can refer to it.
    """

    verb: Verb
    english: list[EnglishWord] = field(default_factory=list)
    french: list[FrenchWord] = field(default_factory=list)
    clitics: list[FrenchWord] = field(default_factory=list)
    preceding: tuple[bool, bool] | None = None  # feminine, plural of a direct object before the verb
    chain: Verb | None = None  # the finite verb that governs this one as an infinitive
    nothing: EnglishWord | None = None
    word: EnglishWord = field(default_factory=lambda: EnglishWord(""))
    particles: list[EnglishWord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.particles = self.particles or [EnglishWord(text) for text in self.verb.particles]

    @property
    def lexical(self) -> tuple[EnglishWord, ...]:
        """The English words that the French verb expresses: all but a particle that is a French preposition."""
        return (self.word, *(self.particles[:-1] if self.verb.preposition else self.particles))

    @property
    def preposition_sources(self) -> tuple[EnglishWord, ...]:
        """The English words of the governed French preposition: the particle, or else the verb."""
        return tuple(self.particles[-1:]) or (self.word,)

    @property
    def finite(self) -> Verb:
        """The verb that is conjugated."""
        return self.chain or self.verb


@dataclass
class Phrase:
    """Words of both languages."""

    english: list[EnglishWord] = field(default_factory=list)
    french: list[FrenchWord] = field(default_factory=list)

    def __add__(self, other: Phrase) -> Phrase:
        return Phrase(self.english + other.english, self.french + other.french)


@dataclass
class EnglishGroup:
    """The English verb group of a clause, in parts."""

    auxiliary: list[EnglishWord]
    middle: list[EnglishWord]  # negator and adverb
    main: list[EnglishWord]
    negator: list[EnglishWord]
    adverb: list[EnglishWord]
    finite: tuple[EnglishWord, ...]  # the lexical words of the conjugated verb
    to: EnglishWord | None = None


def choose_tense(d: Derivation, setting: Setting, subject: NounPhrase, verb: Verb) -> Tense:
    """A tense that fits the time, the aspect and the person.

    To keep rare verb forms few, only "be" has an imperfect outside the third person, and only everyday verbs have
    a present with "we" and "you".
    """
    if setting.time != "past":
        if subject.person != 3 and subject.plural and verb not in d.lexicon.everyday_verbs:
            raise Blocked
        return Tense.PROGRESSIVE if verb.aspect == "action" and d.chance(35) else Tense.PRESENT
    if verb.frame in ("modal", "future"):
        raise Blocked
    if verb.aspect == "state":
        if subject.person != 3 and verb.english != "be":
            raise Blocked
        return Tense.PAST
    if verb.aspect == "action" and subject.person == 3 and d.chance(20):
        return Tense.PAST_PROGRESSIVE
    return Tense.PERFECT if d.chance(22) else Tense.PAST


def be(tense: Tense, subject: NounPhrase) -> str:
    """The form of "be" for a subject."""
    singular_third = subject.third_singular
    if tense in (Tense.PAST, Tense.PAST_PROGRESSIVE):
        return "was" if singular_third or (subject.person == 1 and not subject.plural) else "were"
    return "is" if singular_third else "am" if subject.person == 1 and not subject.plural else "are"


def conjugate_english(verb: Verb, tense: Tense, subject: NounPhrase, needs_auxiliary: bool) -> tuple[str, str]:
    """The auxiliary ("" for none) and the main verb ("" for none)."""
    base = verb.english.split()[0]
    if base == "be":
        return be(tense, subject), " ".join(verb.particles)
    if verb.frame == "modal":
        return base, ""
    if tense in (Tense.PROGRESSIVE, Tense.PAST_PROGRESSIVE):
        return be(tense, subject), verb.gerund
    if tense is Tense.PERFECT:
        return "has" if subject.third_singular else "have", verb.past_participle
    if needs_auxiliary:
        return "did" if tense is Tense.PAST else "does" if subject.third_singular else "do", base
    if tense is Tense.PAST:
        if verb.past == base:  # "they read" would be two tenses at once
            raise Blocked
        return "", verb.past
    return "", verb.third if subject.third_singular else base


def english_group(
    predicate: Predicate, setting: Setting, tense: Tense, subject: NounPhrase, adverb: Row | None, inverted: bool
) -> EnglishGroup:
    """Conjugate the English side."""
    finite = predicate.finite
    auxiliary, main = conjugate_english(finite, tense, subject, inverted or setting.negator == "not")
    negator, adverbs = english_words(setting.negator), english_words(adverb["english"] if adverb else "")
    first = english_words(auxiliary)
    middle = [*negator, *adverbs]
    if auxiliary == "can" and setting.negator == "not" and not inverted:
        first[0].text, first, middle = "cannot", negator, adverbs
        negator[0].text = "cannot"
    group = EnglishGroup(first, middle, [], negator, adverbs, ())
    if predicate.chain is None:
        predicate.word.text = main
        group.main = [*([predicate.word] if main else []), *predicate.particles]
        if not main:
            predicate.word.text, group.auxiliary = auxiliary, [predicate.word]
        group.finite = predicate.lexical
    else:
        governing = english_words(main)
        group.to = None if finite.frame == "modal" else EnglishWord("to")
        predicate.word.text = predicate.verb.english.split()[0]
        group.main = [*governing, *([group.to] if group.to else []), predicate.word, *predicate.particles]
        group.finite = tuple(governing)
    return group


def french_person(subject: NounPhrase) -> int:
    """The index of the form in a paradigm: je, il, nous, vous, ils."""
    if subject.person == 3:
        return 4 if subject.plural else 1
    return subject.person + 1 if subject.plural else 0


def conjugate_french(
    lexicon: Lexicon, predicate: Predicate, tense: Tense, subject: NounPhrase, group: EnglishGroup
) -> tuple[FrenchWord, list[FrenchWord]]:
    """The French finite verb and, in the passé composé, the participle."""
    verb, person = predicate.finite, french_person(subject)
    auxiliary = tuple(word for word in group.auxiliary if word is not predicate.word)
    if tense in (Tense.PRESENT, Tense.PROGRESSIVE):
        return FrenchWord(verb.present[person], (*auxiliary, *group.finite)), []
    if tense is Tense.PAST_PROGRESSIVE or (tense is Tense.PAST and verb.aspect == "state"):
        return FrenchWord(verb.imperfect[person], (*auxiliary, *group.finite)), []
    helper = lexicon.verb("be", "copula") if verb.auxiliary == "être" else lexicon.verb("have", "object")
    agreement = (False, False)
    if verb.auxiliary == "être":
        agreement = (subject.feminine, subject.plural)
    elif predicate.chain is None and predicate.preceding is not None:
        agreement = predicate.preceding
    finite = FrenchWord(helper.present[person], auxiliary or group.finite)
    return finite, [FrenchWord(verb.agree(*agreement), group.finite)]


def reflexive_clitic(d: Derivation, predicate: Predicate, subject: NounPhrase) -> list[FrenchWord]:
    """``se`` or, in the first and second person, the pronoun that goes with the subject."""
    if not predicate.verb.reflexive:
        return []
    text = subject.pronoun["reflexive"] if subject.pronoun else "se"
    return [FrenchWord(text, predicate.lexical)]


def negation(
    predicate: Predicate, setting: Setting, subject: NounPhrase, group: EnglishGroup
) -> tuple[list[FrenchWord], list[FrenchWord]]:
    """The words before and after the finite verb: ne ... pas, jamais, plus, rien; only ne after "personne"."""
    if subject.nobody:
        return [FrenchWord("ne", tuple(subject.english))], []
    if predicate.nothing:
        sources: tuple[EnglishWord, ...] = (predicate.nothing,)
        return [FrenchWord("ne", sources)], [FrenchWord("rien", sources)]
    if setting.negator:
        sources = tuple(group.negator)
        return [FrenchWord("ne", sources)], [FrenchWord(NEGATORS[setting.negator], sources)]
    return [], []


def french_group(
    d: Derivation, predicate: Predicate, setting: Setting, tense: Tense, subject: NounPhrase, group: EnglishGroup
) -> list[FrenchWord]:
    """The French side after the subject: ne, clitics, finite verb, pas, adverb, participle, infinitive."""
    finite, participle = conjugate_french(d.lexicon, predicate, tense, subject, group)
    before, after = negation(predicate, setting, subject, group)
    adverb = []
    if group.adverb:
        (row,) = d.lexicon.rows("adverbs", english=group.adverb[0].text)
        adverb = french_words(row["french"], group.adverb)
    clitics = [*reflexive_clitic(d, predicate, subject), *predicate.clitics]
    noun = french_words(predicate.verb.noun, predicate.lexical)
    if predicate.chain is None:
        return [*before, *clitics, finite, *after, *adverb, *participle, *noun, *predicate.french]
    to = (group.to,) if group.to else ()
    linker = french_words(predicate.chain.preposition, to)
    infinitive = [*clitics, FrenchWord(predicate.verb.infinitive, predicate.lexical), *noun]
    return [*before, finite, *after, *adverb, *participle, *linker, *infinitive, *predicate.french]


def choose_adverb(
    d: Derivation, setting: Setting, subject: NounPhrase, predicate: Predicate, inverted: bool
) -> Row | None:
    """An adverb inside the verb group, or none; few of them suit a negated clause or a question."""
    if subject.nobody or predicate.nothing or setting.negator in ("never", "no longer") or not d.chance(10):
        return None
    adverb = d.pick([r for r in d.lexicon.tables["adverbs"] if r["kind"] in ("negatable", "middle")])
    if (setting.negator or inverted) and adverb["kind"] != "negatable":
        raise Blocked
    return adverb


def realise(
    d: Derivation, subject: NounPhrase, predicate: Predicate, setting: Setting, tense: Tense, inverted: bool = False
) -> Phrase:
    """A clause. In a question the English auxiliary comes first and French begins with "est-ce que"."""
    d.combine("subject-verb", subject.head, predicate.verb.english)
    adverb = choose_adverb(d, setting, subject, predicate, inverted)
    group = english_group(predicate, setting, tense, subject, adverb, inverted)
    order = [*group.auxiliary, *subject.english] if inverted else [*subject.english, *group.auxiliary]
    opening = french_words("est-ce que", group.auxiliary) if inverted else []
    return Phrase(
        [*order, *group.middle, *group.main, *predicate.english],
        [*opening, *subject.french, *french_group(d, predicate, setting, tense, subject, group)],
    )
