"""The models of a server: loaded in the background, and loaded again when their files are replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from nmt.errors import NmtError
from nmt.progress import report
from nmt.serving.limits import RefusedError
from nmt.serving.messages import LanguageOfSide, ModelDescription
from nmt.text.languages import Language
from nmt.translation.translator import Translator

LOADING_SECONDS = 5
"""Seconds after which a client may ask a model again that is being loaded."""

State = Literal["loading", "ready", "failed"]


class Load(Protocol):
    """Loads a run directory or pack, and computes a sentence with it, so that the first request is quick."""

    def __call__(self, directory: Path) -> Translator: ...


class ServedModel:
    """A model with its name.

    Args:
        name: in requests and answers; it is never read as a path.
        directory: of the run, or the file of a pack.
        load: see `Load`.
    """

    def __init__(self, name: str, directory: Path, load: Load) -> None:
        self.name, self.directory, self._load = name, directory, load
        self.state: State = "loading"
        self._translator: Translator | None = None

    def load(self) -> None:
        """Loads the model; a model that cannot be loaded is `failed`, and standard error says why."""
        try:
            self._translator, self.state = self._load(self.directory), "ready"
        except NmtError as error:
            self.state = "failed"
            report(f"model {self.name}: {error}")

    @property
    def translator(self) -> Translator:
        """The loaded model.

        Raises:
            RefusedError: it is being loaded, or cannot be loaded.
        """
        if self._translator is None:
            if self.state == "failed":
                raise RefusedError(503, f"model {self.name} cannot be loaded; the log of the server says why")
            raise RefusedError(503, f"model {self.name} is being loaded", retry_after=LOADING_SECONDS)
        return self._translator

    def describe(self) -> ModelDescription:
        """The public facts of the model: nothing of its directory."""
        if self._translator is None:
            return ModelDescription(name=self.name, state=self.state)
        config, languages = self._translator.config, self._translator.run.languages
        return ModelDescription(
            name=self.name,
            state=self.state,
            source=_side(languages.source),
            target=_side(languages.target),
            architecture=config.model.architecture,
            attention=config.model.attention.score if config.model.architecture != "transformer" else "multi_head",
            beam_size=config.search.beam_size,
            max_source=config.search.max_source,
        )


class Models(Mapping[str, ServedModel]):
    """The models of a server by name, the first one answers by default.

    Args:
        models: with different names.
    """

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = {model.name: model for model in models}

    def __getitem__(self, name: str) -> ServedModel:
        return self._models[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)

    def __len__(self) -> int:
        return len(self._models)

    def named(self, name: str | None) -> ServedModel:
        """The model of a request; None is the first one.

        Raises:
            RefusedError: no model has this name.
        """
        if name is None:
            return next(iter(self._models.values()))
        if name not in self._models:
            raise RefusedError(404, f"no model has this name: expected {' or '.join(self._models)}")
        return self._models[name]

    @property
    def ready(self) -> bool:
        """Whether every model is loaded."""
        return all(model.state == "ready" for model in self._models.values())

    def start(self) -> None:
        """Loads the models in the background, one after the other."""
        threading.Thread(target=self._load_all, name="loading", daemon=True).start()

    def _load_all(self) -> None:
        for model in self._models.values():
            model.load()


def served_models(directories: Sequence[str], load: Load) -> Models:
    """The models in these directories, named after them, or by NAME=DIRECTORY.

    Raises:
        NmtError: two directories have one name.
    """
    models: dict[str, ServedModel] = {}
    for text in directories:
        name, directory = _named(text)
        if name in models:
            raise NmtError(f"two models are named {name}: name one of them, as in --model other={directory}")
        models[name] = ServedModel(name, directory, load)
    return Models(list(models.values()))


def model_path(text: str) -> str:
    """The directory in NAME=DIRECTORY, or the text itself."""
    return str(_named(text)[1])


def _named(text: str) -> tuple[str, Path]:
    name, equals, directory = text.partition("=")
    if equals and name and directory and not Path(text).exists():
        return name, Path(directory)
    path = Path(text)
    return path.resolve().name.removesuffix(".nmt") or "model", path


def _side(language: Language) -> LanguageOfSide:
    return LanguageOfSide(tag=language.tag, direction=language.direction)
