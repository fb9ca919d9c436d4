"""The vocabulary files of a run: shared.model, or source.model and target.model."""

from __future__ import annotations

from pathlib import Path

from nmt.text.tokenizer import Tokenizer


def save_vocabularies(directory: Path, source: Tokenizer, target: Tokenizer, shared: bool) -> None:
    """Saves the vocabularies of a run, in one file if they are shared, and creates the directory if necessary."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, vocabulary in {"shared": source}.items() if shared else {"source": source, "target": target}.items():
        vocabulary.save(directory / f"{name}.model")


def load_vocabularies(directory: Path, shared: bool) -> tuple[Tokenizer, Tokenizer]:
    """Loads the files that `save_vocabularies` wrote.

    Raises:
        VocabularyError: a file is missing or damaged.
    """
    if shared:
        vocabulary = Tokenizer.load(directory / "shared.model")
        return vocabulary, vocabulary
    return Tokenizer.load(directory / "source.model"), Tokenizer.load(directory / "target.model")
