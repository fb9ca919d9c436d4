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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nmt.config import ConfigError, RunConfig, config_from_dict, config_to_dict
from nmt.config.saved import CONFIG_FORMAT, upgrade_fields
from nmt.files.atomic_writing import write_atomically
from nmt.run.arrays import load_arrays, save_arrays
from nmt.run.errors import RunError
from nmt.run.vocabularies import load_vocabularies, save_vocabularies
from nmt.text.tokenizer import Tokenizer


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
            config = config_from_dict(RunConfig, upgrade_fields(json.loads(path.read_text(encoding="utf-8"))))
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
        text = json.dumps({"format": CONFIG_FORMAT, **config_to_dict(self.config)}, indent=2, ensure_ascii=False)
        # The name of a file may be no UTF-8: JSON's own escape stands for such a byte, and is read back as it was.
        write_atomically(self.directory / "config.json", text.encode(errors="backslashreplace"))

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
        write_atomically(self.directory / "history.csv", text.getvalue().encode())
