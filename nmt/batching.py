"""Which sentences make which batch, and the arrays of a batch. NumPy only: the same plan feeds every backend."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from nmt.errors import NmtError
from nmt.files import open_bytes, write_whole
from nmt.text.pieces import BOS, EOS, PAD

BLANK = -1
"""Index of a row that only fills its batch up; such rows stand at a batch's end."""


class Batch(NamedTuple):
    """Right-padded ids, int32."""

    source: np.ndarray
    """[sentences, positions]: pieces, then end of sentence."""
    target_in: np.ndarray
    """[sentences, steps]: beginning of sentence, then pieces; what teacher forcing feeds."""
    target_out: np.ndarray
    """[sentences, steps]: pieces, then end of sentence; what is to be predicted."""


class GuidedBatch(NamedTuple):
    """A `Batch` with what its attention should be."""

    source: np.ndarray
    target_in: np.ndarray
    target_out: np.ndarray
    links: np.ndarray
    """float32 [sentences, steps, positions]: where the piece of a step is linked, the source pieces that it is linked
    to, in equal shares; rows of other steps are zero."""


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


def pad(
    ids: np.ndarray, lengths: np.ndarray, before: Sequence[int] = (), after: Sequence[int] = (), width: int = 0
) -> np.ndarray:
    """Rows of ids, right-padded with PAD, with `before` and `after` added to each.

    Args:
        ids: the rows' ids one after the other, [pieces].
        lengths: ids of each row, [rows].
        width: of the result; 0: as long as the longest row.

    Returns:
        int32 [rows, longest + len(before) + len(after), or width].
    """
    extra = len(before) + len(after)
    rows = np.full((len(lengths), width or int(lengths.max(initial=0)) + extra), PAD, np.int32)
    columns = np.arange(rows.shape[1])
    rows[:, : len(before)] = before
    rows[(columns >= len(before)) & (columns < lengths[:, None] + len(before))] = ids
    for offset, value in enumerate(after):
        rows[np.arange(len(rows)), lengths + len(before) + offset] = value
    return rows


def source_rows(sequences: Sequences, indices: np.ndarray) -> np.ndarray:
    """Source sentences as the encoder reads them, end of sentence included: int32 [sentences, positions]."""
    return pad(*sequences.gather(indices), after=[EOS])


def make_batch(source: Sequences, target: Sequences, indices: np.ndarray, width: int = 0) -> Batch:
    """The pairs with these indices, padded to the longest of each side, or both sides to `width`.

    The index `BLANK` gives a row with nothing to predict.
    """
    real = indices[indices != BLANK]
    ids, lengths = target.gather(real)
    batch = Batch(
        pad(*source.gather(real), after=[EOS], width=width),
        pad(ids, lengths, before=[BOS], width=width),
        pad(ids, lengths, after=[EOS], width=width),
    )
    blank = len(indices) - len(real)
    return Batch(*(np.pad(rows, ((0, blank), (0, 0)), constant_values=PAD) for rows in batch)) if blank else batch


