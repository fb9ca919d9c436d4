"""The jobs of a preparation: a block of rows is scanned, and later encoded. Each leaves files that survive a kill.

    scan/00000-000000.json      counts, and candidates of held-out pairs
    scan/00000-000000.sample    pairs in random order, as JSON lines
    encoded/00000-000000.json   counts of an encoded block
    encoded/00000-000000.ids, .index    see `nmt.batches.sharded_corpus`

The numbers are those of the unit, a file or a pair of files, and of the block in it. A .json file is written last, with
the SHA-256 of the files beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.batches.sharded_corpus import encoded_pairs, write_synced
from nmt.batches.windows import windows
from nmt.config import CorpusConfig, PairsConfig
from nmt.text.held_out_pairs import WithoutHeldOut, smallest_sources
from nmt.text.pairs import CorpusReport, Pair, PairReader
from nmt.text.row_blocks import RowBlock
from nmt.text.tokenizer import Tokenizer
from nmt.training.preparation.encoding import CHUNK, PairEncoder
from nmt.training.preparation.shards.work_files import save_values, sum_of_bytes

ROWS = 2**16
"""Rows of a block."""


@dataclass(frozen=True)
class Job:
    """A block of rows."""

    unit: int
    number: int
    pairs: PairsConfig
    """The files that the rows come from."""
    rows: RowBlock
    sampled: int = 0
    """Pairs of the sample at most."""


def block_name(unit: int, number: int) -> str:
    """The name of the files of a block, without their ends."""
    return f"{unit:05d}-{number:06d}"


@dataclass(frozen=True)
class ScanState:
    """What a scan needs beside the rows."""

    directory: Path
    corpus: CorpusConfig
    held_out: int
    """Pairs to hold out; 0: none."""
    seed: int


def scan_state(*arguments: Any) -> ScanState:
    """Makes the state in a process."""
    return ScanState(*arguments)


def scan(state: ScanState, job: Job) -> int:
    """Counts and checks the pairs of a block, and writes a sample of them; returns the rows."""
    report = CorpusReport()
    pairs = list(PairReader(job.pairs, state.corpus).pairs_of(job.rows.open(), report, whole=False))
    chosen, left_over = smallest_sources(pairs, state.held_out, state.seed) if state.held_out else ([], True)
    order = np.random.default_rng((state.seed, job.unit, job.number)).permutation(len(pairs))[: job.sampled]
    name = block_name(job.unit, job.number)
    sample = [_json_line(pairs[place]) for place in order.tolist()]
    write_synced(state.directory / f"{name}.sample", *sample)
    about = {
        "rows": job.rows.rows,
        "report": asdict(report),
        "held_out": [pair[:2] for pair in chosen],
        "left_over": left_over,
        "sample": sum_of_bytes(*sample),
    }
    save_values(state.directory / f"{name}.json", about)
    return job.rows.rows


def _json_line(pair: Pair) -> bytes:
    return json.dumps(pair[:2], ensure_ascii=False).encode() + b"\n"


def read_sample(path: Path, count: int) -> Iterator[Pair]:
    """The first `count` pairs of a sample."""
    with open(path, "rb") as file:
        for _, line in zip(range(count), file, strict=False):
            yield Pair(*json.loads(line))


@dataclass
class EncodingState:
    """What the encoding needs beside the rows."""

    directory: Path
    corpus: CorpusConfig
    source: Tokenizer
    target: Tokenizer
    dtype: str
    held_out: WithoutHeldOut | None
    """Knows which pairs leave the training text; None: all stay."""


def encoding_state(
    directory: Path,
    corpus: CorpusConfig,
    vocabularies: tuple[bytes, bytes],
    held_out: Sequence[Pair],
) -> EncodingState:
    """Makes the state in a process.

    Args:
        vocabularies: the SentencePiece models.
        held_out: the validation pairs that were taken from the text.
    """
    source, target = map(Tokenizer, vocabularies)
    near = corpus.near_duplicates == "drop"
    return EncodingState(
        directory,
        corpus,
        source,
        target,
        "<u2" if max(source.size, target.size) <= 2**16 else "<i4",
        WithoutHeldOut([], held_out, near) if held_out else None,
    )


def encode(state: EncodingState, job: Job) -> int:
    """Encodes the pairs of a block, without held-out and long pairs; returns the rows."""
    report = CorpusReport()
    pairs = PairReader(job.pairs, state.corpus).pairs_of(job.rows.open(), report, whole=False)
    removed = 0

    def kept() -> Iterator[Pair]:
        nonlocal removed
        for pair in pairs:
            if state.held_out and state.held_out.repeats(pair):
                removed += 1
            else:
                yield pair

    encoder = PairEncoder(state.corpus, state.source, state.target, guided=False)
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    for chunk in windows(kept(), CHUNK):
        for side, sentences in zip(sides, encoder.encoded(chunk), strict=True):
            side += sentences
    ids, index = encoded_pairs(sides, state.dtype)
    name = block_name(job.unit, job.number)
    contents = {".ids": ids.tobytes(), ".index": index.tobytes()}
    for end, content in contents.items():
        write_synced(state.directory / f"{name}{end}", content)
    about = {
        "pairs": len(index),
        "ids": len(ids),
        "removed": removed,
        "long": encoder.long,
        "empty": encoder.empty,
        "rewritten": {side: [one.lines, *one.example] for side, one in encoder.rewriting.items()},
        "sums": {end: sum_of_bytes(content) for end, content in contents.items()},
    }
    save_values(state.directory / f"{name}.json", about)
    return job.rows.rows
