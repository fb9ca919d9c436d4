"""manifest.json of a prepared corpus: what it was made from, its settings, its sizes, and the SHA-256 of its files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file
from nmt.run.errors import RunError

MANIFEST = "manifest.json"
SHARDS, VALIDATION, REPORT, INPUTS = "shards", "validation.jsonl", "report.txt", "inputs.json"
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
        """The manifest as JSON, with a sum of its own."""
        return _as_json({**asdict(self), "sum": self.digest})

    @property
    def digest(self) -> str:
        """A sum over all of it: it names the corpus wherever it lies."""
        return hashlib.sha256(_as_json(asdict(self))).hexdigest()

    @property
    def sums_of_shards(self) -> dict[str, str]:
        """The sums of the files in the folder of the shards, by their names there."""
        start = f"{SHARDS}/"
        return {name.removeprefix(start): sum for name, sum in self.files.items() if name.startswith(start)}

    def require_whole(self, path: Path, name: str, content: bytes) -> None:
        """Compares the content of a file with its sum.

        Args:
            path: of the corpus, for the message.

        Raises:
            RunError: the content differs.
        """
        if self.files.get(name) != hashlib.sha256(content).hexdigest():
            raise RunError(_damaged(path, name))


def _as_json(values: dict[str, Any]) -> bytes:
    return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _damaged(directory: Path, name: str) -> str:
    return f"{directory / name}: damaged, because it differs from {MANIFEST}: {_advice(directory)}"


def _advice(directory: Path) -> str:
    return f"restore the file, or delete {directory} and prepare it again with nmt prepare"


def is_prepared(directory: Path) -> bool:
    """Whether a directory has a finished corpus."""
    return (directory / MANIFEST).is_file() and (directory / SHARDS).is_dir()


def is_of_prepare(directory: Path) -> bool:
    """Whether a directory was made by `nmt prepare`, even if a part of it is missing."""
    return any((directory / name).exists() for name in (SHARDS, INPUTS))


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
        values = json.loads(content)
        saved = values.pop("sum", "")
        found = PreparedManifest(**values)
        numbers = type(found.pairs) is int and type(found.pieces) is int and found.pairs > 0
        groups = all(isinstance(group, dict) for group in (found.key, found.settings, found.files))
        if not numbers or not groups or saved != found.digest:
            raise ValueError("other content than was written")
        return found
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise RunError(f"{path}: damaged: {_advice(directory)}") from None


def damaged_files(directory: Path, manifest: PreparedManifest) -> list[str]:
    """Reads all files of a prepared corpus.

    Returns:
        A line for each file that is missing, cannot be read, or differs from its sum; none: all is well.
    """
    lines = []
    for name, expected in manifest.files.items():
        path = directory / name
        try:
            if not path.is_file():
                lines.append(f"{path}: no such file: {_advice(directory)}")
            elif digest_file(path) != expected:
                lines.append(_damaged(directory, name))
        except OSError as error:
            lines.append(f"{path}: {error.strerror}")
    return lines
