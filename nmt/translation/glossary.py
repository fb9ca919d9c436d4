"""Glossaries: terms of the source language, and the forms of their translations.

A term occurs where its words follow each other in a sentence. Only whole words count. A lower-case letter of the term
stands for both cases, an upper-case letter for itself alone, so that *US* is not *us*. Where terms overlap, the first
one counts, and of two that begin together the longer one. In scripts without spaces a term may occur anywhere.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from nmt.errors import NmtError
from nmt.text.errors import CorpusError
from nmt.text.lines import read_lines
from nmt.text.pieces import SPACE, UNK
from nmt.text.tokenizer import Tokenizer
from nmt.translation.inference.protocol import PieceForm

GlossaryMode = Literal["prefer", "require"]

UNSPACED = {"CJK", "HIRAGANA", "KATAKANA", "BOPOMOFO", "YI", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
"""Scripts that write no spaces between words, by the first word of their letters' Unicode names."""

KEPT_CHARACTERS = 300
"""Characters of the longest translations of a term whose pieces are kept."""


class Term(NamedTuple):
    """A term of the source language and its translation."""

    source: str
    forms: tuple[str, ...]
    """The forms of the translation; one of them is enough."""


class Occurrence(NamedTuple):
    """A term in a sentence."""

    term: Term
    begin: int
    """Place of the first character in the sentence with single spaces."""
    end: int
    """Place behind the last character."""


class Glossary:
    """The terms of a glossary, ready to be found in sentences.

    Args:
        terms: terms with different sources; of terms with equal sources the first counts.
        mode: prefer lets the terms replace other words; require makes the terms appear.

    Raises:
        NmtError: a term without a source, or with a blank form or none.

    Example:
        >>> glossary = nmt.Glossary.load("data/demo/glossary.tsv", mode="require")
        >>> glossary.terms[0].source, glossary.terms[0].forms
        ('actresses', ('infirmières',))
    """

    def __init__(self, terms: Iterable[Term], mode: GlossaryMode = "prefer") -> None:
        self.terms, self.mode = tuple(terms), mode
        self._folded: dict[tuple[str, ...], list[tuple[tuple[str, ...], Term]]] = {}
        lengths: dict[str, set[int]] = {}
        for term in self.terms:
            words = tuple(word.text for word in _words(term.source))
            if not (words and term.forms and all(form.strip() for form in term.forms)):
                raise NmtError(f"glossary: expected a source and its forms, none of them blank, not {tuple(term)}")
            folded = tuple(word.casefold() for word in words)
            self._folded.setdefault(folded, []).append((words, term))
            lengths.setdefault(folded[0], set()).add(len(words))
        for same in self._folded.values():  # the term with more upper-case letters comes first
            same.sort(key=lambda one: -sum(map(str.isupper, "".join(one[0]))))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    @classmethod
    def load(cls, path: str, mode: GlossaryMode = "prefer") -> Glossary:
        """Reads a glossary: on each line a source term, a tab and its translation; further forms of the translation
        stand behind one more tab, with | between them. Blank lines are skipped.

        Raises:
            CorpusError: a line of another form, or a second line for a term.
        """
        lines: dict[str, int] = {}
        terms = []
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip():
                continue
            source, *cells = (" ".join(cell.split()) for cell in line.split("\t"))
            forms = [*cells[:1], *(form.strip() for cell in cells[1:] for form in cell.split("|") if form.strip())]
            if not source or not any(cells[:1]) or len(cells) > 2:
                raise CorpusError(
                    f"{path}:{number}: expected a source term, a tab, its translation, and behind one more tab further "
                    "forms of the translation with | between them"
                )
            if source in lines:
                raise CorpusError(
                    f"{path}:{number}: '{source}' is on line {lines[source]} too: give all its forms on one line"
                )
            lines[source] = number
            terms.append(Term(source, tuple(dict.fromkeys(forms))))
        return cls(terms, mode)

    def occurrences(self, text: str) -> Iterator[Occurrence]:
        """The terms that occur in a sentence, in order."""
        words = _words(text)
        texts = [word.text for word in words]
        at = 0
        while at < len(words):
            found = self._at(texts, at)
            if found:
                term, length = found
                yield Occurrence(term, words[at].begin, words[at + length - 1].end)
                at += length
            else:
                at += 1

    def of(self, text: str) -> tuple[Term, ...]:
        """The terms that occur in a sentence, each once."""
        return tuple(dict.fromkeys(found.term for found in self.occurrences(text)))

    def missing(self, source: str, translation: str) -> tuple[int, list[Term]]:
        """The number of terms in a sentence, and the terms that its translation lacks; see `unanswered`."""
        terms = [found.term for found in self.occurrences(source)]
        return len(terms), [terms[index] for index in unanswered([term.forms for term in terms], translation)]

    def unwritable(self, vocabulary: Tokenizer) -> list[Term]:
        """The terms that no pieces of a target vocabulary can write."""
        return [term for term in self.terms if not form_pieces(term.forms, vocabulary)]

    def _at(self, words: Sequence[str], at: int) -> tuple[Term, int] | None:
        """The longest term that begins at a word, and the number of its words."""
        for length in self._lengths.get(words[at].casefold(), ()):
            written = words[at : at + length]
            for expected, term in self._folded.get(tuple(word.casefold() for word in written), ()):
                if all(map(_has_upper_case_of, written, expected)):
                    return term, len(written)
        return None


