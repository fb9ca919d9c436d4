"""Encoded blocks joined to shards of about a million pairs, so that a large corpus has few files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.batches.sharded_corpus import MOST_IDS, RECORD, CorpusShards, Shard, count_lengths
from nmt.errors import NmtError
from nmt.files.atomic_writing import replacing
from nmt.files.named_files import open_bytes
from nmt.progress import LineProgress
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.errors import RunError
from nmt.training.preparation.shards.work_files import require_sum

SHARD_PAIRS = 2**20
"""Pairs from which on a shard is full."""


@dataclass(frozen=True)
class EncodedBlock:
    """The sizes of an encoded block."""

    name: str
    pairs: int
    ids: int
    sums: Mapping[str, str]
    """SHA-256 of its files, by the ends of their names."""


def grouped(blocks: Sequence[EncodedBlock]) -> Iterator[list[EncodedBlock]]:
    """Consecutive blocks that make a shard together; blocks without pairs belong to none."""
    group: list[EncodedBlock] = []
    for block in blocks:
        if not block.pairs:
            continue
        if group and sum(one.ids for one in group) + block.ids > MOST_IDS:
            yield group
            group = []
        group.append(block)
        if sum(one.pairs for one in group) >= SHARD_PAIRS:
            yield group
            group = []
    if group:
        yield group


class Packer:
    """Writes shards, and counts lengths and pieces. Finished shards stay unchanged.

    Args:
        encoded: directory of the blocks.
        anew: the remedy for a damaged mark of a finished shard, for the message.
        shards: directory of the shards, which exists.
        dtype: of the ids.
        vocabulary: pieces of the larger vocabulary.
    """

    def __init__(self, encoded: Path, shards: Path, dtype: str, vocabulary: int, anew: str) -> None:
        self._encoded, self._shards, self._dtype, self._anew = encoded, shards, np.dtype(dtype), anew
        self.lengths = np.zeros((0, 4), np.int64)
        """Pairs of each corpus with the same lengths: corpus, source, target, pairs."""
        self.pieces = np.zeros((2, vocabulary), np.int64)
        """How often each piece occurs in the sources and in the targets."""
        self.digests: dict[str, str] = {}
        """SHA-256 of each file of a shard."""
        self._number = 0

    def pack(self, name: str, weight: float, blocks: Sequence[EncodedBlock], progress: LineProgress) -> CorpusShards:
        """The shards of one part of the corpus.

        Raises:
            NmtError: a file of an interrupted preparation is damaged.
        """
        corpus, found = len({int(cell) for cell in self.lengths[:, 0]}), []
        for group in grouped(blocks):
            shard = f"{self._number:05d}"
            self._number += 1
            done = self._shards / f"{shard}.done.npz"
            if not done.exists():
                self._write(shard, group, done)
            for block in group:
                for end in (".ids", ".index"):
                    (self._encoded / f"{block.name}{end}").unlink(missing_ok=True)
            arrays = self._read(done)
            about = json.loads(str(arrays["about"]))
            self._add(corpus, arrays["lengths"])
            self.pieces += arrays["pieces"]
            self.digests |= about["digests"]
            found.append(Shard(**about["shard"]))
            progress.advance(sum(block.pairs for block in group))
        return CorpusShards(name, weight, tuple(found))

    def _read(self, done: Path) -> dict[str, np.ndarray]:
        try:
            arrays = load_arrays(done)
        except RunError:
            raise NmtError(f"{done}: damaged or missing: {self._anew}") from None
        if arrays.keys() != {"lengths", "pieces", "about"}:
            raise NmtError(f"{done}: damaged or missing: {self._anew}")
        return arrays

    def _bytes_of(self, block: EncodedBlock, end: str) -> bytes:
        """The content of a file of an encoded block."""
        path = self._encoded / f"{block.name}{end}"
        require_sum(path, block.sums[end], f"delete {path.with_suffix('.json')} and repeat the command")
        return path.read_bytes()

    def _add(self, corpus: int, cells: np.ndarray) -> None:
        """Adds the lengths of a shard to those of its corpus."""
        new = np.concatenate([np.full((len(cells), 1), corpus), cells], axis=1)
        both = np.concatenate([self.lengths, new])
        keys, inverse = np.unique(both[:, :3], axis=0, return_inverse=True)
        pairs = np.zeros(len(keys), np.int64)
        np.add.at(pairs, inverse.ravel(), both[:, 3])
        self.lengths = np.concatenate([keys, pairs[:, None]], axis=1)

    def _write(self, shard: str, group: Sequence[EncodedBlock], done: Path) -> None:
        """Writes the files of a shard, and behind them `done` with what the other shards do not tell."""
        places = [self._shards / f"{shard}{end}" for end in (".ids", ".index")]
        sums = hashlib.sha256(), hashlib.sha256()
        pieces, cells, before = np.zeros_like(self.pieces), [], 0
        with replacing(places, unique=False) as parts, ExitStack() as opened:
            ids, indices = (
                opened.enter_context(open_bytes(part, "w", place)) for part, place in zip(parts, places, strict=True)
            )
            for block in group:
                flat = np.frombuffer(self._bytes_of(block, ".ids"), self._dtype)
                index = np.frombuffer(self._bytes_of(block, ".index"), RECORD).copy()
                of_source = np.repeat(np.tile([True, False], len(index)), _interleaved(index))
                for side, chosen in enumerate((flat[of_source], flat[~of_source])):
                    pieces[side] += np.bincount(chosen, minlength=pieces.shape[1])
                cells.append(count_lengths(index))
                index["begin"] += np.uint32(before)
                before += len(flat)
                for file, digest, content in zip((ids, indices), sums, (flat, index), strict=True):
                    file.write(content.tobytes())
                    digest.update(content.tobytes())
        about = {
            "shard": asdict(Shard(shard, sum(block.pairs for block in group), before)),
            "digests": {place.name: digest.hexdigest() for place, digest in zip(places, sums, strict=True)},
        }
        arrays: dict[str, Any] = {"lengths": np.concatenate(cells), "pieces": pieces, "about": json.dumps(about)}
        save_arrays(done, arrays)


def remove_marks(shards: Path) -> None:
    """Deletes the marks of finished shards once the manifest is there. Until then the marks alone say that the blocks
    of a shard are not needed any more."""
    for path in shards.glob("*.done.npz"):
        path.unlink()


def _interleaved(index: np.ndarray) -> np.ndarray:
    """The lengths of source and target of each pair in turn, [2 x pairs]."""
    return np.stack([index["source"], index["target"]], axis=1).ravel().astype(np.int64)
