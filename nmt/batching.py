"""Which sentences make which batch, and the arrays of a batch. NumPy only: the same plan feeds every backend."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from nmt.tokenizer import BOS, EOS, PAD


class Batch(NamedTuple):
    """Right-padded ids, int32."""

    source: np.ndarray
    """[sentences, positions]: pieces, then end of sentence."""
    target_in: np.ndarray
    """[sentences, steps]: beginning of sentence, then pieces; what teacher forcing feeds."""
    target_out: np.ndarray
    """[sentences, steps]: pieces, then end of sentence; what is to be predicted."""


class Sequences:
    """Many id sequences as one flat array and the offsets where each begins; both may be memory-mapped."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray) -> None:
        self.ids, self.offsets = ids, offsets

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Sequences:
        """Packs lists of ids in memory."""
        offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
        return cls(np.fromiter((i for s in sequences for i in s), np.int32, offsets[-1]), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Pieces of each sequence, int64 [sequences]."""
        return np.diff(self.offsets)

    def gather(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The chosen sequences one after the other, int32 [pieces], and the length of each, [sequences]."""
        begin, lengths = self.offsets[indices], self.offsets[indices + 1] - self.offsets[indices]
        # Position k of the result lies k - (start of its row in the result) behind the row's beginning.
        starts = np.repeat(begin - np.cumsum(lengths) + lengths, lengths)
        return self.ids[starts + np.arange(lengths.sum())].astype(np.int32), lengths


def pad(ids: np.ndarray, lengths: np.ndarray, before: Sequence[int] = (), after: Sequence[int] = ()) -> np.ndarray:
    """Rows of ids, right-padded with PAD, with `before` and `after` added to each.

    Args:
        ids: the rows' ids one after the other, [pieces].
        lengths: ids of each row, [rows].

    Returns:
        int32 [rows, longest + len(before) + len(after)].
    """
    extra = len(before) + len(after)
    rows = np.full((len(lengths), int(lengths.max(initial=0)) + extra), PAD, np.int32)
    columns = np.arange(rows.shape[1])
    rows[:, : len(before)] = before
    rows[(columns >= len(before)) & (columns < lengths[:, None] + len(before))] = ids
    for offset, value in enumerate(after):
        rows[np.arange(len(rows)), lengths + len(before) + offset] = value
    return rows


def source_rows(sequences: Sequences, indices: np.ndarray) -> np.ndarray:
    """Source sentences as the encoder reads them, end of sentence included: int32 [sentences, positions]."""
    return pad(*sequences.gather(indices), after=[EOS])


def make_batch(source: Sequences, target: Sequences, indices: np.ndarray) -> Batch:
    """The pairs with these indices, padded to the longest of each side."""
    ids, lengths = target.gather(indices)
    return Batch(source_rows(source, indices), pad(ids, lengths, before=[BOS]), pad(ids, lengths, after=[EOS]))


def cut(costs: np.ndarray, order: np.ndarray, budget: int) -> list[np.ndarray]:
    """Cuts `order` (indices by falling cost) so that sentences times the largest cost stays within the budget.

    A sentence longer than the budget gets a batch of its own. All batches but the last are full.
    """
    batches, begin = [], 0
    while begin < len(order):
        rows = max(1, budget // int(costs[order[begin]]))
        batches.append(order[begin : begin + rows])
        begin += rows
    return batches


def by_length(source_lengths: np.ndarray, target_lengths: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """`indices`, longest pairs first, pairs of like lengths on both sides beside each other."""
    source, target = source_lengths[indices], target_lengths[indices]
    return indices[np.lexsort((source, target, np.maximum(source, target)))[::-1]]


@dataclass(frozen=True)
class Plan:
    """The batches of every pass: a function of seed and pass alone, so a run can go on from any batch.

    The pairs of a pass are shuffled and read window by window; a window is sorted by length, cut by the token budget
    and its batches shuffled. The last batch of a window is not full: its pairs flow into the next window.

    Args:
        source_lengths, target_lengths: pieces of each pair, end of sentence included, [pairs].
        batch_tokens: budget, sentences times the longest sentence of either side.
        window: pairs sorted together.
        seed: of the order.
    """

    source_lengths: np.ndarray
    target_lengths: np.ndarray
    batch_tokens: int
    window: int
    seed: int

    def batches(self, pass_index: int) -> Iterator[np.ndarray]:
        """Indices of the pairs of each batch of one pass; every pair comes exactly once."""
        random = np.random.default_rng((self.seed, pass_index))
        costs = np.maximum(self.source_lengths, self.target_lengths)
        order = random.permutation(len(costs))
        rest = order[:0]
        for begin in range(0, len(order), self.window):
            indices = np.concatenate([rest, order[begin : begin + self.window]])
            batches = cut(costs, by_length(self.source_lengths, self.target_lengths, indices), self.batch_tokens)
            rest = batches.pop() if begin + self.window < len(order) else order[:0]
            yield from (batches[i] for i in random.permutation(len(batches)))

    def waste(self, batches: Iterable[np.ndarray]) -> float:
        """Share of the batches' positions, both sides together, that is padding."""
        real = padded = 0
        for batch in batches:
            for lengths in (self.source_lengths[batch], self.target_lengths[batch]):
                real += int(lengths.sum())
                padded += int(lengths.max()) * len(batch)
        return 1 - real / max(padded, 1)


class EncodedCorpus:
    """Sentence pairs as ids in a directory, memory-mapped: memory does not grow with the corpus."""

    FIELDS = ("source", "target")

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.about = json.loads((directory / "about.json").read_text(encoding="utf-8"))
        self.source, self.target = (self._open(field) for field in self.FIELDS)

    def _open(self, field: str) -> Sequences:
        offsets = np.fromfile(self.directory / f"{field}.lengths", np.int32).cumsum(dtype=np.int64)
        ids = self.directory / f"{field}.ids"
        flat = np.memmap(ids, self.about["dtype"], "r") if ids.stat().st_size else np.zeros(0, np.int32)
        return Sequences(flat, np.concatenate([[0], offsets]))

    def __len__(self) -> int:
        return len(self.source)

    def plan(self, batch_tokens: int, window: int, seed: int) -> Plan:
        """The plan over these pairs, end of sentence counted."""
        return Plan(self.source.lengths + 1, self.target.lengths + 1, batch_tokens, window, seed)

    def batch(self, indices: np.ndarray) -> Batch:
        """The pairs with these indices."""
        return make_batch(self.source, self.target, indices)

    @classmethod
    def write(
        cls,
        directory: Path,
        chunks: Iterable[tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]],
        vocabulary: int,
    ) -> EncodedCorpus:
        """Writes chunks of (source sequences, target sequences) and opens the result; `about.json` comes last.

        Args:
            directory: made when missing; a corpus that stands there is replaced.
            vocabulary: size of the larger vocabulary, which decides the bytes of an id.
        """
        dtype = np.dtype(np.uint16 if vocabulary <= 2**16 else np.int32)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "about.json").unlink(missing_ok=True)
        with ExitStack() as stack:

            def opened(name: str) -> BinaryIO:
                return stack.enter_context(open(directory / name, "wb"))

            files = {field: (opened(f"{field}.ids"), opened(f"{field}.lengths")) for field in cls.FIELDS}
            for chunk in chunks:
                for field, sequences in zip(cls.FIELDS, chunk, strict=True):
                    packed = Sequences.of(sequences)
                    packed.ids.astype(dtype).tofile(files[field][0])
                    packed.lengths.astype(np.int32).tofile(files[field][1])
        temporary = directory / "about.json.part"
        temporary.write_text(json.dumps({"dtype": dtype.name}), encoding="utf-8")
        os.replace(temporary, directory / "about.json")
        return cls(directory)
