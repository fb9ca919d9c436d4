"""The vocabulary files of a run: shared.model, or source.model and target.model."""

from __future__ import annotations

from pathlib import Path

from nmt.run.storage import Storage
from nmt.text.errors import VocabularyError
from nmt.text.tokenizer import Tokenizer

LARGEST = 2**28
"""Bytes of the largest vocabulary that is read."""


def save_vocabularies(directory: Path, source: Tokenizer, target: Tokenizer, shared: bool) -> None:
    """Saves the vocabularies of a run, in one file if they are shared, and creates the directory if necessary."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, vocabulary in {"shared": source}.items() if shared else {"source": source, "target": target}.items():
        vocabulary.save(directory / f"{name}.model")


def load_vocabularies(storage: Storage, shared: bool) -> tuple[Tokenizer, Tokenizer]:
    """Loads the files that `save_vocabularies` wrote.

    Raises:
        VocabularyError: a file is missing or damaged.
        RunError: a file differs from the manifest.
    """
    source, target = vocabulary_names(shared)
    vocabulary = _load(storage, source)
    return vocabulary, vocabulary if shared else _load(storage, target)


def _load(storage: Storage, name: str) -> Tokenizer:
    path = storage.path / name
    try:
        return Tokenizer(storage.read(name, LARGEST), str(path))
    except OSError as error:
        raise VocabularyError(f"{path}: {error.strerror}: expected a SentencePiece model") from None


def vocabulary_names(shared: bool) -> tuple[str, str]:
    """Names of the files of the source and the target vocabulary, one name twice if they are shared."""
    return ("shared.model", "shared.model") if shared else ("source.model", "target.model")
