"""A run: configuration, vocabularies, weights and checkpoints. Each file is written atomically, and compared with the
manifest when it is read. A run is a directory or a pack (`pack_storage`); a pack has no checkpoints.

saved_models/NAME/
    config.json          the configuration, with the precision in use
    shared.model         the vocabulary; source.model and target.model if there are two
    best.npz             the best weights of all validations, which translate
    checkpoints/*.npz    all that training needs to continue, named by its step
    manifest.json        the SHA-256 of the files that are loaded
    history.csv          one row per validation
    history.png          its curves
    samples.jsonl        translations of a few validation sentences over the steps
    run.html             a page with the curves, the samples, the settings and the report on the text
    shortlist.npz        translations of each piece, after the first search with a short list
    aligner.npz          the run's word aligner, which makes the links (`nmt.aligning.run_aligner`)
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
from nmt.files.digests import digest_file
from nmt.network.weights import named_arrays
from nmt.run.arrays import packed_arrays, read_shapes
from nmt.run.checkpoints import average_checkpoints, list_checkpoints, load_checkpoint, save_checkpoint
from nmt.run.errors import RunError, no_such_run
from nmt.run.history import move_history_aside, read_history, write_history
from nmt.run.manifest import NETWORK, replace_listed, run_identity, write_manifest
from nmt.run.pack_storage import storage_of
from nmt.run.storage import Storage
from nmt.run.summary import run_html
from nmt.run.text_changes import TEXT_FINGERPRINTS
from nmt.run.vocabularies import load_vocabularies, save_vocabularies, vocabulary_names
from nmt.run.weight_checks import require_configured_sizes, require_numbers
from nmt.text.languages import Languages, languages_of, words_of
from nmt.text.tokenizer import Tokenizer

CONFIG, BEST, SHORT_LIST, ALIGNER = "config.json", "best.npz", "shortlist.npz", "aligner.npz"

ALIGNER_FOLDER = "aligner"
"""The whole aligner that a training learned."""
CHECKPOINTS = "checkpoints"
HISTORY = "history.csv"

LONGEST_CONFIG = 2**22
"""Bytes of the largest config.json that is read."""

_OF_AN_ALIGNER = {"settings", "pairs", "text"}
"""Fields in the config.json of an aligner, which no run has."""


@dataclass(frozen=True)
class Run:
    """An existing run: its configuration, its vocabularies, and access to its other files."""

    directory: Path
    """The run directory, or the file of a pack."""
    config: RunConfig
    source: Tokenizer
    """The source vocabulary, which cuts text into the words of the source language."""
    target: Tokenizer

    def __post_init__(self) -> None:
        for side, words in zip(("source", "target"), words_of(self.config.corpus), strict=True):
            object.__setattr__(self, side, getattr(self, side).with_words(words))

    @classmethod
    def open(cls, directory: str | Path) -> Run:
        """Opens a run directory, to translate or to resume training, or a pack.

        Raises:
            RunError: the directory is missing, incomplete or damaged, or its weights have other sizes than config.json
                and the vocabularies give.
        """
        storage = storage_of(Path(directory))
        config = _read_config(storage)
        run = cls(Path(directory), config, *load_vocabularies(storage, config.vocabulary.shared))
        run.require_configured_sizes()
        return run

    @classmethod
    def create(cls, directory: Path, config: RunConfig, source: Tokenizer, target: Tokenizer) -> Run:
        """Writes vocabularies, the manifest, and config.json last: a directory without it is not yet a run."""
        save_vocabularies(directory, source, target, config.vocabulary.shared)
        run = cls(directory, config, source, target)
        text = directory / TEXT_FINGERPRINTS
        fingerprints = (source.fingerprint, target.fingerprint)
        identity = run_identity(config, fingerprints, digest_file(text) if text.exists() else "")
        write_manifest(directory, identity, pending={CONFIG: run.config_content()})
        write_atomically(directory / CONFIG, run.config_content())
        return run

    @property
    def storage(self) -> Storage:
        """The files of the run.

        Raises:
            RunError: the pack is damaged.
        """
        return storage_of(self.directory)

    @property
    def is_pack(self) -> bool:
        """Whether the run is a pack: a file that only translates."""
        return self.directory.is_file()

    def require_directory(self) -> None:
        """Refuses a pack where something is written into the run, or its training continues.

        Raises:
            RunError: the run is a pack.
        """
        if self.is_pack:
            raise RunError(f"{self.directory}: is a pack, which cannot be changed: use the run that it was made from")

    def require_configured_sizes(self) -> None:
        """Compares the best weights and the newest checkpoint with the configuration and the vocabularies.

        Only the headers of the files are read, so a wrong size is found before a model of that size is built.

        Raises:
            RunError: a size differs.
        """
        storage = self.storage
        files = [self.directory / name for name in vocabulary_names(self.config.vocabulary.shared)]
        vocabularies = {"source": (files[0], self.source.size), "target": (files[1], self.target.size)}
        for path in (self.best, *self.checkpoints()[-1:]):
            name = path.relative_to(self.directory).as_posix()
            if storage.exists(name):
                with storage.peek(name) as file:
                    shapes = read_shapes(file)
                require_configured_sizes(shapes, path, self.config.model, vocabularies)

    def save_config(self) -> None:
        """Replaces config.json.

        Raises:
            RunError: the run is a pack.
        """
        self.require_directory()
        replace_listed(self.directory, CONFIG, self.config_content())

    def config_content(self) -> bytes:
        """The content of config.json."""
        text = json.dumps({"format": CONFIG_FORMAT, **config_to_dict(self.config)}, indent=2, ensure_ascii=False)
        # A file's name may be invalid UTF-8. Python reads such a byte as a surrogate, and JSON can escape that.
        return text.encode(errors="backslashreplace")

    @property
    def languages(self) -> Languages:
        """The languages of source and target; `und` for a run that records none."""
        return languages_of(self.config.corpus)

    @property
    def best(self) -> Path:
        """The file of the best weights of all validations."""
        return self.directory / BEST

    @property
    def has_weights(self) -> bool:
        """Whether there are best weights."""
        return self.storage.exists(BEST)

    def save_weights(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Replaces the best weights of all validations."""
        replace_listed(self.directory, BEST, packed_arrays(arrays))

    @property
    def short_list(self) -> Path:
        """The file of the short list, which the first search with a short list writes."""
        return self.directory / SHORT_LIST

    @property
    def has_short_list(self) -> bool:
        """Whether the short list is saved."""
        return self.storage.exists(SHORT_LIST)

    def load_short_list(self) -> dict[str, np.ndarray]:
        """The arrays of the saved short list; raises `RunError` if they are missing or damaged."""
        return self.storage.arrays(SHORT_LIST)

    def save_short_list(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Saves the arrays of a short list."""
        self.require_directory()
        replace_listed(self.directory, SHORT_LIST, packed_arrays(arrays))

    @property
    def has_aligner(self) -> bool:
        """Whether the run keeps a word aligner."""
        return self.storage.exists(ALIGNER)

    def checkpoints(self) -> list[Path]:
        """Files of the checkpoints, the oldest first."""
        return list_checkpoints(self.directory / CHECKPOINTS)

    def save_checkpoint(self, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Saves a checkpoint and deletes all but the newest `training.checkpoints.keep`."""
        keep = self.config.training.checkpoints.keep
        save_checkpoint(self.directory / CHECKPOINTS, step, arrays, keep, self._identity)

    def load_checkpoint(self, path: Path) -> dict[str, np.ndarray]:
        """Reads one of the run's checkpoints, see `checkpoints.load_checkpoint`."""
        return load_checkpoint(path, self._identity)

    @property
    def _identity(self) -> str:
        manifest = self.storage.manifest()
        return manifest.run if manifest else ""

    def averaged_checkpoints(self, count: int, names: Iterable[str] | None = None) -> dict[str, np.ndarray]:
        """The mean of the weights with these names over the newest `count` checkpoints, see `average_checkpoints`."""
        if self.is_pack:
            raise RunError(f"{self.directory}: is a pack, which has no checkpoints: leave --checkpoints out")
        return average_checkpoints(self.directory / CHECKPOINTS, count, names, self._identity)

    def read_history(self) -> list[dict[str, str]]:
        """Rows of history.csv, see `history.read_history`."""
        return read_history(self.directory / HISTORY)

    def write_history(self, rows: list[dict[str, Any]]) -> None:
        """Replaces history.csv by these rows."""
        write_history(self.directory / HISTORY, rows)

    def _repr_html_(self) -> str:
        return run_html(self)

    def move_history_aside(self) -> Path:
        """Renames history.csv, see `history.move_history_aside`."""
        return move_history_aside(self.directory / HISTORY)

    def weights(self) -> dict[str, np.ndarray]:
        """The best weights of all validations, by the names that `network.weights` gives.

        Raises:
            RunError: there are no weights yet, or they are damaged, NaN or infinite.
        """
        if self.storage.exists(NETWORK[0]):
            raise RunError(f"{self.directory}: is an export, which has no weights: name the run that it was made from")
        if not self.has_weights:
            raise RunError(
                f"{self.directory} has no {self.best.name} yet, which training saves when it validates: continue with "
                "nmt train, or translate with its newest checkpoint, --checkpoints 1"
            )
        try:
            arrays = named_arrays(self.storage.arrays(BEST))
            require_numbers(arrays, self.best)
            return arrays
        except RunError as error:
            if self.is_pack:
                raise
            raise RunError(f"{error}: use its newest checkpoint instead, --checkpoints 1, or train again") from None


def _read_config(storage: Storage) -> RunConfig:
    """The configuration in config.json.

    Raises:
        RunError: there is no config.json, or it is damaged, or it has a value that is refused.
    """
    path = storage.path / CONFIG
    try:
        fields = json.loads(storage.read(CONFIG, LONGEST_CONFIG).decode(), parse_int=as_whole_number)
        if isinstance(fields, dict) and fields.keys() >= _OF_AN_ALIGNER:
            raise RunError(f"{storage.path}: is an aligner, which nmt aligner --model reads, and no run of nmt train")
        config: RunConfig = config_from_dict(RunConfig, upgrade_fields(fields))
        return config
    except FileNotFoundError:
        if not storage.path.exists():
            raise no_such_run(storage.path) from None
        raise RunError(
            f"{storage.path}: not a run directory, it has no config.json; train one with nmt train"
        ) from None
    except RecursionError:
        raise RunError(f"{path}: cannot be read (nested too deeply)") from None
    except (ConfigError, json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
        raise RunError(f"{path}: cannot be read ({error})") from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None
