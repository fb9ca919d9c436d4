"""The training pairs of a run: its own copy, or the prepared corpus that it is trained on."""

from __future__ import annotations

import json
from pathlib import Path

from nmt.batches.arrays import Sequences
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.sharded_corpus import ABOUT, ShardedCorpus, TrainingPairs
from nmt.config import RunConfig
from nmt.run.errors import RunError
from nmt.run.prepared_manifest import SHARDS, PreparedManifest, read_prepared
from nmt.run.text_changes import TEXT_FINGERPRINTS

SAMPLED = 200_000
"""Pairs of a prepared corpus that statistics of its words are made from."""


def has_training_pairs(directory: Path, config: RunConfig) -> bool:
    """Whether a run has the pairs that it is trained on. A pack has none, whatever its settings name."""
    if not directory.is_dir():
        return False
    prepared = config.corpus.prepared
    return (Path(prepared) / SHARDS / ABOUT if prepared else directory / "corpus" / ABOUT).is_file()


def training_pairs(directory: Path, config: RunConfig) -> TrainingPairs:
    """Opens the training pairs of a run.

    Args:
        directory: of the run.
        config: of the run.

    Raises:
        NmtError: the files are damaged or gone, or those of another corpus.
    """
    if config.corpus.prepared:
        prepared = Path(config.corpus.prepared)
        manifest = read_prepared(prepared)
        _require_same_corpus(directory, prepared, manifest)
        return ShardedCorpus(prepared / SHARDS, config.corpus.temperature, manifest.sums_of_shards)
    return EncodedCorpus(directory / "corpus")


def sides_of(corpus: TrainingPairs) -> tuple[Sequences, Sequences]:
    """The ids of source and target, for statistics: of a prepared corpus those of `SAMPLED` pairs."""
    return corpus.sample(SAMPLED) if isinstance(corpus, ShardedCorpus) else (corpus.source, corpus.target)


def about_new_pairs(config: RunConfig) -> str:
    """The end of a count of training pairs: how many of them nmt made of the given ones."""
    new = config.training.recombine
    return f", {new} of each {1 + new} made of phrases of the given pairs" if new else ""


def _require_same_corpus(directory: Path, prepared: Path, manifest: PreparedManifest) -> None:
    """Refuses another prepared corpus than the one that a run was begun with.

    Raises:
        RunError: the corpus is another one.
    """
    try:
        saved = json.loads((directory / TEXT_FINGERPRINTS).read_text(encoding="utf-8")).get("prepared")
    except (OSError, ValueError, AttributeError, RecursionError):
        saved = None
    if saved != manifest.digest:
        raise RunError(
            f"{directory} was begun with another corpus than {prepared}: give its own corpus as --corpus.prepared, or "
            "give this run another name"
        )
