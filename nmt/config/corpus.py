"""Where sentence pairs come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from nmt.config.checks import require, require_positive


@dataclass(frozen=True)
class PairsConfig:
    """One set of sentence pairs: two line-parallel files, one TSV file, or a TensorFlow dataset. Empty: no pairs."""

    source: str = ""
    """File of source sentences, one a line (.gz is read too)."""
    target: str = ""
    """File of target sentences, line by line those of the source."""
    tsv: str = ""
    """Instead of two files: one file with a pair a line, columns separated by tabs (.gz is read too)."""
    source_column: int = 1
    """Column of the source sentence in the TSV file, counted from 1."""
    target_column: int = 2
    """Column of the target sentence in the TSV file, counted from 1."""
    tfds: str = ""
    """Instead of files: a TensorFlow dataset, such as ted_hrlr_translate/pt_to_en."""
    split: str = "train"
    """Split of the TensorFlow dataset."""
    tfds_source: str = ""
    """Feature of the TensorFlow dataset that is the source; empty: as its supervised keys say."""
    tfds_target: str = ""
    """Feature of the TensorFlow dataset that is the target; empty: as its supervised keys say."""
    tfds_directory: str = ""
    """Directory of prepared TensorFlow datasets; empty: the library's own default."""
    alignment: str = ""
    """Gold word alignment in Pharaoh format, a line a pair; used to measure, never to train (training.guided.links
    is what trains)."""

    def __post_init__(self) -> None:
        kinds = [bool(self.source or self.target), bool(self.tsv), bool(self.tfds)]
        require(sum(kinds) <= 1, "pairs are given in more than one way: keep source and target, or tsv, or tfds")
        require(bool(self.source) == bool(self.target), "source and target go together: one of the two is missing")
        for name in ("source", "target", "tsv", "tfds", "alignment"):
            require("\0" not in getattr(self, name), f"{name} is the name of no file: it has a NUL character")
        require_positive(self, "source_column", "target_column")
        same = bool(self.tsv) and self.source_column == self.target_column
        require(not same, f"source_column and target_column are both {self.source_column}: expected two columns")

    def __bool__(self) -> bool:
        return bool(self.source or self.tsv or self.tfds)


@dataclass(frozen=True)
class CorpusConfig:
    """Where the sentence pairs come from and which of them are used."""

    train: PairsConfig = field(default_factory=PairsConfig)
    """Pairs to train on."""
    validation: PairsConfig = field(default_factory=PairsConfig)
    """Pairs to validate on; without them `held_out` pairs of the training set are kept aside."""
    held_out: int = 1000
    """Training pairs kept aside for validation where no validation set is given; whatever is near to one of
    them (nmt hold-out) leaves the training set."""
    max_pieces: int = 100
    """Longest training sentence in pieces, either side."""
    on_invalid: Literal["stop", "drop"] = "stop"
    """What to do with a line that is not valid UTF-8: stop and name it, or drop the pair and count it."""
    on_empty: Literal["stop", "drop"] = "drop"
    """What to do with a pair that has an empty side."""
    on_long: Literal["drop", "truncate"] = "drop"
    """What to do with a training pair that is longer than max_pieces."""

    def __post_init__(self) -> None:
        require_positive(self, "held_out", "max_pieces")
