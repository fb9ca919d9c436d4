"""The profile of a run's training text, and pairs whose sides are the wrong way round."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nmt.progress import counted
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.text_profile import load_profile, save_profile
from nmt.text.pairs import Pair
from nmt.text.profile import UNREADABLE, TextProfile
from nmt.text.spread_sample import SpreadSample
from nmt.text.swapped_sides import SAMPLE, Leaning, Vocabularies, measure_profile


class Profiler:
    """Measures the profile of training pairs while another reader takes them.

    Args:
        vocabularies: the run's.
        languages: of source and target.
    """

    def __init__(self, vocabularies: Vocabularies, languages: tuple[str, str]) -> None:
        self._vocabularies, self._languages = vocabularies, languages
        self._sample: SpreadSample[Pair] = SpreadSample(SAMPLE)

    def over(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Hands the pairs on, and keeps a sample of them for the profile."""
        return self._sample.over(pairs)

    def save(self, directory: Path) -> TextProfile:
        """Saves the profile of the pairs that `over` handed on, and returns it."""
        pairs = [(pair.source, pair.target) for pair in self._sample.kept]
        profile = measure_profile(pairs, self._vocabularies, self._languages)
        save_profile(directory, profile)
        return profile


def doubtful_sides(validation: Sequence[Pair], profile: TextProfile, vocabularies: Vocabularies) -> Iterator[str]:
    """Yields a warning if most validation pairs have one text on both sides, or if they clearly have their sides the
    other way round than the training pairs.
    """
    equal = sum(pair.source == pair.target for pair in validation)
    if 2 * equal > len(validation):
        yield (
            f"warning: {equal:,} of {counted(len(validation), 'validation pair')} have the same text on both sides: is "
            "one file the source and the target? Then stop here, and name the other file"
        )
    if sides := _exchanged_sides(validation, profile, vocabularies):
        yield (
            f"warning: {sides} of the validation pairs looks like the other side of the training pairs: are the files "
            "of corpus.train or of corpus.validation swapped? Then stop here, and exchange source and target there"
        )


def unreadable_text(profile: TextProfile, run: str) -> Iterator[str]:
    """Yields a warning for each side with much text that the vocabularies of another run do not have.

    Args:
        profile: of the training text.
        run: the directory that `vocabulary.run` names; empty: the vocabularies were made from this text.
    """
    for name, side in (("source", profile.source), ("target", profile.target)) if run else ():
        if side.unreadable_share > UNREADABLE:
            yield (
                f"warning: the vocabulary of {run} lacks {side.unreadable_share:.0%} of the pieces of the {name} text, "
                f"so the model cannot {'read' if name == 'source' else 'write'} them: --vocabulary.run '' makes a new "
                "vocabulary"
            )


def exchanged_beside_initial(pairs: Sequence[Pair], initial: Run) -> Iterator[str]:
    """Yields a warning if pairs clearly have their sides the other way round than another run's training text.

    A damaged profile is a warning too: nothing else of the training needs it.
    """
    try:
        profile = load_profile(initial.directory, (initial.source.size, initial.target.size))
    except RunError as error:
        yield f"warning: {error}"
        return
    vocabularies = Vocabularies(initial.source, initial.target)
    if profile and (sides := _exchanged_sides(pairs, profile, vocabularies)):
        yield (
            f"warning: {sides} of the pairs looks like the other side of {initial.directory}, whose weights training "
            "begins with: are source and target swapped? Then stop here, and exchange them"
        )


def _exchanged_sides(pairs: Sequence[Pair], profile: TextProfile, vocabularies: Vocabularies) -> str:
    """The sides that look like the other side, in words; empty: none does."""
    found = []
    for place, side in enumerate(("source", "target")):
        leaning = Leaning()
        leaning.add([str(pair[place]) for pair in pairs], profile, vocabularies)
        if leaning.looks_exchanged(side, profile):
            found.append(side)
    return "each side" if len(found) == 2 else "".join(f"the {side} side" for side in found)
