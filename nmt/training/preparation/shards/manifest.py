"""manifest.json of a prepared corpus: what it was made from, its settings, its sizes, and the SHA-256 of its files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError

MANIFEST = "manifest.json"
SHARDS, VALIDATION, REPORT = "shards", "validation.jsonl", "report.txt"
_LONGEST = 2**26
"""Bytes of the largest manifest that is read."""


@dataclass(frozen=True)
class PreparedManifest:
    """What a prepared corpus is."""

    key: dict[str, Any]
    """Everything that the files depend on: inputs, settings, versions."""
    settings: dict[str, Any]
    """Fields of `RunConfig`, decided by the text where they were left open: corpus, vocabulary, training."""
    pairs: int
    """Training pairs."""
    pieces: int
    """Pieces of the longer sides of all pairs, their ends included."""
    files: dict[str, str]
    """SHA-256 by name."""

    def save(self, directory: Path) -> None:
        """Writes the manifest."""
        write_atomically(directory / MANIFEST, self.content())

    def content(self) -> bytes:
        """The manifest as JSON."""
        return json.dumps(asdict(self), indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    @property
    def digest(self) -> str:
        """A sum over all of it: it names the corpus wherever it lies."""
        return hashlib.sha256(self.content()).hexdigest()


def is_prepared(directory: Path) -> bool:
    """Whether a directory has a finished corpus."""
    return (directory / MANIFEST).is_file() and (directory / SHARDS).is_dir()


def read_prepared(directory: Path) -> PreparedManifest:
    """The manifest of a prepared corpus.

    Raises:
        RunError: the directory has none, or a damaged one.
    """
    path = directory / MANIFEST
    if not is_prepared(directory):
        raise RunError(f"{directory}: holds no prepared corpus: make one with nmt prepare --output {directory}")
    try:
        content = path.read_bytes()
        if len(content) > _LONGEST:
            raise ValueError("too long")
        found = PreparedManifest(**json.loads(content))
        numbers = type(found.pairs) is int and type(found.pieces) is int and found.pairs > 0
        groups = all(isinstance(group, dict) for group in (found.key, found.settings, found.files))
        if not numbers or not groups or found.content() != content:
            raise ValueError("other content than was written")
        return found
    except (ValueError, TypeError, RecursionError):
        raise RunError(f"{path}: damaged: prepare the corpus again with nmt prepare") from None
