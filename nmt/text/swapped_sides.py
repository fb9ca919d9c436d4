"""Whether text looks like the other side of a corpus: exchanged files, or a sentence of the wrong language.

Each line has a probability under the unigram counts of the pieces of each side. The difference of the logarithms, in
nats, is the leaning of the line towards the target side. It also tells apart languages of one script.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nmt.text.cleaning.features import count_characters
from nmt.text.pieces import SPACE
from nmt.text.profile import SideProfile, TextProfile
from nmt.text.tokenizer import Tokenizer

SAMPLE = 5_000
"""Pairs of a training text that its profile is measured on."""

_LEANING_LINES = 1_000
"""Lines of each side that measure its own leaning."""
_LEAST_GAP = 0.2
"""Nats per character between the sides, below which they are too much alike to be told apart."""
_LEAST_PIECE_GAP = 0.5
"""Nats per piece between the sides, below which they are too much alike to be told apart."""
_NEARNESS = 0.55
"""Share of the other side's leaning from which a text looks like that side. On real text, exchanged sides have 0.6 and
more, even from another domain, and other languages have 0.4 and less."""
_EVIDENCE = 20.0
"""Nats of the whole text from which its leaning counts."""
_LEAST_CHARACTERS = 24
"""Characters from which the leaning of a text counts: a few names say little."""
_AGREEMENT = 0.8
"""Share of the lines that lean towards the other side."""


@dataclass(frozen=True)
class Vocabularies:
    """The vocabularies of both sides."""

    source: Tokenizer
    target: Tokenizer


@dataclass
class Leaning:
    """How far the lines of a text lean towards the target side of a corpus. Add lines as they come."""

    nats: float = 0.0
    """Sum over the lines: above 0 if the target side is more probable."""
    characters: int = 0
    to_target: int = 0
    """Lines that lean towards the target side."""
    to_source: int = 0

    def add(self, lines: Sequence[str], profile: TextProfile, vocabularies: Vocabularies) -> np.ndarray:
        """Adds lines, and returns the leaning of each."""
        found = leanings(lines, profile, vocabularies)
        self.nats += float(found.sum())
        self.characters += sum(map(count_characters, lines))
        self.to_target += int((found > 0).sum())
        self.to_source += int((found < 0).sum())
        return found

    @property
    def per_character(self) -> float:
        """Nats per character."""
        return self.nats / max(self.characters, 1)

    def looks_exchanged(self, side: str, profile: TextProfile) -> bool:
        """Whether text that was given as one side clearly looks like the other.

        Args:
            side: `source` or `target`: the side that the text was given as.
            profile: the training text's.
        """
        other, sign = (profile.target_leaning, 1) if side == "source" else (profile.source_leaning, -1)
        lines = self.to_target if side == "source" else self.to_source
        return (
            profile.target_leaning - profile.source_leaning > _LEAST_GAP
            and other * sign > 0
            and self.per_character / other > _NEARNESS
            and self.nats * sign > _EVIDENCE
            and self.characters >= _LEAST_CHARACTERS
            and lines >= _AGREEMENT * (self.to_target + self.to_source)
        )


def measure_profile(
    pairs: Sequence[tuple[str, str]], vocabularies: Vocabularies, languages: tuple[str, str] = ("", "")
) -> TextProfile:
    """The profile of a training text.

    Args:
        pairs: a sample of it.
        vocabularies: the run's.
        languages: of both sides, see `split_sentences`.
    """
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    source = SideProfile.measure(sides[0], vocabularies.source, languages[0])
    target = SideProfile.measure(sides[1], vocabularies.target, languages[1])
    profile = TextProfile(source, target, 0.0, 0.0)
    means = []
    for lines in sides:
        leaning = Leaning()
        leaning.add(lines[:: max(len(lines) // _LEANING_LINES, 1)], profile, vocabularies)
        means.append(leaning.per_character)
    return dataclasses.replace(profile, source_leaning=means[0], target_leaning=means[1])


def are_exchanged(one: TextProfile, other: TextProfile) -> bool:
    """Whether each side of a training text clearly has the pieces of the other side of another training text.

    Args:
        one, other: of texts with one vocabulary, which both sides share.
    """
    to_target = one.target.log_probabilities - one.source.log_probabilities
    means = [
        [float(to_target @ np.array(side.pieces)) / max(sum(side.pieces), 1) for side in (text.source, text.target)]
        for text in (one, other)
    ]
    (source, target), (other_source, other_target) = means
    return (
        target - source > _LEAST_PIECE_GAP
        and other_source > _NEARNESS * target > 0
        and other_target < _NEARNESS * source < 0
    )


def leanings(lines: Sequence[str], profile: TextProfile, vocabularies: Vocabularies) -> np.ndarray:
    """How much more probable each line is under the target side's pieces than under the source side's.

    Each side's vocabulary cuts the line, and the logarithms of the probabilities of its pieces are added. An unknown
    piece counts once for each of its characters.

    Returns:
        Nats for each line, float64 [lines].
    """
    source = _log_likelihoods(lines, profile.source, vocabularies.source)
    return _log_likelihoods(lines, profile.target, vocabularies.target) - source


def _log_likelihoods(lines: Sequence[str], side: SideProfile, vocabulary: Tokenizer) -> np.ndarray:
    table, unreadable = side.log_probabilities, vocabulary.unreadable
    encoded = vocabulary.encode(lines)
    sums = [float(table[ids].sum()) for ids in encoded]
    strange = [row for row, ids in enumerate(encoded) if unreadable[ids].any()]
    for row, pieces in zip(strange, vocabulary.encode_with_surfaces([lines[row] for row in strange]), strict=True):
        more = [(i, len(surface.strip(SPACE)) - 1) for i, surface in pieces if unreadable[i]]
        sums[row] += sum(table[i] * times for i, times in more)
    return np.array(sums)