def unanswered(terms: Sequence[tuple[str, ...]], translation: str) -> list[int]:
    """The indices of the terms that no form in a translation answers.

    A form occurs as whole words in any case. Where forms overlap, the first one counts, and of two that begin together
    the longer one. An occurrence answers one term. Terms with few forms choose first, and take forms of few terms.

    Args:
        terms: the forms of each term.
    """
    folded = {forms: {_folded(form) for form in forms} for forms in terms}
    index = Glossary(Term(form.lower(), (form,)) for form in dict.fromkeys(chain(*folded)))
    found = Counter(_folded(one.term.source) for one in index.occurrences(translation))
    sharing = Counter(chain(*(folded[forms] for forms in terms)))
    missing = []
    for number in sorted(range(len(terms)), key=lambda number: len(folded[terms[number]])):
        chosen = min((form for form in folded[terms[number]] if found[form]), key=sharing.__getitem__, default=None)
        if chosen is None:
            missing.append(number)
        else:
            found[chosen] -= 1
    return sorted(missing)


def _folded(form: str) -> tuple[str, ...]:
    """The words of a form, equal for all cases of its letters."""
    return tuple(word.text.casefold() for word in _words(form))


def form_pieces(forms: tuple[str, ...], vocabulary: Tokenizer, capitals: bool = True) -> tuple[PieceForm, ...]:
    """The ways to write a translation in pieces of the target vocabulary; none for forms with unknown characters, and
    none for forms that normalisation empties.

    A form follows an apostrophe or a bracket without a space, and in scripts without spaces it follows anything.

    Args:
        capitals: whether a form begins a sentence with a capital letter too.
    """
    return _kept(_form_pieces, forms)(forms, vocabulary, capitals)


@lru_cache(maxsize=10_000)
def _form_pieces(forms: tuple[str, ...], vocabulary: Tokenizer, capitals: bool) -> tuple[PieceForm, ...]:
    forms = tuple(form for form, text in zip(forms, vocabulary.decode(vocabulary.encode(forms)), strict=True) if text)
    capitalised = [form[0].upper() + form[1:] for form in forms if capitals and form[0].upper() != form[0]]
    spaced, capital = vocabulary.encode(forms), vocabulary.encode(capitalised)
    ways = [PieceForm(pieces, "anywhere") for pieces in spaced] + [PieceForm(pieces, "start") for pieces in capital]
    for form, pieces in zip(forms, spaced, strict=True):
        if UNK in pieces:
            continue
        ways.append(PieceForm(_without_space(pieces, vocabulary), "inside" if is_unspaced(form[0]) else "unspaced"))
    distinct = {tuple(way.pieces): way for way in reversed(ways) if way.pieces and UNK not in way.pieces}
    return tuple(reversed(distinct.values()))


def decoded_forms(forms: tuple[str, ...], vocabulary: Tokenizer) -> tuple[str, ...]:
    """The forms of a translation as the pieces of `form_pieces` decode; normalisation may change characters."""
    return _kept(_decoded_forms, forms)(forms, vocabulary)


@lru_cache(maxsize=10_000)
def _decoded_forms(forms: tuple[str, ...], vocabulary: Tokenizer) -> tuple[str, ...]:
    ways = form_pieces(forms, vocabulary)
    return tuple(dict.fromkeys(text for text in vocabulary.decode([[*way.pieces] for way in ways]) if text))


def _kept(function: Any, forms: Sequence[str]) -> Any:
    """A function with its cache, or without it for long forms: clients of a server could fill the memory with them."""
    return function if sum(map(len, forms)) <= KEPT_CHARACTERS else function.__wrapped__


def _without_space(pieces: Sequence[int], vocabulary: Tokenizer) -> list[int]:
    """The pieces without the space before the first; empty if the vocabulary lacks the first piece without a space."""
    first, *rest = pieces
    bare = vocabulary.pieces([first])[0].removeprefix(SPACE)
    if not bare:
        return rest
    found = vocabulary.index(bare)
    return [] if found is None else [found, *rest]


class _Word(NamedTuple):
    text: str
    begin: int
    end: int


def _words(text: str) -> list[_Word]:
    """The words of a text with single spaces: runs of letters, digits and marks; any other character is a word too."""
    text = " ".join(text.split())
    words: list[_Word] = []
    kind = ""
    for place, character in enumerate(text):
        before, kind = kind, _kind(character)
        if words and (kind == "mark" or kind == before == "letter"):
            kind = before
            words[-1] = _Word(words[-1].text + character, words[-1].begin, place + 1)
        elif kind != "space":
            words.append(_Word(character, place, place + 1))
    return [word._replace(text=unicodedata.normalize("NFC", word.text)) for word in words]


def _has_upper_case_of(word: str, expected: str) -> bool:
    """Whether a word has upper-case letters where the expected word has them; both are equal but for case."""
    return word == expected or all(c == d or not d.isupper() for c, d in zip(word, expected, strict=False))


@cache  # no more entries than Unicode has characters
def _kind(character: str) -> Literal["space", "mark", "letter", "other"]:
    """The role of a character in words; a letter of a script without spaces is a word by itself."""
    if character == " ":
        return "space"
    category = unicodedata.category(character)
    if category[0] == "M":
        return "mark"
    return "letter" if category[0] in "LN" and not is_unspaced(character) else "other"


def is_unspaced(character: str) -> bool:
    """Whether the character is a letter of a script that writes no spaces."""
    name = unicodedata.name(character, "")
    return unicodedata.category(character)[0] == "L" and name.replace("-", " ").split(" ")[0] in UNSPACED
