"""Corpora in shards for tests."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nmt.batches.sharded_corpus import LENGTHS, PIECES, CorpusShards, Shard, ShardedCorpus, count_lengths, encoded_pairs

Pairs = list[tuple[list[int], list[int]]]


def random_pairs(count: int, seed: int = 0) -> Pairs:
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 14, (count, 2)).tolist()
    return [(random.integers(4, 50, s).tolist(), random.integers(4, 50, t).tolist()) for s, t in sizes]


def write_shards(
    directory: Path, parts: list[list[Pairs]], weights: tuple[float, ...] = (1.0, 1.0), dtype: str = "uint16"
) -> ShardedCorpus:
    """A corpus: for each part the pairs of each of its shards."""
    corpora, cells, number = [], [], 0
    for corpus, shards in enumerate(parts):
        found = []
        for pairs in shards:
            ids, index = encoded_pairs(tuple(zip(*pairs, strict=True)), dtype)
            (directory / f"{number}.ids").write_bytes(ids.tobytes())
            (directory / f"{number}.index").write_bytes(index.tobytes())
            found.append(Shard(str(number), len(pairs), len(ids)))
            cells += [[corpus, *cell] for cell in count_lengths(index).tolist()]
            number += 1
        corpora.append(CorpusShards(f"part {corpus}", weights[corpus], tuple(found)))
    arrays = {LENGTHS: np.array(cells, np.int64), PIECES: np.zeros((2, 50), np.int64)}
    ShardedCorpus.write_about(directory, dtype, corpora, arrays)
    return ShardedCorpus(directory)
