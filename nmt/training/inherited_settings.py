"""The settings of a fine-tuning: those of the run that it begins with, fitted to the new text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nmt.config import RunConfig, TrainingConfig, config_to_dict, recipes
from nmt.config.reading import merge_fields
from nmt.config.yaml_files import load_fields
from nmt.progress import LineProgress, counted
from nmt.run.directory import Run
from nmt.run.prepared_manifest import read_prepared
from nmt.text.text_size import measure_text
from nmt.training.auto_recipe import Choice, fit_held_out, steps_between_validations, training_pairs

RATE_SHARE = 0.1
"""Share of the initial run's highest learning rate, so that the model keeps what it has learned."""

UPDATES = 200
"""Updates of a fine-tuning on little text."""

FEWEST_EPOCHS, MOST_EPOCHS = 3, 30

VALIDATIONS = 10
"""Validations of a fine-tuning on little text."""

_INHERITED = (
    "batch_tokens",
    "accumulate",
    "window",
    "clip_norm",
    "weight_decay",
    "label_smoothing",
    "ema",
    "metric",
    "patience",
)
"""The training settings that suit a model, whatever the text."""


def settings_for_fine_tuning(
    given: Mapping[str, Any], initial: Run, recipe: str, build: Callable[[dict[str, Any]], RunConfig]
) -> Choice:
    """The settings that lie below a user's own when training begins with another run.

    These are the network, the vocabulary, the search and the training settings of the initial run with a tenth of its
    learning rate; a named recipe replaces the training settings, the dropout and the search. Held-out pairs, batches,
    epochs and validations are fitted to the text. A user who gives a setting of the vocabulary, another than the
    initial run's, gets a new vocabulary.

    Args:
        given: the fields that the user gave, as nested dictionaries.
        recipe: the name of a recipe, or "".
        build: makes the configuration with fields below the user's.

    Raises:
        ConfigError: a refused value.
        CorpusError: the pairs cannot be read.
    """
    own = _fields_of_recipe(recipe) if recipe else {}
    corpus = given.get("corpus", {}).get("prepared")
    prepared = read_prepared(Path(corpus)) if corpus else None
    pieces_of = prepared.settings["vocabulary"] if prepared else given.get("vocabulary", {})
    vocabulary, lines = vocabulary_for_fine_tuning(pieces_of, initial, corpus)
    fields = merge_fields(_inherited_fields(initial) | {"vocabulary": vocabulary}, own)
    config = build(fields)
    lines = [_origin(config, initial, recipe, bool(vocabulary["run"])), *lines]
    if not (prepared or config.corpus.train):  # nothing to fit to; preparation reports it
        return Choice(fields, lines)
    held_out, pieces = ({}, prepared.pieces) if prepared else _held_out_and_pieces(given, config)
    pieces *= 1 + config.training.recombine
    fitted = fit_epochs(config.training, merge_fields(own, given).get("training", {}), pieces)
    fields = merge_fields(fields, {"corpus": held_out, "training": fitted})
    apart = [] if prepared or config.corpus.validation else [f"{held_out['held_out']:,} pairs held out for validation"]
    return Choice(fields, [*lines, _summary(build(fields).training, apart)])


def _held_out_and_pieces(given: Mapping[str, Any], config: RunConfig) -> tuple[dict[str, Any], int]:
    """The fields of `corpus` that hold out pairs, and the pieces of the pairs that are left."""
    size = measure_text(LineProgress(unit="pairs").over(training_pairs(config)))
    if config.corpus.validation:
        return {}, size.pieces
    held_out, left = fit_held_out(given.get("corpus", {}), config, size)
    return held_out, round(size.pieces * left / max(size.pairs, 1))


