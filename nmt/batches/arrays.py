"""The arrays of a batch: right-padded ids, and links. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nmt.text.pieces import BOS, EOS, PAD

BLANK = -1
"""The index of a blank row, which only fills a batch. Blank rows come last."""


class Batch(NamedTuple):
    """Right-padded ids, int32."""

    source: np.ndarray
    """[sentences, positions]: ids, then end of sentence."""
    target_in: np.ndarray
    """[sentences, steps]: beginning of sentence, then ids; the decoder's input under teacher forcing."""
    target_out: np.ndarray
    """[sentences, steps]: ids, then end of sentence; the target of the prediction."""


class GuidedBatch(NamedTuple):
    """A `Batch` with target attention weights."""

    source: np.ndarray
    target_in: np.ndarray
    target_out: np.ndarray
    links: np.ndarray
    """float32 [sentences, steps, positions]: equal weights on the source pieces that the step's piece is linked to. The
    row of a step without links is zero."""


class Sequences:
    """Many id sequences in one flat array, with the offset of each sequence; both arrays may be memory-mapped."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray) -> None:
        self.ids, self.offsets = ids, offsets

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]]) -> Sequences:
        """The same sequences in memory."""
        offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
        return cls(np.fromiter((i for s in sequences for i in s), np.int32, offsets[-1]), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of ids of each sequence, int64 [sequences]."""
        return np.diff(self.offsets)

    def gather(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The ids of the chosen sequences one after the other, int32 [ids], and the length of each, [sequences]."""
        begin, lengths = self.offsets[indices], self.offsets[indices + 1] - self.offsets[indices]
        # Position k of the result is at k - (start of its row in the result) within its sequence.
        starts = np.repeat(begin - np.cumsum(lengths) + lengths, lengths)
        return self.ids[starts + np.arange(lengths.sum())].astype(np.int32), lengths


def pad(
    ids: np.ndarray, lengths: np.ndarray, before: Sequence[int] = (), after: Sequence[int] = (), width: int = 0
) -> np.ndarray:
    """Rows of ids, right-padded with PAD, with the ids `before` and `after` around each row.

    Args:
        ids: the ids of the rows one after the other, [ids].
        lengths: the number of ids of each row, [rows].
        before, after: ids added to each row.
        width: columns of the result; 0: as many as the longest row has.

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
    """The encoder's input, end of sentence included: int32 [sentences, positions]."""
    return pad(*sequences.gather(indices), after=[EOS])


def make_batch(source: Sequences, target: Sequences, indices: np.ndarray, width: int = 0) -> Batch:
    """The batch of the pairs with these indices; the index `BLANK` gives a row of padding.

    Args:
        source, target: the ids of all pairs.
        indices: the pairs of the batch.
        width: columns of both sides; 0: each side is padded to its longest sentence.
    """
    real = indices[indices != BLANK]
    return padded_batch(source.gather(real), target.gather(real), len(indices), width)


def padded_batch(
    source: tuple[np.ndarray, np.ndarray], target: tuple[np.ndarray, np.ndarray], rows: int, width: int = 0
) -> Batch:
    """The batch of some pairs.

    Args:
        source, target: the ids of the pairs one after the other, and the length of each.
        rows: sentences of the batch; those behind the pairs are rows of padding.
        width: columns of both sides; 0: each side is padded to its longest sentence.
    """
    ids, lengths = target
    batch = Batch(
        pad(*source, after=[EOS], width=width),
        pad(ids, lengths, before=[BOS], width=width),
        pad(ids, lengths, after=[EOS], width=width),
    )
    blank = rows - len(lengths)
    return Batch(*(np.pad(side, ((0, blank), (0, 0)), constant_values=PAD) for side in batch)) if blank else batch


def link_rows(links: Sequences, indices: np.ndarray, shape: tuple[int, int, int]) -> np.ndarray:
    """The piece links of the pairs with these indices, as `GuidedBatch.links`.

    Args:
        links: for each pair the positions of all links: target piece, source piece, target piece, and so on.
        indices: the pairs of the batch; `BLANK` is a row without links.
        shape: shape of the result, [sentences, steps, positions].
    """
    ids, lengths = links.gather(indices[indices != BLANK])
    target, source = ids.reshape(-1, 2).T
    rows = np.zeros(shape, np.float32)
    rows[np.repeat(np.arange(len(lengths)), lengths // 2), target, source] = 1
    return rows / np.maximum(rows.sum(axis=-1, keepdims=True), 1)
