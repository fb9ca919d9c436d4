"""The training pairs as ids in memory-mapped files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from nmt.batches.arrays import Batch, GuidedBatch, Sequences, link_rows, make_batch
from nmt.batches.few_shapes_plan import FewShapesPlan
from nmt.batches.plan import BatchPlan
from nmt.errors import NmtError
from nmt.files.atomic_writing import sync, write_atomically
from nmt.files.named_files import open_bytes

DTYPES = ("uint16", "int32")
"""Types of the ids in the files."""

CHUNK = 2**20
"""Ids, or pairs with links, that are checked together."""


class EncodedCorpus:
    """A directory of sentence pairs as ids, with links for guided attention.

    The files are memory-mapped, so memory does not grow with the corpus.

    Raises:
        NmtError: the files are not complete, or damaged; the message names the directory.
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
        except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise NmtError(f"{directory}: the encoded sentence pairs are damaged or not all there") from error

    def _open(self, field: str) -> Sequences:
        lengths = np.fromfile(self.directory / f"{field}.lengths", np.int32)
        if lengths.min(initial=0) < 0:
            raise ValueError(f"{field}.lengths: a length is negative")
        if self.about["dtype"] not in DTYPES:
            raise ValueError(f"ids of type {self.about['dtype']}, expected one of {', '.join(DTYPES)}")
        offsets = lengths.cumsum(dtype=np.int64)
        ids = self.directory / f"{field}.ids"
        flat = np.memmap(ids, self.about["dtype"], "r") if ids.stat().st_size else np.zeros(0, np.int32)
        sequences = Sequences(flat, np.concatenate([[0], offsets]))
        if len(flat) != sequences.offsets[-1]:
            raise ValueError(f"{ids}: {len(flat)} ids, expected {sequences.offsets[-1]}")
        return sequences

    def __len__(self) -> int:
        return len(self.source)

    def require_ids(self, source_size: int, target_size: int) -> None:
        """Refuses ids that the vocabularies lack, and links between pieces that the pairs lack. Reads each file once.

        Args:
            source_size, target_size: sizes of the vocabularies.

        Raises:
            NmtError: names the file.
        """
        for field, sequences, size in (("source", self.source, source_size), ("target", self.target, target_size)):
            for start in range(0, len(sequences.ids), CHUNK):
                ids = sequences.ids[start : start + CHUNK]
                if ids.min() < 0 or ids.max() >= size:
                    raise NmtError(
                        f"{self.directory / field}.ids: has ids from {ids.min()} to {ids.max()}, and the vocabulary "
                        f"has {size} pieces: the files belong to different runs, or are damaged"
                    )
        chunks = (np.arange(start, min(start + CHUNK, len(self))) for start in range(0, len(self), CHUNK))
        if self.links is not None and not all(self._links_fit(self.links, chunk) for chunk in chunks):
            raise NmtError(f"{self.directory / 'links.ids'}: has links of pieces that their pairs lack: it is damaged")

    def _links_fit(self, links: Sequences, indices: np.ndarray) -> bool:
        """Whether the links of these pairs are pairs of positions within their sentences."""
        positions, lengths = links.gather(indices)
        if (lengths % 2).any():
            return False
        pairs, positions = np.repeat(indices, lengths // 2), positions.reshape(-1, 2)
        ends = [side.offsets[pairs + 1] - side.offsets[pairs] for side in (self.target, self.source)]
        return bool(((positions >= 0) & (positions < np.stack(ends, axis=1))).all())

    def plan(self, batch_tokens: int, window: int, seed: int, shapes: int = 0) -> BatchPlan:
        """The batch plan of these pairs. With `shapes` above 0 the batches have at most so many shapes."""
        lengths = self.source.lengths + 1, self.target.lengths + 1
        if shapes:
            return FewShapesPlan(*lengths, batch_tokens, window, seed, shapes)
        return BatchPlan(*lengths, batch_tokens, window, seed)

    def batch(self, indices: np.ndarray, width: int = 0) -> Batch | GuidedBatch:
        """The batch of the pairs with these indices (see `make_batch`), with links if the corpus has links."""
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
        """Writes chunks of (source sequences, target sequences) and opens the corpus.

        `about.json` is written last, when the rest is on the disk.

        Args:
            directory: created if missing; an existing corpus is replaced.
            vocabulary: size of the larger vocabulary; up to 65,536 an id takes two bytes, otherwise four.
            links: whether chunks have a third part, the links of each pair in the format of `link_rows`.
        """
        fields = (*cls.FIELDS, "links") if links else cls.FIELDS
        dtype = np.dtype(np.uint16 if vocabulary <= 2**16 else np.int32)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "about.json").unlink(missing_ok=True)
        paths = [directory / f"{field}{end}" for field in fields for end in (".ids", ".lengths")]
        with ExitStack() as stack:
            files = {path: stack.enter_context(open_bytes(path, "w")) for path in paths}
            for chunk in chunks:
                for field, sequences in zip(fields, chunk, strict=True):
                    packed = Sequences.of(sequences)
                    files[directory / f"{field}.ids"].write(packed.ids.astype(dtype).tobytes())
                    files[directory / f"{field}.lengths"].write(packed.lengths.astype(np.int32).tobytes())
        for path in paths:  # about.json says that they are complete
            sync(path)
        about = {"dtype": dtype.name, **({"links": True} if links else {})}
        write_atomically(directory / "about.json", json.dumps(about).encode())
        return cls(directory)
