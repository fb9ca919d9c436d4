"""Training pairs as ids in shards on disk, of any number. Memory holds the batches and windows in work only.

    about.json        type of the ids; for each corpus its name, its weight and its shards with their pairs and ids
    lengths.npy       how many pairs of each corpus have which lengths, int64 [cells, 4]: corpus, source, target, pairs
    pieces.npy        how often each piece occurs in the sources and in the targets, int64 [2, pieces]
    00000.ids         the source ids and the target ids of each pair, one pair behind the other
    00000.index       for each pair where it begins in the ids, and its lengths

The files are read with `pread`, a pair at a time, where the shuffled order needs it. The system caches them. A memory
map would count every page that was touched as memory of the process.

Each file is compared with its SHA-256 once, before its first use. So a command that reads no pair reads no shard.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import resource
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np

from nmt.batches.arrays import Batch, Sequences, padded_batch
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.mixture import Mixture, quotas
from nmt.batches.plan import BatchPlan
from nmt.batches.streamed_plan import LengthCounts, StoredLengths, StreamedFewShapesPlan, StreamedPlan
from nmt.errors import NmtError
from nmt.files.atomic_writing import sync
from nmt.files.named_files import open_bytes

RECORD = np.dtype([("begin", "<u4"), ("source", "<u2"), ("target", "<u2")])
"""An entry of the index: the first id of a pair, counted in ids, and the number of ids of each side."""

LONGEST = 2**16 - 1
"""Most ids of a sentence."""

MOST_IDS = 2**32 - 2 * LONGEST
"""Ids of a shard, at most."""

ABOUT, LENGTHS, PIECES = "about.json", "lengths.npy", "pieces.npy"

_BLOCK = 2**20
"""Bytes of a file that are compared together."""


@dataclass(frozen=True)
class Shard:
    """The sizes of a shard."""

    name: str
    pairs: int
    ids: int


@dataclass(frozen=True)
class CorpusShards:
    """The shards of a corpus."""

    name: str
    weight: float
    shards: tuple[Shard, ...]

    @property
    def pairs(self) -> int:
        """Pairs of all shards."""
        return sum(shard.pairs for shard in self.shards)


def _shard(name: str, pairs: int, ids: int) -> Shard:
    """A shard as `about.json` names it; a ValueError for a name that leads elsewhere, or for no numbers."""
    if not (isinstance(name, str) and name.isdecimal() and len(name) < 10 and type(pairs) is type(ids) is int):
        raise ValueError("a shard has no name or no size")
    return Shard(name, pairs, ids)


def index_of(source_lengths: np.ndarray, target_lengths: np.ndarray) -> np.ndarray:
    """The index of pairs with these lengths, [pairs] of `RECORD`."""
    index = np.zeros(len(source_lengths), RECORD)
    index["source"], index["target"] = source_lengths, target_lengths
    both = source_lengths.astype(np.int64) + target_lengths
    index["begin"] = np.cumsum(both) - both
    return index


def encoded_pairs(sides: tuple[Sequence[Sequence[int]], ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The ids and the index of pairs.

    Args:
        sides: the ids of each source and of each target.
        dtype: of the ids in the file.
    """
    lengths = [np.fromiter(map(len, side), np.int64, len(side)) for side in sides]
    ids = chain.from_iterable(chain.from_iterable(zip(*sides, strict=True)))
    return np.fromiter(ids, dtype, int(sum(length.sum() for length in lengths))), index_of(*lengths)


def count_lengths(index: np.ndarray) -> np.ndarray:
    """How many pairs have which lengths: int64 [cells, 3], of source, target and pairs."""
    keys, pairs = np.unique(index["source"].astype(np.int64) << 16 | index["target"], return_counts=True)
    return np.stack([keys >> 16, keys & LONGEST, pairs], axis=1)


def write_synced(path: Path, *parts: bytes) -> None:
    """Writes a file and waits until it is on the disk."""
    with open_bytes(path, "w") as file:
        for part in parts:
            file.write(part)
    sync(path)


class ShardFile:
    """A file of a shard, compared with its sum before the first time that `descriptor` is read.

    Args:
        path: of the file.
        size: bytes that it must have.
        sum: its SHA-256; None: unknown.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it has another size.
    """

    def __init__(self, path: Path, size: int, sum: str | None) -> None:
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115
        self._name, self._size, self._unproved = path.name, size, sum
        if (found := os.fstat(self.descriptor).st_size) != size:
            raise ValueError(f"{self._name} has {found} bytes, expected {size}")

    @property
    def descriptor(self) -> int:
        """For `os.pread`."""
        return self._file.fileno()

    def require_whole(self) -> None:
        """Compares the content with the sum, the first time.

        Raises:
            ValueError: it differs.
        """
        if self._unproved is None:
            return
        found = hashlib.sha256()
        for begin in range(0, self._size, _BLOCK):
            found.update(os.pread(self.descriptor, min(_BLOCK, self._size - begin), begin))
        if found.hexdigest() != self._unproved:
            raise ValueError(f"{self._name} differs from its sum in manifest.json")
        self._unproved = None


