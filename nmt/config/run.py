"""Everything that one run is made from, and how it is written down."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from nmt.config.checks import ConfigError, as_number, require
from nmt.config.data import CorpusConfig, VocabularyConfig
from nmt.config.model import ModelConfig
from nmt.config.search import SearchConfig
from nmt.config.training import TrainingConfig


@dataclass(frozen=True)
class RunConfig:
    """Everything that one run is made from; saved whole beside the weights."""

    name: str = "run"
    """Name of the run; its directory is `directory`/`name`."""
    directory: str = "saved_models"
    """Where run directories are."""
    corpus: CorpusConfig = field(default_factory=CorpusConfig)
    """Sentence pairs."""
    vocabulary: VocabularyConfig = field(default_factory=VocabularyConfig)
    """Pieces."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Network."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """Training."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """Search, also of the validation and the default of `nmt translate`."""

    def __post_init__(self) -> None:
        plain = self.name not in ("", ".", "..") and "/" not in self.name and "\0" not in self.name
        require(plain, f"name is '{self.name}': expected a plain folder name")
        require(
            self.vocabulary.shared or self.model.tie != "all",
            "model.tie is 'all' but the vocabularies are separate: set vocabulary.shared to true, or tie to 'target'",
        )
        require(
            not self.training.guided.links or self.model.attends,
            "training.guided.links guides attention, but model.attention.score is none: choose a score",
        )


def to_dict(config: Any) -> dict[str, Any]:
    """The configuration as plain nested dictionaries, tuples as lists: what is written to JSON or YAML."""
    return {
        f.name: to_dict(value)
        if dataclasses.is_dataclass(value)
        else list(value)
        if isinstance(value, tuple)
        else value
        for f in dataclasses.fields(config)
        for value in [getattr(config, f.name)]
    }


def network(config: RunConfig) -> dict[str, Any]:
    """The fields that a model's weights depend on: those of the model but dropout."""
    model = to_dict(config.model)
    del model["dropout"]
    return model


PLAIN: dict[type, tuple[tuple[type, ...], str]] = {
    int: ((int,), "a whole number"),
    float: ((float, int), "a number"),
    bool: ((bool,), "true or false"),
    str: ((str,), "text"),
}
"""Of the plain types that fields are annotated with: what a file may hold for them, and what that is called."""


def from_dict(kind: type, values: dict[str, Any]) -> Any:
    """Reads back what `to_dict` wrote.

    Raises:
        ConfigError: a field that `kind` does not have, or a value that it refuses; the message begins with the group
            that it is in, such as `corpus.train`.
    """
    return _from_dict(kind, values, "")


def _from_dict(kind: type, values: dict[str, Any], group: str) -> Any:
    where = f"{group}: " if group else ""
    require(isinstance(values, dict), f"{where}expected fields and their values")
    fields, types = {f.name: f for f in dataclasses.fields(kind)}, get_type_hints(kind)
    unknown = sorted(map(str, set(values) - set(fields)))
    require(not unknown, f"{where}unknown field {', '.join(unknown)}")
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        path, nested = f"{group}.{name}" if group else name, fields[name].default_factory
        if dataclasses.is_dataclass(nested):
            arguments[name] = _from_dict(nested, value, path)
            continue
        if types[name] in PLAIN:
            kinds, expected = PLAIN[types[name]]
            value = as_number(value) if types[name] is float else value
            require(type(value) in kinds, f"{path} is {value!r}: expected {expected}")
        if get_origin(types[name]) is tuple:
            texts = isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
            require(texts, f"{path} is {value!r}: expected a list of texts, such as [a, b]")
        if get_origin(types[name]) is Literal:
            choices = get_args(types[name])
            require(value in choices, f"{path} is {value!r}: expected one of {', '.join(map(str, choices))}")
        arguments[name] = tuple(value) if isinstance(value, list) else value
    try:
        return kind(**arguments)
    except ConfigError as error:
        about_field = str(error).partition(" ")[0].rstrip(":") in fields
        raise ConfigError(f"{group}.{error}" if group and about_field else f"{where}{error}") from None
