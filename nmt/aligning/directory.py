"""The directory of an aligner. Each file is written atomically, and compared with the manifest when it is read.

NAME/
    config.json               settings, number of pairs, fingerprints of the text
    source.words, target.words    the words of each side by frequency; source.model and target.model of a run's pieces
    cells.npz                 the pairs of words that occur together
    weights.npz               the model after the newest epoch, which aligns
    checkpoint.npz            all that training needs to continue; deleted at the end
    corpus/                   the pairs as ids
    text/                     the pairs as they came from standard input or a pipe
    preparing                 only until config.json is there: the files beside it are of an aligner
    manifest.json             the SHA-256 of the files that are loaded
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.aligning.cooccurrence import Cooccurrence
from nmt.aligning.units import Units
from nmt.aligning.vocabulary import WordVocabulary
from nmt.config import CorpusConfig, config_from_dict, config_to_dict
from nmt.config.aligner import AlignerConfig
from nmt.files.atomic_writing import write_atomically
from nmt.run.arrays import packed_arrays
from nmt.run.errors import RunError
from nmt.run.manifest import replace_listed, write_manifest
from nmt.run.storage import DirectoryStorage
from nmt.run.weight_checks import require_numbers
from nmt.text.languages import Words, words_of
from nmt.text.tokenizer import Tokenizer

CONFIG, CELLS, WEIGHTS, CHECKPOINT = "config.json", "cells.npz", "weights.npz", "checkpoint.npz"
CORPUS, TEXT, PREPARING = "corpus", "text", "preparing"
SIDES = ("source", "target")
_FORMAT = 1
_DAMAGED = "damaged, or of another version of nmt: train the aligner again"
_LONGEST = 2**30
"""Bytes of the largest file of settings or words that is read."""


@dataclass(frozen=True)
class AlignerDirectory:
    """An aligner on disk, with its settings and units."""

    path: Path
    config: AlignerConfig
    """As the user gave it, with the languages and kinds of words that the text decided."""
    units: tuple[Units, Units]
    """Of source and target."""
    pairs: int
    """Pairs that it learns from."""
    text: Mapping[str, Any]
    """Fingerprints of the text that it learns from."""

    def create(self) -> None:
        """Writes settings, units and manifest; config.json is last, so a directory with one is complete."""
        for side, units in zip(SIDES, self.units, strict=True):
            if isinstance(units, Tokenizer):
                units.save(self.path / f"{side}.model")
            elif isinstance(units, WordVocabulary):
                write_atomically(self.path / f"{side}.words", units.to_bytes())
        content = self._settings()
        write_manifest(self.path, "", pending={CONFIG: content})
        write_atomically(self.path / CONFIG, content)

    def save_settings(self) -> None:
        """Saves settings that changed."""
        replace_listed(self.path, CONFIG, self._settings())

    def _settings(self) -> bytes:
        about = {
            "format": _FORMAT,
            "settings": config_to_dict(self.config),
            "pairs": self.pairs,
            "text": dict(self.text),
        }
        return (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()

    def cooccurrence(self) -> Cooccurrence:
        """The pairs of words that have a place in the model.

        Raises:
            RunError: the file is damaged.
        """
        sizes = [units.size for units in self.units]
        keys = DirectoryStorage(self.path).arrays(CELLS).get("keys", np.zeros(0))
        whole = keys.dtype == np.int64 and keys.ndim == 1 and len(keys) > 0
        if not (whole and keys[0] >= 0 and keys[-1] < sizes[0] * sizes[1] and (np.diff(keys) > 0).all()):
            raise RunError(f"{self.path / CELLS}: {_DAMAGED}")
        return Cooccurrence(keys, *sizes)

    def save_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Saves the weights that align."""
        replace_listed(self.path, WEIGHTS, packed_arrays(arrays))

    def weights(self) -> dict[str, np.ndarray]:
        """The weights that align.

        Raises:
            RunError: no epoch is finished yet, or the file is damaged, or has values that are NaN or infinite.
        """
        storage = DirectoryStorage(self.path)
        if not storage.exists(WEIGHTS):
            raise RunError(f"{self.path}: has no weights yet: repeat the nmt aligner command that began its training")
        arrays = storage.arrays(WEIGHTS)
        require_numbers(arrays, self.path / WEIGHTS)
        return arrays


def is_unfinished(path: Path) -> bool:
    """Whether the training of the aligner in a directory has not come to its end."""
    return (path / CHECKPOINT).exists()


def is_aligner(path: Path) -> bool:
    """Whether a directory holds an aligner, trained or begun."""
    units = ("source.words", "source.model")
    return (path / CONFIG).exists() and (path / CELLS).exists() and any((path / name).exists() for name in units)


def open_directory(path: Path) -> AlignerDirectory:
    """Opens the directory of an aligner.

    Raises:
        RunError: it is missing, damaged, or no aligner.
    """
    if not path.exists():
        raise RunError(f"{path}: no such directory: expected one that nmt aligner made, or a run with an aligner")
    if not is_aligner(path):
        raise RunError(
            f"{path}: holds no aligner: expected a directory that nmt aligner made, or a run with an aligner (nmt "
            "aligner --for)"
        )
    storage = DirectoryStorage(path)
    try:
        about = json.loads(storage.read(CONFIG, _LONGEST))
        if about["format"] != _FORMAT:
            raise ValueError("another format")
        config = config_from_dict(AlignerConfig, about["settings"])
        pairs, text = int(about["pairs"]), dict(about["text"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{path / CONFIG}: {_DAMAGED}") from None
    source, target = (
        _load_units(storage, side, words) for side, words in zip(SIDES, words_of_aligner(config), strict=True)
    )
    return AlignerDirectory(path, config, (source, target), pairs, text)


def _load_units(storage: DirectoryStorage, side: str, words: Words) -> Units:
    if storage.exists(f"{side}.model"):
        name = f"{side}.model"
        return Tokenizer(storage.read(name, _LONGEST), str(storage.path / name)).with_words(words)
    name = f"{side}.words"
    return WordVocabulary.from_bytes(storage.read(name, _LONGEST), words, str(storage.path / name))


def words_of_aligner(config: AlignerConfig) -> tuple[Words, Words]:
    """How the words of source and target are cut."""
    return words_of(corpus_of(config))


def corpus_of(config: AlignerConfig) -> CorpusConfig:
    """The settings of a corpus in the aligner's languages."""
    return CorpusConfig(
        source_language=config.source_language,
        target_language=config.target_language,
        source_words=config.source_words,
        target_words=config.target_words,
    )
