"""The models of a server: loaded in the background, and loaded again when their files are replaced."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from nmt.errors import NmtError
from nmt.progress import report
from nmt.serving.engine import Engine
from nmt.serving.limits import Limits, RefusedError
from nmt.serving.messages import LanguageOfSide, ModelDescription
from nmt.text.languages import Language
from nmt.translation.translator import Translator

LOADING_SECONDS = 5
"""Seconds after which a client may ask a model again that is being loaded."""
WATCH_SECONDS = 2.0
"""Seconds between two looks at the files of the models."""

KINDS, WRITTEN = (".json", ".npz", ".model", ".onnx", ".bin"), ("manifest.json", "shortlist.npz")
"""Endings of the files of a model, and files that a server itself may write."""

State = Literal["loading", "ready", "failed"]
Signature = tuple[tuple[str, int, int, int], ...]
"""Name, time, size and number of the files of a model: all change when a file is replaced."""


class Load(Protocol):
    """Loads a run directory or pack."""

    def __call__(self, directory: Path) -> Translator: ...


class ServedModel:
    """A model with its name.

    Args:
        name: in requests and answers; it is never read as a path.
        directory: of the run, or the file of a pack.
        load: see `Load`.
        limits: of the model's queue.
    """

    def __init__(self, name: str, directory: Path, load: Load, limits: Limits | None = None) -> None:
        self.name, self.directory, self._load, self._limits = name, directory, load, limits or Limits()
        self.report_batch: Callable[[int], object] = lambda sentences: None
        """Called with the number of sentences of each batch."""
        self.state: State = "loading"
        self._engine: Engine | None = None
        self._loaded: Signature = ()
        self._seen: Signature = ()

    def load(self) -> None:
        """Loads the model and compiles its usual programs. Standard error says when it is ready, or why it failed.

        A model that is loaded again answers with its old files until the new ones are ready, or if they cannot be read.
        """
        self._loaded = self._seen = signature(self.directory)
        try:
            engine = Engine(self._load(self.directory), self._limits, lambda count: self.report_batch(count))
            engine.warm_up()
        except Exception as error:
            self.state = "ready" if self._engine else "failed"
            kind = "" if isinstance(error, NmtError) else f"{type(error).__name__}: "
            report(f"model {self.name}: {kind}{' '.join(str(error).split())}")
        else:
            replaces, self._engine = self._engine is not None, engine
            self.state = "ready"  # clients of the old engine keep it until they are answered
            if replaces:
                gc.collect()  # the old model has reference cycles, and much memory
            report(f"model {self.name} is ready{_without_languages(engine)}")

    def load_if_replaced(self) -> None:
        """Loads the model again if its files have been replaced, and have not changed since the last look."""
        found = signature(self.directory)
        settled, self._seen = found == self._seen, found
        if found and settled and found != self._loaded:
            report(f"model {self.name}: its files have been replaced, so they are loaded")
            self.load()
            self.warm_up_rest()

    def warm_up_rest(self) -> None:
        """Compiles more programs while requests are answered; the request that needs one reports its failure."""
        if self._engine:
            with contextlib.suppress(Exception):
                self._engine.warm_up_rest()

    @property
    def engine(self) -> Engine:
        """The loaded model.

        Raises:
            RefusedError: it is being loaded, or cannot be loaded.
        """
        if self._engine is None:
            if self.state == "failed":
                raise RefusedError(503, f"model {self.name} cannot be loaded; the log of the server says why")
            raise RefusedError(503, f"model {self.name} is being loaded", retry_after=LOADING_SECONDS)
        return self._engine

    @property
    def unfinished(self) -> int:
        """Sentences that wait or are being computed."""
        return self._engine.scheduler.unfinished if self._engine else 0

    def describe(self) -> ModelDescription:
        """The public facts of the model: nothing of its directory."""
        if self._engine is None:
            return ModelDescription(name=self.name, state=self.state)
        config, languages = self._engine.translator.config, self._engine.translator.run.languages
        recurrent = config.model.architecture != "transformer"
        return ModelDescription(
            name=self.name,
            state=self.state,
            source=_side(languages.source),
            target=_side(languages.target),
            architecture=config.model.architecture,
            attention=config.model.attention.score if recurrent else "multi_head",
            beam_size=config.search.beam_size,
            max_source=config.search.max_source,
        )


def _without_languages(engine: Engine) -> str:
    """The remark on a model that does not name both of its languages; empty for another."""
    if "und" not in (language.code for language in engine.translator.run.languages):
        return ""
    return (
        "; it does not name both of its languages, by which clients of LibreTranslate ask for a model: name them when "
        "you train, with --corpus.source_language and --corpus.target_language"
    )


class Models(Mapping[str, ServedModel]):
    """The models of a server by name; the first one answers by default.

    Args:
        models: with different names.
    """

    def __init__(self, models: Sequence[ServedModel]) -> None:
        self._models = {model.name: model for model in models}
        self._stopped = threading.Event()

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

    def start(self, watch_seconds: float = WATCH_SECONDS) -> None:
        """Loads the models in the background, one after the other, and then watches their files."""
        self._stopped.clear()
        threading.Thread(target=self._load_and_watch, args=[watch_seconds], name="models", daemon=True).start()

    def stop(self) -> None:
        """Ends the watch."""
        self._stopped.set()

    def _load_and_watch(self, seconds: float) -> None:
        for model in self._models.values():
            model.load()
        for model in self._models.values():
            model.warm_up_rest()
        while not self._stopped.wait(seconds):
            for model in self._models.values():
                model.load_if_replaced()


def signature(directory: Path) -> Signature:
    """The files of a run that translate, or the file of a pack; empty while there are none."""
    found = []
    try:
        paths = sorted(directory.iterdir()) if directory.is_dir() else [directory]
    except OSError:  # the directory is being replaced
        return ()
    for path in paths:
        if path == directory or (path.suffix in KINDS and path.name not in WRITTEN):
            try:
                state = path.stat()
            except OSError:  # it is being replaced
                continue
            found.append((path.name, state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(found)


def served_models(directories: Sequence[str], load: Load, limits: Limits) -> Models:
    """The models in these directories, named after them, or by NAME=DIRECTORY.

    Raises:
        NmtError: two directories have one name.
    """
    models: dict[str, ServedModel] = {}
    for text in directories:
        name, directory = _named(text)
        if name in models:
            raise NmtError(f"two models are named {name}: name one of them, as in --model other={directory}")
        models[name] = ServedModel(name, directory, load, limits)
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