def _inherited_fields(initial: Run) -> dict[str, Any]:
    """The settings of the initial run that suit its model, whatever the text."""
    saved = config_to_dict(initial.config)
    inherited = {name: saved["training"][name] for name in _INHERITED}
    if inherited["metric"] == "last":  # the initial weights stay the best unless others are better
        inherited["metric"] = "bleu"
    inherited["schedule"] = saved["training"]["schedule"] | {"learning_rate": _lower_rate(initial)}
    return {"model": saved["model"], "search": saved["search"], "training": inherited}


def _fields_of_recipe(name: str) -> dict[str, Any]:
    """The settings of a recipe that suit any network and vocabulary."""
    fields = load_fields(recipes.path(name))
    return {
        "model": {"dropout": fields["model"]["dropout"]},
        "training": fields["training"],
        "search": fields["search"],
    }


def _lower_rate(initial: Run) -> float:
    return float(f"{RATE_SHARE * initial.config.training.schedule.learning_rate:.3g}")


def _origin(config: RunConfig, initial: Run, recipe: str, same_pieces: bool) -> str:
    """The line on where the settings come from."""
    kept = ["network"] + ["vocabulary"] * same_pieces + ["training settings"] * (not recipe)
    taken = ", ".join(kept[:-1]) + " and " * (len(kept) > 1) + kept[-1]
    others = f", the training settings and dropout of recipe {recipe}" if recipe else ""
    rate = config.training.schedule.learning_rate
    share = "a tenth of its learning rate," if rate == _lower_rate(initial) else "the learning rate"
    return f"fine-tuning of {initial.directory}: its {taken}{others}, with {share} {rate:g}"


def vocabulary_for_fine_tuning(
    given: Mapping[str, Any], initial: Run, prepared: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The fields of the vocabulary, and a line of warning if it is a new one.

    Args:
        given: the fields of `vocabulary` that the user gave, or all those of the prepared corpus.
        prepared: the directory of that corpus, if there is one.
    """
    saved = config_to_dict(initial.config.vocabulary)
    other = [name for name, value in given.items() if value != saved[name]]
    if (run := given.get("run")) is not None and (not run or Path(run).resolve() != initial.directory.resolve()):
        other = ["run"]
    elif run:
        other = []
    if not other:
        return saved | {"run": str(initial.directory)}, []
    flags = prepared or " and ".join(f"--vocabulary.{name}" for name in other)
    verb = "has" if prepared else "makes"
    adapts = not {"size", "target_size"} & set(given)
    return saved | {"run": "", "adapt_size": adapts}, [
        f"{flags} {verb} another vocabulary than that of {initial.directory}: pieces that it lacks begin with random "
        f"vectors and need much text; without {flags} its vocabulary is taken"
    ]


def fit_epochs(training: TrainingConfig, given: Mapping[str, Any], pieces: int) -> dict[str, int]:
    """Batches, epochs and validations: about `UPDATES` updates for little text, a few epochs for much.

    Args:
        training: the settings of the initial run, and over them those that the user gave.
        given: the fields of `training` that the user or a recipe gave.
        pieces: of the pairs to train on, without those held out and with the new pairs.
    """
    batch_tokens, passes = training.batch_tokens, training.passes
    if "batch_tokens" not in given:
        batch_tokens = max(min(batch_tokens, pieces // 4), min(batch_tokens, 200))
    batches = max(pieces / batch_tokens, 1)
    wanted = UPDATES * training.accumulate
    if "passes" not in given:
        passes = round(min(max(wanted / batches, FEWEST_EPOCHS), MOST_EPOCHS))
    small = passes * batches < 5 * wanted
    every = steps_between_validations(passes, batches, VALIDATIONS) if small else 0
    return {"batch_tokens": batch_tokens, "passes": passes, "validate_every": every}


def _summary(training: TrainingConfig, apart: Sequence[str]) -> str:
    """The line on what training does; `apart` names held-out pairs."""
    new = [f"{counted(training.recombine, 'new pair')} for each pair"] * bool(training.recombine)
    epochs = f"{counted(training.passes, 'epoch')} of batches of {training.batch_tokens:,} tokens"
    return f"{', '.join([*apart, *new, epochs])}; flags override each choice"
