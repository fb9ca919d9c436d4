"""The run directory: configuration, vocabularies, weights and checkpoints. Each file is written atomically.

saved_models/NAME/
    config.json          the configuration, with the precision in use
    shared.model         the vocabulary; source.model and target.model if there are two
    best.npz             the best weights of all validations, which translate
    checkpoints/*.npz    all that training needs to continue, named by its step
    history.csv          one row per validation
    shortlist.npz        translations of each piece, after the first search with a short list
    profile.json         what the training text looks like, to compare other text with it
    corpus/              the training pairs as ids, and their links if attention is guided
    tensorboard/         scalars and alignment images
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import ConfigError, RunConfig, config_from_dict, config_to_dict
from nmt.config.checks import as_whole_number
from nmt.config.saved import CONFIG_FORMAT, upgrade_fields
from nmt.files.atomic_writing import write_atomically
from nmt.network.weights import named_arrays
from nmt.run.arrays import load_arrays, load_shapes
from nmt.run.checkpoints import average_checkpoints, list_checkpoints, save_checkpoint
from nmt.run.errors import RunError
from nmt.run.history import move_history_aside, read_history, write_history
from nmt.run.vocabularies import load_vocabularies, save_vocabularies, vocabulary_files
from nmt.run.weight_checks import require_configured_sizes, require_numbers
from nmt.text.languages import Languages, languages_of, words_of
from nmt.text.tokenizer import Tokenizer

CHECKPOINTS = "checkpoints"
HISTORY = "history.csv"


@dataclass(frozen=True)
class Run:
    """An existing run directory: its configuration, its vocabularies, and access to its other files."""

    directory: Path
    config: RunConfig
    source: Tokenizer
    """The source vocabulary, which cuts text into the words of the source language."""
    target: Tokenizer

    def __post_init__(self) -> None:
        for side, words in zip(("source", "target"), words_of(self.config.corpus), strict=True):
            object.__setattr__(self, side, getattr(self, side).with_words(words))

    @classmethod
    def open(cls, directory: str | Path) -> Run:
        """Opens a run, to translate or to resume training.

        Raises:
            RunError: the directory is missing, incomplete or damaged, or its weights have other sizes than config.json
                and the vocabularies give.
        """
        directory = Path(directory)
        config = _read_config(directory)
        run = cls(directory, config, *load_vocabularies(directory, config.vocabulary.shared))
        run.require_configured_sizes()
        return run

    @classmethod
    def create(cls, directory: Path, config: RunConfig, source: Tokenizer, target: Tokenizer) -> Run:
        """Writes vocabularies, then config.json: a directory without config.json is not yet a run."""
        save_vocabularies(directory, source, target, config.vocabulary.shared)
        run = cls(directory, config, source, target)
        run.save_config()
        return run

    def require_configured_sizes(self) -> None:
        """Compares the best weights and the newest checkpoint with the configuration and the vocabularies.

        Only the headers of the files are read, so a wrong size is found before a model of that size is built.

        Raises:
            RunError: a size differs.
        """
        files = vocabulary_files(self.directory, self.config.vocabulary.shared)
        vocabularies = {"source": (files[0], self.source.size), "target": (files[1], self.target.size)}
        for path in (self.best, *self.checkpoints()[-1:]):
            require_configured_sizes(load_shapes(path), path, self.config.model, vocabularies)

    def save_config(self) -> None:
        """Writes config.json."""
        text = json.dumps({"format": CONFIG_FORMAT, **config_to_dict(self.config)}, indent=2, ensure_ascii=False)
        # A file's name may be invalid UTF-8. Python reads such a byte as a surrogate, and JSON can escape that.
        write_atomically(self.directory / "config.json", text.encode(errors="backslashreplace"))

    @property
    def languages(self) -> Languages:
        """The languages of source and target; `und` for a run that records none."""
        return languages_of(self.config.corpus)

    @property
    def best(self) -> Path:
        """The file of the best weights of all validations."""
        return self.directory / "best.npz"

    @property
    def short_list(self) -> Path:
        """The file of the short list, which the first search with a short list writes."""
        return self.directory / "shortlist.npz"

    def checkpoints(self) -> list[Path]:
        """Files of the checkpoints, the oldest first."""
        return list_checkpoints(self.directory / CHECKPOINTS)

    def save_checkpoint(self, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Saves a checkpoint and deletes all but the newest `training.checkpoints.keep`."""
        save_checkpoint(self.directory / CHECKPOINTS, step, arrays, self.config.training.checkpoints.keep)

    def averaged_checkpoints(self, count: int, names: Iterable[str]) -> dict[str, np.ndarray]:
        """The mean of the weights with these names over the newest `count` checkpoints, see `average_checkpoints`."""
        return average_checkpoints(self.directory / CHECKPOINTS, count, names)

    def read_history(self) -> list[dict[str, str]]:
        """Rows of history.csv, see `history.read_history`."""
        return read_history(self.directory / HISTORY)

    def write_history(self, rows: list[dict[str, Any]]) -> None:
        """Replaces history.csv by these rows."""
        write_history(self.directory / HISTORY, rows)

    def move_history_aside(self) -> Path:
        """Renames history.csv, see `history.move_history_aside`."""
        return move_history_aside(self.directory / HISTORY)

    def weights(self) -> dict[str, np.ndarray]:
        """The best weights of all validations, by the names that `network.weights` gives.

        Raises:
            RunError: there are no weights yet, or they are damaged, NaN or infinite.
        """
        if not self.best.exists():
            raise RunError(
                f"{self.directory} has no {self.best.name} yet, which training saves when it validates: continue with "
                "nmt train, or translate with its newest checkpoint, --checkpoints 1"
            )
        try:
            arrays = named_arrays(load_arrays(self.best))
            require_numbers(arrays, self.best)
            return arrays
        except RunError as error:
            raise RunError(f"{error}: use its newest checkpoint instead, --checkpoints 1, or train again") from None


def _read_config(directory: Path) -> RunConfig:
    """The configuration in config.json.

    Raises:
        RunError: there is no config.json, or it is damaged, or it has a value that is refused.
    """
    path = directory / "config.json"
    try:
        fields = json.loads(path.read_text(encoding="utf-8"), parse_int=as_whole_number)
        config: RunConfig = config_from_dict(RunConfig, upgrade_fields(fields))
        return config
    except FileNotFoundError:
        raise RunError(f"{directory}: not a run directory, it has no config.json; train one with nmt train") from None
    except RecursionError:
        raise RunError(f"{path}: cannot be read (nested too deeply)") from None
    except (ConfigError, json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
        raise RunError(f"{path}: cannot be read ({error})") from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
