"""The run directory: configuration, vocabularies, weights and checkpoints, written whole or not at all.

saved_models/NAME/
    config.json          the configuration, with the precision that was decided
    shared.model         the vocabulary; source.model and target.model where there are two
    best.npz             the best weights so far: what translates
    checkpoints/*.npz    everything training needs to go on, named by its step
    history.csv          a row a validation
    shortlist.npz        translations of each piece, once a search with a short list has asked for them
    corpus/              the training pairs as ids, and their links where attention is guided
    tensorboard/         scalars and alignment images
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import ConfigError, RunConfig, from_dict, to_dict
from nmt.config.saved import FORMAT, as_it_was
from nmt.errors import NmtError
from nmt.files import write_whole
from nmt.text.corpus import PairReader
from nmt.text.tokenizer import Tokenizer


class RunError(NmtError):
    """A run directory that is missing, incomplete, damaged, or that belongs to another configuration."""


TEXT = "corpus/text.json"
"""Of a run directory: fingerprints of the text that its pairs were made from."""


FREE = {"name", "directory", "search", "training.passes", "training.log_every", "training.checkpoints"} | {
    f"training.{name}" for name in ("validate_every", "patience", "precision")
}
"""Settings that may differ from those of the run that is resumed. (Precision is kept as it was decided.)"""


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Saves named arrays to an .npz file, whole or not at all."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads what `save_arrays` wrote; never unpickles.

    Raises:
        RunError: no such file, or not one of ours.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise RunError(f"{path}: no such file") from None
    except (ValueError, TypeError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile):
        raise RunError(f"{path}: damaged, or not a file of weights") from None


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


@dataclass(frozen=True)
class Run:
    """A run directory that is set up: its configuration and vocabularies."""

    directory: Path
    config: RunConfig
    source: Tokenizer
    target: Tokenizer

    @classmethod
    def open(cls, directory: str | Path) -> Run:
        """Opens a run for translation or to be resumed.

        Raises:
            RunError: it is missing, incomplete or damaged.
        """
        directory = Path(directory)
        path = directory / "config.json"
        try:
            config = from_dict(RunConfig, as_it_was(json.loads(path.read_text(encoding="utf-8"))))
        except FileNotFoundError:
            raise RunError(
                f"{directory}: not a run directory, it has no config.json; train one with nmt train"
            ) from None
        except (ConfigError, json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
            raise RunError(f"{path}: cannot be read ({error})") from None
        return cls(directory, config, *load_vocabularies(directory, config.vocabulary.shared))

    @classmethod
    def create(cls, directory: Path, config: RunConfig, source: Tokenizer, target: Tokenizer) -> Run:
        """Sets a run directory up; the configuration comes last, and makes it a run."""
        save_vocabularies(directory, source, target, config.vocabulary.shared)
        run = cls(directory, config, source, target)
        run.save_config()
        return run

    def save_config(self) -> None:
        text = json.dumps({"format": FORMAT, **to_dict(self.config)}, indent=2, ensure_ascii=False)
        # The name of a file may be no UTF-8: JSON's own escape stands for such a byte, and is read back as it was.
        write_whole(self.directory / "config.json", text.encode(errors="backslashreplace"))

    @property
    def best(self) -> Path:
        """The weights that translate."""
        return self.directory / "best.npz"

    @property
    def short_list(self) -> Path:
        """The table of `shortlist.ShortList`, where it has been made."""
        return self.directory / "shortlist.npz"

    def checkpoints(self) -> list[Path]:
        """Checkpoints, oldest first."""
        return sorted((self.directory / "checkpoints").glob("[0-9]*.npz"))

    def save_checkpoint(self, step: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Saves a checkpoint and deletes those beyond the newest `training.checkpoints.keep`."""
        save_arrays(self.directory / "checkpoints" / f"{step:09d}.npz", arrays)
        for path in self.checkpoints()[: -self.config.training.checkpoints.keep]:
            path.unlink()

    def weights(self) -> dict[str, np.ndarray]:
        """The best weights so far.

        Raises:
            RunError: there are none yet, or they are damaged.
        """
        if not self.best.exists():
            raise RunError(
                f"{self.directory} has no {self.best.name} yet, which training saves when it validates: go on with nmt "
                "train, or translate with its newest checkpoint, --checkpoints 1"
            )
        try:
            return load_arrays(self.best)
        except RunError as error:
            raise RunError(f"{error}: take its newest checkpoint instead, --checkpoints 1, or train again") from None

    def averaged_checkpoints(self, count: int, paths: Iterable[str]) -> dict[str, np.ndarray]:
        """The mean of the weights with these paths in the newest `count` checkpoints.

        Raises:
            RunError: there are fewer checkpoints, or they are of another model.
        """
        wanted = list(paths)
        newest = self.checkpoints()[-count:]
        if len(newest) < count:
            raise RunError(
                f"{self.directory} keeps {len(newest)} checkpoints, {count} are wanted: "
                f"train with training.checkpoints.keep {count} or more"
            )
        # The number before a variable's path is its place, which in a checkpoint counts other variables too.
        loaded = [{name.partition("/")[2]: array for name, array in load_arrays(path).items()} for path in newest]
        if not all(set(wanted) <= set(arrays) for arrays in loaded):
            raise RunError(f"{self.directory}: the checkpoints are of another model than config.json says")
        means = {path: np.mean([arrays[path] for arrays in loaded], axis=0) for path in wanted}
        return {f"{place:04d}/{path}": array for place, (path, array) in enumerate(means.items())}

    def read_history(self) -> list[dict[str, str]]:
        """Rows of history.csv, a validation each; none where there is no file.

        Raises:
            RunError: something else has written it anew.
        """
        path = self.directory / "history.csv"
        if not path.exists():
            return []
        try:
            with open(path, newline="", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            if all((row.get("step") or "").isdecimal() for row in rows):
                return rows
        except (UnicodeDecodeError, csv.Error):
            pass
        raise RunError(
            f"{path}: is not as training wrote it, commas between columns one of which is step: save it so, or "
            "delete it, and training goes on without its rows"
        )

    def write_history(self, rows: list[dict[str, Any]]) -> None:
        """Writes history.csv anew."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [])
        writer.writeheader()
        writer.writerows(rows)
        write_whole(self.directory / "history.csv", text.getvalue().encode())


def require_same(saved: RunConfig, wanted: RunConfig, directory: Path) -> None:
    """Refuses to resume a run with settings that would make it another one.

    Raises:
        RunError: names the first field that differs, and both values.
    """
    for name, old, new in differences(to_dict(saved), to_dict(wanted)):
        if not any(name == free or name.startswith(free + ".") for free in FREE):
            raise RunError(
                f"{directory} was begun with {name} = {old!r}, now it is {new!r}: "
                "give this run another name, set the old value, or delete the directory"
            )


def differences(old: dict[str, Any], new: dict[str, Any], prefix: str = "") -> list[tuple[str, Any, Any]]:
    """Name, old and new value of each field that two configurations (`to_dict`) do not have in common."""
    found = []
    for name, value in old.items():
        if isinstance(value, dict):
            found += differences(value, new.get(name) or {}, f"{prefix}{name}.")
        elif value != new.get(name):
            found.append((f"{prefix}{name}", value, new.get(name)))
    return found


def text_of(config: RunConfig) -> dict[str, Any]:
    """Fingerprints of the training pairs, and of the validation pairs where they are given."""
    corpus = config.corpus
    sides = {"train": PairReader(corpus.train, links=config.training.guided.links).fingerprint()}
    if corpus.validation:
        sides["validation"] = PairReader(corpus.validation).fingerprint()
    return sides


def text_changed(directory: Path, config: RunConfig) -> bool:
    """Whether the text is there and is another one than the run in `directory` was made from, as far as that is
    known."""
    if config.corpus.train.tfds or (config.corpus.validation or config.corpus.train).tfds:
        return False  # it might have to be downloaded again
    try:
        then = json.loads((directory / TEXT).read_text(encoding="utf-8"))
        return bool(then != text_of(config))
    except (OSError, ValueError):  # an older run, or one that was moved without its text
        return False
