"""The source text as the model reads it: in the form of the training text, and sentence by sentence."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from itertools import chain

from nmt.run.directory import Run
from nmt.text.profile import Punctuation, SideProfile, TextProfile
from nmt.text.sentences import split_sentences
from nmt.text.tokenizer import SegmentedSentence, Tokenizer
from nmt.translation.request import SENTENCE_IDS, TranslationRequest

LEAST_LETTERS = 200
"""Letters from which the case of a text counts."""
LOWER_CASED = 5e-4
"""Highest share of upper-case letters in a lower-cased text."""
MOST_WORDS = 2000
"""Words of the longest line that is split: the memory of its alignment grows with the square of its words."""

_LEAST_MARKS, _ALWAYS = 20, 0.99
"""A mark is separated if the training text has it this often, and this share of it behind a space."""
_MOSTLY_ONE = 1.5
"""Highest mean of sentences per line in a text with a sentence per line."""
_NEXT_SENTENCE = 0x85EBCA6B
"""Distance of the numbers of two sentences of a text: far from the numbers of other texts, modulo 2**32."""
_BEHIND_A_WORD = frozenset("_)]\"'’”»")


class SourceText:
    """Reads the source side of a run.

    Two differences between a text and the training text have only one remedy, so they are converted:

    * If the training text has no upper-case letters, the text is lower-cased.
    * If the training text writes a space before a mark (`garden .`), the mark is separated from the word before it: , ;
      : ! ? at the end of any word, a full stop at the end of the text only, because it also ends abbreviations.

    Alignments count the words of the given text. Text without spaces between words is read as it is.

    Args:
        run: its source vocabulary and its language.
        profile: the training text's; None: nothing is known of it, and every text is read as it is.
    """

    def __init__(self, run: Run, profile: TextProfile | None) -> None:
        self._run = run
        side = profile.source if profile else None
        spaced = not run.source.words.name
        self.lowers = side is not None and spaced and is_lower_cased(side)
        self.separates = separated_marks(side) if side and spaced else frozenset()
        self.most_sentences = side.most_sentences if side and side.sentences <= _MOSTLY_ONE else None
        """Sentences of the longest ordinary line; None: unknown, or the training text has paragraphs."""
        self.dotless = side is not None and self.lowers and _has_dotless_i(side, run.source)

    @property
    def fingerprint(self) -> str:
        """Everything that the reading of a text depends on besides the vocabulary."""
        marks = "".join(sorted(self.separates))
        return f"{self.lowers} {marks} {self.most_sentences} {self._run.languages.source}"

    def segment(self, text: str) -> SegmentedSentence:
        """The pieces of a text, after the conversions, with the word of each piece in the given text."""
        words, converted = text.split(), self._words(text)
        if all(parts == [word] for parts, word in zip(converted, words, strict=True)):
            return self._run.source.segment(text)
        found = self._run.source.segment(" ".join(part for parts in converted for part in parts))
        origins = [place for place, parts in enumerate(converted) for _ in parts]
        return found._replace(text=text, words=words, word_of_piece=[origins[word] for word in found.word_of_piece])

    def convert(self, text: str) -> str:
        """The text after the conversions, with single spaces."""
        return " ".join(chain.from_iterable(self._words(text)))

    def sentences(self, request: TranslationRequest) -> list[TranslationRequest]:
        """The requests for the sentences of a request's text; the request alone if its text is not split.

        Lists of several translations are lists of whole texts, and so are prefixes and phrases: they are not split.
        A text of more than `MOST_WORDS` words stays whole. The n-th sentence draws its samples by another number than
        the first.
        """
        kind = request.search.split_sentences
        lists = request.candidates > 1 and request.minimum_bayes_risk is None
        if kind == "never" or lists or request.prefix or request.phrases:
            return [request]
        if kind == "auto" and self.most_sentences is None:
            return [request]
        words = self._run.source.words
        parts = split_sentences(request.text, str(self._run.languages.source), bool(words.name))
        most = self.most_sentences or 1 if kind == "auto" else 1
        if len(parts) <= most or len(words(request.text)) > MOST_WORDS:
            return [request]
        return [
            replace(request, text=part, sentence_id=(request.sentence_id + place * _NEXT_SENTENCE) % SENTENCE_IDS)
            for place, part in enumerate(parts)
        ]

    def _words(self, text: str) -> list[list[str]]:
        """For each word of a text, the words that the model reads for it."""
        words = text.split()
        return [self._converted(word, place == len(words) - 1) for place, word in enumerate(words)]

    def _converted(self, word: str, last: bool) -> list[str]:
        """The words that the model reads for a word."""
        if self.lowers:
            word = word.replace("İ", "i").replace("I", "ı").lower() if self.dotless else word.lower()
        mark, rest = word[-1], word[:-1]
        if mark not in self.separates or not _ends_a_word(rest):
            return [word]
        if mark == "." and (not last or "." in rest or len(rest) < 2):
            return [word]
        return [rest, mark]


def _ends_a_word(text: str) -> bool:
    """Whether a text ends in a letter, a digit, a vowel sign or another mark of a letter, or what closes a word."""
    last = text[-1:]
    return bool(last) and (last.isalnum() or last in _BEHIND_A_WORD or unicodedata.category(last)[0] == "M")


def _has_dotless_i(side: SideProfile, vocabulary: Tokenizer) -> bool:
    """Whether a text has the letter ı, as Turkish has: then I is its capital, and İ that of i."""
    seen = [piece for piece, count in enumerate(side.pieces) if count]
    return any("ı" in text for text in vocabulary.pieces(seen))


def is_lower_cased(side: SideProfile) -> bool:
    """Whether a text has letters with case, and none of them is upper-case."""
    return side.upper + side.lower >= LEAST_LETTERS and side.upper_share <= LOWER_CASED


def separated_marks(side: SideProfile) -> frozenset[str]:
    """The marks that a text nearly always writes with a space before them."""

    def always(counts: Punctuation) -> bool:
        return counts.separate + counts.attached >= _LEAST_MARKS and counts.share >= _ALWAYS

    return frozenset(mark for mark, counts in side.marks.items() if always(counts))