def link_rows(links: Sequences, indices: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """Piece links of the pairs with these indices as `GuidedBatch.links`.

    Args:
        links: of each pair the target piece and the source piece of its first link, of its second, and so on.
        indices: of the pairs; `BLANK` is a row without links.
        shape: of the result, [sentences, steps, positions].
    """
    ids, lengths = links.gather(indices[indices != BLANK])
    target, source = ids.reshape(-1, 2).T
    rows = np.zeros(shape, np.float32)
    rows[np.repeat(np.arange(len(lengths)), lengths // 2), target, source] = 1
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), 1)


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

    def most_cells(self, batches: Iterable[np.ndarray]) -> int:
        """Sentences x source positions x target steps of the batch that has most of them, padding included."""
        return max(len(batch) * positions * steps for batch in batches for positions, steps in [self._padded(batch)])

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

    def width(self, batch: np.ndarray) -> int:
        """What both sides of a batch are padded to; 0: each to its own longest."""
        return 0

    def waste(self, batches: Iterable[np.ndarray]) -> float:
        """Share of the batches' positions, both sides together, that is padding."""
        real = padded = 0
        for batch in batches:
            pairs = batch[batch != BLANK]
            real += int(self.source_lengths[pairs].sum() + self.target_lengths[pairs].sum())
            padded += sum(self._padded(batch)) * len(batch)
        return 1 - real / max(padded, 1)

    def _padded(self, batch: np.ndarray) -> tuple[int, int]:
        """Positions and steps that a batch has."""
        width, pairs = self.width(batch), batch[batch != BLANK]
        return width or int(self.source_lengths[pairs].max()), width or int(self.target_lengths[pairs].max())


@dataclass(frozen=True)
class GridPlan(Plan):
    """Batches of few shapes, for a compiler that makes a program for each: XLA, so JAX.

    A pair's longer side is rounded up to one of `shapes` widths, and all batches of a width have as many rows. What
    does not fill a batch waits for the next window; at the end of a pass the rests go together into the wider batches,
    and blank rows fill the last ones.

    Args:
        shapes: batch shapes at most.
    """

    shapes: int = 24

    @cached_property
    def widths(self) -> np.ndarray:
        """Widths of the batches, rising: those that pad least, [at most shapes]."""
        return best_widths(np.maximum(self.source_lengths, self.target_lengths), self.shapes)

    def rows(self, width: int) -> int:
        """Rows of a batch of this width."""
        return max(1, self.batch_tokens // width)

    def width(self, batch: np.ndarray) -> int:
        pairs = batch[batch != BLANK]
        longest = max(int(self.source_lengths[pairs].max()), int(self.target_lengths[pairs].max()))
        return int(self.widths[np.searchsorted(self.widths, longest)])

    def batches(self, pass_index: int) -> Iterator[np.ndarray]:
        random = np.random.default_rng((self.seed, pass_index))
        costs = np.maximum(self.source_lengths, self.target_lengths)
        order = random.permutation(len(costs))
        rests = {int(width): order[:0] for width in self.widths}
        for begin in range(0, len(order), self.window):
            window = order[begin : begin + self.window]
            of_width = self.widths[np.searchsorted(self.widths, costs[window])]
            batches = []
            for width, rest in rests.items():
                pairs = np.concatenate([rest, window[of_width == width]])
                full = len(pairs) // self.rows(width) * self.rows(width)
                batches += list(pairs[:full].reshape(-1, self.rows(width)))
                rests[width] = pairs[full:]
            yield from (batches[i] for i in random.permutation(len(batches)))
        yield from self._fill(rests)

    def _fill(self, rests: dict[int, np.ndarray]) -> Iterator[np.ndarray]:
        """Batches of what is left, the widest first, each filled from the next narrower widths."""
        left = np.concatenate([rests[width] for width in sorted(rests, reverse=True)] or [np.zeros(0, int)])
        while len(left):
            rows = self.rows(self.width(left[:1]))
            batch, left = left[:rows], left[rows:]
            yield np.pad(batch, (0, rows - len(batch)), constant_values=BLANK)


def best_widths(costs: np.ndarray, count: int) -> np.ndarray:
    """At most `count` of the values of `costs` that, each cost rounded up to the next of them, add least to the sum.

    Exact, by dynamic programming over the distinct values.
    """
    values, numbers = np.unique(costs, return_counts=True)
    before = np.concatenate([[0], np.cumsum(numbers)])
    # total[j]: least sum of the first j values with the widths used so far; chosen[k][j]: where the last one begins.
    total, chosen = np.where(np.arange(len(values) + 1) == 0, 0.0, np.inf), []
    for _ in range(min(count, len(values))):
        spans = (before[None, 1:] - before[:-1, None]) * values[None, :]  # [from, to]
        sums = np.where(np.arange(len(values))[:, None] <= np.arange(len(values)), total[:-1, None] + spans, np.inf)
        chosen.append(np.concatenate([[0], sums.argmin(axis=0)]))
        total = np.minimum(total, np.concatenate([[0.0], sums.min(axis=0)]))
    widths, end = [], len(values)
    for starts in reversed(chosen):
        if end:
            widths.append(values[end - 1])
            end = int(starts[end])
    return np.array(widths[::-1], np.int64)


class EncodedCorpus:
    """Sentence pairs as ids, and their links where attention is guided, in a directory, memory-mapped: memory does not
    grow with the corpus.

    Raises:
        NmtError: what is there is not what `write` wrote; the message names the directory.
    """

    FIELDS = ("source", "target")

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        try:
            self.about = json.loads((directory / "about.json").read_text(encoding="utf-8"))
            self.source, self.target = (self._open(field) for field in self.FIELDS)
            self.links = self._open("links") if self.about.get("links") else None
            if len({len(part) for part in (self.source, self.target, self.links) if part is not None}) > 1:
                raise ValueError("the sides have different numbers of sentences")
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise NmtError(f"{directory}: the encoded sentence pairs are damaged or not all there") from error

    def _open(self, field: str) -> Sequences:
        offsets = np.fromfile(self.directory / f"{field}.lengths", np.int32).cumsum(dtype=np.int64)
        ids = self.directory / f"{field}.ids"
        flat = np.memmap(ids, self.about["dtype"], "r") if ids.stat().st_size else np.zeros(0, np.int32)
        sequences = Sequences(flat, np.concatenate([[0], offsets]))
        if len(flat) != sequences.offsets[-1]:
            raise ValueError(f"{ids}: {len(flat)} ids, and not the {sequences.offsets[-1]} that its sentences have")
        return sequences

    def __len__(self) -> int:
        return len(self.source)

    def plan(self, batch_tokens: int, window: int, seed: int, shapes: int = 0) -> Plan:
        """The plan over these pairs, end of sentence counted; with at most `shapes` batch shapes, if not 0."""
        lengths = self.source.lengths + 1, self.target.lengths + 1
        if shapes:
            return GridPlan(*lengths, batch_tokens, window, seed, shapes)
        return Plan(*lengths, batch_tokens, window, seed)

    def batch(self, indices: np.ndarray, width: int = 0) -> Batch | GuidedBatch:
        """The pairs with these indices, see `make_batch`, with their links where the corpus has them."""
        batch = make_batch(self.source, self.target, indices, width)
        if self.links is None:
            return batch
        return GuidedBatch(*batch, link_rows(self.links, indices, (*batch.target_out.shape, batch.source.shape[1])))

    @classmethod
    def write(
        cls,
        directory: Path,
        chunks: Iterable[tuple[Sequence[Sequence[int]], ...]],
        vocabulary: int,
        links: bool = False,
    ) -> EncodedCorpus:
        """Writes chunks of (source sequences, target sequences) and opens the result; `about.json` comes last.

        Args:
            directory: made when missing; a corpus that stands there is replaced.
            vocabulary: size of the larger vocabulary, which decides the bytes of an id.
            links: whether chunks have a third part, the links of each pair as `link_rows` reads them.
        """
        fields = (*cls.FIELDS, "links") if links else cls.FIELDS
        dtype = np.dtype(np.uint16 if vocabulary <= 2**16 else np.int32)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "about.json").unlink(missing_ok=True)
        with ExitStack() as stack:

            def opened(name: str) -> BinaryIO:
                return stack.enter_context(open_bytes(directory / name, "w"))

            files = {field: (opened(f"{field}.ids"), opened(f"{field}.lengths")) for field in fields}
            for chunk in chunks:
                for field, sequences in zip(fields, chunk, strict=True):
                    packed = Sequences.of(sequences)
                    files[field][0].write(packed.ids.astype(dtype).tobytes())
                    files[field][1].write(packed.lengths.astype(np.int32).tobytes())
        about = {"dtype": dtype.name, **({"links": True} if links else {})}
        write_whole(directory / "about.json", json.dumps(about).encode())
        return cls(directory)
