"""Words of one sentence pair: the links of the French words, and the surface forms of both sides.

A derivation first lines up *underlying* words (``le``, ``de le``, ``beau``); ``Pair.of`` then applies the rules that
depend on the neighbouring word (elision, contraction, ``bel``, ``an``) and turns the sources of each French word into
links.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

VOWELS = "aàâäeéèêëiîïoôöuùûüœ"

# Function words with a form of their own before a vowel or a mute h.
BEFORE_VOWEL = {
    **{word: word[:-1] + "'" for word in ("je", "me", "se", "le", "la", "ne", "de", "que")},
    "ma": "mon",
    "sa": "son",
    "ce": "cet",
}
CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}

# Written with a vowel but pronounced with a consonant; and written with a consonant but pronounced with a vowel.
A_BEFORE = ("uni", "use", "eu", "one")
AN_BEFORE = ("honest", "hour")


@dataclass(eq=False)
class EnglishWord:
    """One English token; French words refer to its identity."""

    text: str


@dataclass(eq=False)
class FrenchWord:
    """One French token with the English words that it expresses."""

    text: str
    sources: tuple[EnglishWord, ...] = ()
    before_vowel: str = ""
    aspirated: bool = False  # a written vowel or h that blocks elision: le héros, le onze
    article: bool = False  # contracts with a preceding "de" or "à"; the pronouns le, les do not

    def starts_with_vowel(self) -> bool:
        """Whether a preceding word elides."""
        first = self.text[0].lower()
        return not self.aspirated and (first in VOWELS + "h" or self.text == "y")


@dataclass(frozen=True)
class Pair:
    """A finished sentence pair: tokens joined by spaces, and links (source index, target index)."""

    english: str
    french: str
    links: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, english: Sequence[EnglishWord], french: Sequence[FrenchWord]) -> Pair:
        """Spell out underlying words: elision, contraction, "an", capital letters, links."""
        position = {id(word): index for index, word in enumerate(english)}
        surface = contract(elide(french))
        links = {(position[id(source)], j) for j, word in enumerate(surface) for source in word.sources}
        return cls(
            capitalised(spell_english(english)), capitalised(word.text for word in surface), tuple(sorted(links))
        )

    def pharaoh(self) -> str:
        """The links as ``i-j i-j ...``."""
        return " ".join(f"{i}-{j}" for i, j in self.links)


def english_words(text: str) -> list[EnglishWord]:
    """The tokens of an English phrase."""
    return [EnglishWord(token) for token in text.split()]


def french_words(text: str, sources: Iterable[EnglishWord], aspirated: bool = False) -> list[FrenchWord]:
    """The tokens of a French phrase, all expressing the same English words; h aspiré belongs to the first."""
    shared = tuple(sources)
    return [FrenchWord(token, shared, aspirated=aspirated and k == 0) for k, token in enumerate(text.split())]


def linked_words(english: str, french: str, links: str) -> tuple[list[EnglishWord], list[FrenchWord]]:
    """A fixed expression of the lexicon with its own links."""
    source, target = english_words(english), french_words(french, ())
    for link in links.split():
        i, j = map(int, link.split("-"))
        target[j].sources += (source[i],)
    return source, target


def elide(words: Sequence[FrenchWord]) -> list[FrenchWord]:
    """Choose the forms before a vowel: l' homme, n' aime, qu' il, mon amie, cet arbre, bel oiseau, s' il."""
    spelled = []
    for word, following in zip(words, [*words[1:], None], strict=True):
        text = word.text
        if text == "si" and following is not None and following.text in ("il", "ils"):
            text = "s'"
        elif following is not None and following.starts_with_vowel():
            text = word.before_vowel or BEFORE_VOWEL.get(text, text)
        spelled.append(FrenchWord(text, word.sources, aspirated=word.aspirated, article=word.article))
    return spelled


def contract(words: Sequence[FrenchWord]) -> list[FrenchWord]:
    """Merge a preposition and an article into one word that keeps the sources of both: du, des, au, aux."""
    merged: list[FrenchWord] = []
    for word in words:
        if word.article and merged and (merged[-1].text, word.text) in CONTRACTIONS:
            preposition = merged.pop()
            text = CONTRACTIONS[preposition.text, word.text]
            word = FrenchWord(text, preposition.sources + word.sources)
        merged.append(word)
    return merged


def spell_english(words: Sequence[EnglishWord]) -> list[str]:
    """The English tokens, with "a" turned into "an" where needed."""
    texts = [word.text for word in words]
    for index, following in enumerate(texts[1:]):
        vowel = following[0].lower() in "aeiou" and not following.startswith(A_BEFORE)
        if texts[index] == "a" and (vowel or following.startswith(AN_BEFORE)):
            texts[index] = "an"
    return texts


def capitalised(texts: Iterable[str]) -> str:
    """A sentence with an upper-case first letter."""
    sentence = " ".join(texts)
    return sentence[0].upper() + sentence[1:]
