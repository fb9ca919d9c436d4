"""Counts of many blocks as lines for the user."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from nmt.config import PairsConfig
from nmt.progress import counted
from nmt.text.errors import CorpusError
from nmt.text.pairs import CorpusReport
from nmt.text.side_lengths import join_windows
from nmt.training.preparation.encoding import PairEncoder
from nmt.training.preparation.shards.parts import Part

_EXAMPLES = 3


def sum_of(reports: Sequence[CorpusReport]) -> CorpusReport:
    """The counts of parts of a text together."""
    total = CorpusReport()
    for part in reports:
        for first, last, windows in part.lengths_apart:
            join_windows(total.lengths_apart, total.read + first, total.read + last, windows)
        for name in ("read", "kept", "empty", "invalid", "malformed", "lengths_others"):
            setattr(total, name, getattr(total, name) + getattr(part, name))
        both = zip(total.without_letters, part.without_letters, strict=True)
        total.without_letters = [one + two for one, two in both]
        total.examples = [*total.examples, *part.examples][:_EXAMPLES]
        total.malformed_examples = [*total.malformed_examples, *part.malformed_examples][:_EXAMPLES]
    return total


def reading_lines(
    part: Part, units: Sequence[tuple[Part, PairsConfig]], reports: Sequence[CorpusReport], named: bool
) -> Iterator[str]:
    """Lines on the pairs that were read of a part of the corpus.

    Args:
        units: the files of all parts.
        reports: the counts of each file.
        named: whether the line with all counts names the part.
    """
    of_part = [(unit, found) for (of, unit), found in zip(units, reports, strict=True) if of is part]
    together = sum_of([found for _, found in of_part])
    if len(of_part) > 1:  # rows are counted in each file
        together.lengths_apart = []
        yield from (f"warning: {unit.title}: {found.shifted}" for unit, found in of_part if found.shifted)
    yield f"{part.name}: {together.summary()}" if named else together.summary()


def encoding_lines(encoder: PairEncoder, blocks: Sequence[dict[str, Any]], held_out: int) -> Iterator[str]:
    """Lines on the pairs that the encoding left out or changed.

    Args:
        encoder: of the corpus; it takes the counts.
        blocks: counts of each encoded block.
        held_out: pairs of the text that are held out; 0: none.
    """
    encoder.long, encoder.empty = (sum(one[name] for one in blocks) for name in ("long", "empty"))
    for side, rewriting in encoder.rewriting.items():
        for one in blocks:
            lines, *example = one["rewritten"][side]
            if lines and not rewriting.lines:
                rewriting.example = example[0], example[1]
            rewriting.lines += lines
    yield from encoder.report_lines()
    if held_out:
        removed = sum(one["removed"] for one in blocks) - held_out
        near = encoder.config.near_duplicates == "drop"
        duplicates = "near-duplicates of them" if near else "further pairs with their sources"
        yield f"held out for validation: {counted(held_out, 'pair')}; {removed:,} {duplicates} are left out of training"
    yield f"{counted(sum(one['pairs'] for one in blocks), 'training pair')} prepared"


def require_pairs_of(blocks: Mapping[str, Sequence[str]], kept: Mapping[str, int]) -> None:
    """Refuses a part of a text without pairs, before vocabularies are learned.

    Args:
        blocks: names of the blocks of each part.
        kept: pairs of each block.

    Raises:
        CorpusError: names the part.
    """
    for part, names in blocks.items():
        if not any(kept[name] for name in names):
            raise CorpusError(f"{part}: has no sentence pairs: leave this part out, or name other files")
