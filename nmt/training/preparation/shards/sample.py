"""The sample of a scanned text that vocabularies, languages and the profile are learned from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nmt.batches.mixture import quotas
from nmt.text.pairs import Pair
from nmt.training.preparation.shards.blocks import read_sample
from nmt.training.preparation.shards.parts import Part
from nmt.training.preparation.shards.work_files import require_sum

VOCABULARY_PAIRS = 500_000
"""Pairs of the sample."""


class Sample:
    """Pairs of all blocks, evenly chosen; they can be read several times.

    Each part of the corpus has the share that it has in an epoch.

    Args:
        folder: of the scanned blocks.
        parts: of the corpus.
        blocks: names of the blocks of each part.
        kept: pairs of each block.
        sums: the SHA-256 of the sample of each block.
        temperature: of the mixture.
    """

    def __init__(
        self,
        folder: Path,
        parts: Sequence[Part],
        blocks: Mapping[str, Sequence[str]],
        kept: Mapping[str, int],
        sums: Mapping[str, str],
        temperature: float,
    ) -> None:
        self._folder, self._unproved = folder, dict(sums)
        filled = {part: [name for name in blocks[part.name] if kept[name]] for part in parts}
        filled = {part: names for part, names in filled.items() if names}
        sizes = [sum(kept[name] for name in names) for names in filled.values()]
        shares = quotas(sizes, [part.weight for part in filled], temperature) if sizes else []
        self._blocks: list[tuple[str, int]] = []
        for share, names in zip(shares, filled.values(), strict=True):
            count = max(VOCABULARY_PAIRS * share // sum(shares) // len(names), 1)
            self._blocks += [(name, min(count, kept[name])) for name in names]

    def __len__(self) -> int:
        return sum(count for _, count in self._blocks)

    def __iter__(self) -> Iterator[Pair]:
        """The pairs.

        Raises:
            NmtError: the sample of a block is damaged.
        """
        for name, count in self._blocks:
            path = self._folder / f"{name}.sample"
            if name in self._unproved:
                require_sum(path, self._unproved[name], f"delete {path.with_suffix('.json')} and repeat the command")
                del self._unproved[name]
            yield from read_sample(path, count)
