"""The training pairs of a run: its own copy, or the prepared corpus that it is trained on."""

from __future__ import annotations

from pathlib import Path

from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.sharded_corpus import ABOUT, ShardedCorpus, TrainingPairs
from nmt.config import RunConfig
from nmt.run.prepared_manifest import SHARDS, read_prepared

SAMPLED = 200_000
"""Pairs of a prepared corpus that statistics of its words are made from."""


def is_prepared(directory: Path) -> bool:
    """Whether a directory has the pairs of a prepared corpus."""
    return (directory / SHARDS / ABOUT).is_file()


def training_pairs(directory: Path, config: RunConfig) -> TrainingPairs:
    """Opens the training pairs of a run.

    Args:
        directory: of the run.
        config: of the run.

    Raises:
        NmtError: the files are damaged or gone.
    """
    if config.corpus.prepared:
        prepared = Path(config.corpus.prepared)
        return ShardedCorpus(prepared / SHARDS, config.corpus.temperature, read_prepared(prepared).sums_of_shards)
    return EncodedCorpus(directory / "corpus")
