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
    source, target = vocabulary_files(directory, shared)
    vocabulary = Tokenizer.load(source)
    return vocabulary, vocabulary if shared else Tokenizer.load(target)


def vocabulary_files(directory: Path, shared: bool) -> tuple[Path, Path]:
    """The files of the source and the target vocabulary, one file twice if they are shared."""
    if shared:
        return directory / "shared.model", directory / "shared.model"
    return directory / "source.model", directory / "target.model"
