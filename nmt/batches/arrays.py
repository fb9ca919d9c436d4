"""The arrays of a batch: ids, right-padded, and links. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

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
