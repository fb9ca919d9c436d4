"""The vocabularies of a run."""

from __future__ import annotations

from pathlib import Path

from nmt.text.tokenizer import Tokenizer


def save_vocabularies(directory: Path, source: Tokenizer, target: Tokenizer, shared: bool) -> None:
    """Saves a run's vocabularies, one file where they are the same; makes the directory where it is missing."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, vocabulary in {"shared": source}.items() if shared else {"source": source, "target": target}.items():
        vocabulary.save(directory / f"{name}.model")


def load_vocabularies(directory: Path, shared: bool) -> tuple[Tokenizer, Tokenizer]:
    """Loads what `save_vocabularies` saved.

    Raises:
        VocabularyError: a file is missing or damaged.
    """
    if shared:
        vocabulary = Tokenizer.load(directory / "shared.model")
        return vocabulary, vocabulary
    return Tokenizer.load(directory / "source.model"), Tokenizer.load(directory / "target.model")