class ShardedCorpus:
    """The pairs of a prepared corpus, in the shards of a directory.

    Args:
        directory: with the files above.
        temperature: how often small corpora are read, see `mixture`.
        sums: the SHA-256 of each file, by name; None: the files are taken as they are.

    Raises:
        NmtError: the files are not complete, or damaged; the message names the directory.
    """

    links = None
    """No links for guided attention."""

    def __init__(self, directory: Path, temperature: float = 1.0, sums: Mapping[str, str] | None = None) -> None:
        self.directory, self.temperature, self._sums = directory, temperature, sums
        try:
            about = json.loads(self._read(ABOUT))
            self._dtype = np.dtype({"uint16": "<u2", "int32": "<i4"}[about["dtype"]])
            self.corpora = tuple(
                CorpusShards(str(one["name"]), float(one["weight"]), tuple(_shard(**shard) for shard in one["shards"]))
                for one in about["corpora"]
            )
            if not self.corpora or not all(corpus.pairs > 0 and corpus.weight > 0 for corpus in self.corpora):
                raise ValueError("a corpus has no pairs")
            shards = [shard for corpus in self.corpora for shard in corpus.shards]
            _allow_open_files(2 * len(shards))
            opened: dict[str, ShardFile] = {}  # a list may name a shard several times
            self._index = [self._open(f"{one.name}.index", one.pairs * RECORD.itemsize, opened) for one in shards]
            self._ids = [self._open(f"{one.name}.ids", one.ids * self._dtype.itemsize, opened) for one in shards]
            self._ends = np.cumsum([shard.pairs for shard in shards])
            self._begins = self._ends - [shard.pairs for shard in shards]
        except (
            FileNotFoundError,
            ValueError,
            TypeError,
            AttributeError,
            LookupError,
            OverflowError,
            RecursionError,
        ) as error:
            raise self._damaged(str(error) if isinstance(error, ValueError) else "files are missing") from error
        self._last: tuple[Any, tuple[np.ndarray, np.ndarray]] | None = None

    def _open(self, name: str, size: int, opened: dict[str, ShardFile]) -> ShardFile:
        if name not in opened:
            opened[name] = ShardFile(self.directory / name, size, self._sum_of(name))
        return opened[name]

    def _sum_of(self, name: str) -> str | None:
        if self._sums is None:
            return None
        if name not in self._sums:
            raise ValueError(f"{name} is not in manifest.json")
        return self._sums[name]

    def _read(self, name: str) -> bytes:
        """A small file as a whole.

        Raises:
            ValueError: it differs from its sum.
        """
        content, expected = (self.directory / name).read_bytes(), self._sum_of(name)
        if expected is not None and hashlib.sha256(content).hexdigest() != expected:
            raise ValueError(f"{name} differs from its sum in manifest.json")
        return content

    def _damaged(self, reason: str) -> NmtError:
        return NmtError(
            f"{self.directory}: the prepared corpus is damaged or not all there ({reason}): restore the file, or "
            f"delete {self.directory.parent} and prepare it again with nmt prepare"
        )

    def _descriptors(self, files: Sequence[ShardFile], shards: Iterable[int]) -> dict[int, int]:
        """The descriptors of the files of some shards, whose content is whole."""
        try:
            for shard in (found := set(shards)):
                files[shard].require_whole()
        except ValueError as error:
            raise self._damaged(str(error)) from None
        return {shard: files[shard].descriptor for shard in found}

    def __len__(self) -> int:
        return int(self._ends[-1])

    def require_ids(self, source_size: int, target_size: int) -> None:
        """Refuses ids that the vocabularies lack, from now on, in each batch that has one. Nothing is read here."""
        self._sizes = source_size, target_size

    _sizes = LONGEST + 1, LONGEST + 1

    def lengths(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of ids of the sources and of the targets of some pairs, int64 [pairs] each."""
        last = self._last
        if last is None or last[0] is not indices:
            records, _ = self._records(indices)
            last = indices, (records["source"].astype(np.int64), records["target"].astype(np.int64))
            self._last = last
        return last[1]

    def _records(self, indices: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """The index of some pairs, and the shard of each."""
        shards = np.searchsorted(self._ends, indices, side="right")
        places = (indices - self._begins[shards]) * RECORD.itemsize
        size, numbers = RECORD.itemsize, shards.tolist()
        files = self._descriptors(self._index, numbers)
        found = [os.pread(files[shard], size, place) for shard, place in zip(numbers, places.tolist(), strict=True)]
        records = b"".join(found)
        if len(records) != len(indices) * size:
            raise self._damaged("an index is cut off")
        return np.frombuffer(records, RECORD), numbers

    def gather(self, indices: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of the sources and of the targets of some pairs: the ids one after the other, int32, and their lengths.

        Raises:
            NmtError: a shard is damaged.
        """
        records, shards = self._records(indices)
        lengths = np.stack([records["source"], records["target"]], axis=1).astype(np.int64)
        width = self._dtype.itemsize
        sizes, begins = lengths.sum(axis=1) * width, records["begin"].astype(np.int64) * width
        files = self._descriptors(self._ids, shards)
        places = zip(shards, sizes.tolist(), begins.tolist(), strict=True)
        content = b"".join([os.pread(files[shard], size, begin) for shard, size, begin in places])
        if len(content) != sizes.sum():
            raise self._damaged("an index does not fit its ids")
        ids = np.frombuffer(content, self._dtype).astype(np.int32)
        of_source = np.repeat(np.tile([True, False], len(indices)), lengths.ravel())
        sides = ids[of_source], ids[~of_source]
        for side, size, name in zip(sides, self._sizes, ("source", "target"), strict=True):
            if len(side) and (side.max() >= size or side.min() < 0):
                raise self._damaged(f"a {name} has the id {side.max()}, and the vocabulary has {size} pieces")
        return [(side, lengths[:, column]) for column, side in enumerate(sides)]

    def sample(self, count: int) -> tuple[Sequences, Sequences]:
        """The sources and the targets of `count` pairs at equal distances, or of all pairs where there are no more."""
        count = min(count, len(self))
        source, target = self.gather(np.arange(count) * len(self) // count)
        return tuple(Sequences(ids, np.concatenate([[0], lengths.cumsum()])) for ids, lengths in (source, target))  # type: ignore[return-value]

    def batch(self, indices: np.ndarray, width: int = 0) -> Batch:
        """The batch of the pairs with these indices, see `make_batch`."""
        real = indices[indices >= 0]
        source, target = self.gather(real)
        return padded_batch(source, target, len(indices), width)

    def plan(self, batch_tokens: int, window: int, seed: int, shapes: int = 0) -> BatchPlan:
        """The batch plan of these pairs. With `shapes` above 0 the batches have at most so many shapes."""
        mixture = Mixture(tuple(corpus.pairs for corpus in self.corpora), self.quotas, seed)
        lengths = StoredLengths(self, 0), StoredLengths(self, 1)
        parts: dict[str, Any] = {"mixture": mixture, "counts": self.length_counts}
        if shapes:
            return StreamedFewShapesPlan(*lengths, batch_tokens, window, seed, shapes, **parts)
        return StreamedPlan(*lengths, batch_tokens, window, seed, **parts)

    @property
    def quotas(self) -> tuple[int, ...]:
        """Pairs of each corpus in an epoch."""
        sizes, weights = zip(*((corpus.pairs, corpus.weight) for corpus in self.corpora), strict=True)
        return tuple(quotas(sizes, weights, self.temperature))

    @property
    def length_counts(self) -> LengthCounts:
        """The lengths of the pairs of an epoch."""
        cells = self._array(LENGTHS)
        if cells.shape[1] != 4 or cells[:, 0].max(initial=0) >= len(self.corpora):
            raise self._damaged(f"{LENGTHS}: other corpora than in {ABOUT}")
        shares = np.array(self.quotas) / [corpus.pairs for corpus in self.corpora]
        return LengthCounts(cells[:, 1] + 1, cells[:, 2] + 1, cells[:, 3] * shares[cells[:, 0]])

    @cached_property
    def piece_counts(self) -> np.ndarray:
        """How often each piece occurs in the sources and in the targets, int64 [2, pieces]."""
        return self._array(PIECES)

    def _array(self, name: str) -> np.ndarray:
        try:
            array: np.ndarray = np.load(io.BytesIO(self._read(name)), allow_pickle=False)
            if array.ndim != 2 or array.dtype != np.int64 or array.min(initial=0) < 0:
                raise ValueError(f"{name} has other numbers than expected")
            return array
        except (OSError, ValueError, EOFError, TokenError) as error:  # a TokenError is of the header
            raise self._damaged(str(error)) from None

    @classmethod
    def write_about(
        cls, directory: Path, dtype: str, corpora: Sequence[CorpusShards], arrays: Mapping[str, np.ndarray]
    ) -> None:
        """Writes the arrays, and `about.json` behind them: the shards are complete."""
        for name, array in arrays.items():
            content = io.BytesIO()  # errors of np.save on a file name no file
            np.save(content, array, allow_pickle=False)
            write_synced(directory / name, content.getvalue())
        about = {"dtype": dtype, "corpora": [asdict(corpus) for corpus in corpora]}
        write_synced(directory / ABOUT, json.dumps(about, indent=1).encode())


TrainingPairs = EncodedCorpus | ShardedCorpus
"""The pairs of a run: a copy of its own, or a prepared corpus."""


def _allow_open_files(count: int) -> None:
    """Raises the process's limit of open files where it is too low, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * count + 512:
        most = hard if hard != resource.RLIM_INFINITY else 2 * count + 512
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(2 * count + 512, most)), hard))
