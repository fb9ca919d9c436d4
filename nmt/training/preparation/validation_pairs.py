"""The validation pairs of a run: given by the user or held out of the training pairs, and saved in the run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from nmt.config import CorpusConfig, RunConfig
from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.text.held_out_pairs import WithoutHeldOut, hold_out
from nmt.text.pairs import Pair, PairReader

VALIDATION = "corpus/validation.jsonl"
"""File in the run directory, one pair per line."""


def split_pairs(config: RunConfig, reader: PairReader) -> tuple[list[Pair], Iterable[Pair]]:
    """Validation pairs, and training pairs that can be read several times.

    Raises:
        NmtError: there are no validation pairs, or the pairs cannot be read.
    """
    if not config.corpus.validation:
        validation = hold_out(reader, config.corpus.held_out, config.training.seed)
        return validation, WithoutHeldOut(reader, validation, config.corpus.near_duplicates == "drop")
    return read_validation_pairs(config.corpus), reader


def read_validation_pairs(corpus: CorpusConfig) -> list[Pair]:
    """The validation pairs that the user names.

    Raises:
        NmtError: there are none, or they cannot be read.
    """
    pairs = list(PairReader(corpus.validation, corpus))
    if not pairs:
        raise NmtError(
            "corpus.validation has no pairs: leave --corpus.validation.source and --corpus.validation.target out, or "
            "give other files"
        )
    return pairs


def save_validation_pairs(directory: Path, pairs: Iterable[Pair]) -> None:
    """Writes the pairs as JSON lines."""
    write_atomically(directory / VALIDATION, pairs_as_lines(pairs))


def pairs_as_lines(pairs: Iterable[Pair]) -> bytes:
    """The pairs as JSON lines."""
    return "".join(json.dumps(pair, ensure_ascii=False) + "\n" for pair in pairs).encode()


def load_validation_pairs(directory: Path) -> list[Pair]:
    """Reads the pairs that `save_validation_pairs` wrote.

    Raises:
        FileNotFoundError, ValueError, TypeError: the file is missing or damaged.
    """
    return parse_pairs((directory / VALIDATION).read_bytes())


def parse_pairs(content: bytes) -> list[Pair]:
    """Inverse of `pairs_as_lines`.

    Raises:
        ValueError, TypeError: the content is damaged.
    """
    # Not splitlines: a sentence may contain other line separators of Unicode.
    pairs = [Pair(*json.loads(line)) for line in content.decode().split("\n") if line]
    if not pairs:
        raise ValueError(f"{VALIDATION} is empty")
    values = [(place, value) for pair in pairs for place, value in enumerate(pair)]
    if not all(isinstance(value, str) or (value is None and place > 1) for place, value in values):
        raise ValueError(f"{VALIDATION} has a pair that is no text")
    return pairs
