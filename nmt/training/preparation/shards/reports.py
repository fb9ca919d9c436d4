"""Counts of many blocks as lines for the user."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from nmt.progress import counted
from nmt.text.pairs import CorpusReport
from nmt.training.preparation.encoding import PairEncoder

_EXAMPLES = 3


def sum_of(reports: Sequence[CorpusReport]) -> CorpusReport:
    """The counts of parts of a text together."""
    total = CorpusReport()
    for part in reports:
        for name in ("read", "kept", "empty", "invalid", "malformed"):
            setattr(total, name, getattr(total, name) + getattr(part, name))
        both = zip(total.without_letters, part.without_letters, strict=True)
        total.without_letters = [one + two for one, two in both]
        total.examples = [*total.examples, *part.examples][:_EXAMPLES]
        total.malformed_examples = [*total.malformed_examples, *part.malformed_examples][:_EXAMPLES]
    return total


def encoding_lines(encoder: PairEncoder, blocks: Sequence[dict[str, Any]], held_out: int) -> Iterator[str]:
    """Lines on the pairs that the encoding left out or changed.

    Args:
        encoder: of the corpus; it takes the counts.
        blocks: counts of each encoded block.
        held_out: pairs of the text that are held out; 0: none.
    """
    encoder.long = sum(one["long"] for one in blocks)
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
