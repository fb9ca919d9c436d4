"""The settings of a fine-tuning: those of the run that it begins with, fitted to the new text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nmt.config import RunConfig, config_to_dict
from nmt.config.reading import merge_fields
from nmt.progress import LineProgress
from nmt.run.directory import Run
from nmt.text.text_size import TextSize, measure_text
from nmt.training.auto_recipe import Choice, fit_held_out, training_pairs

RATE_SHARE = 0.1
"""Share of the initial run's highest learning rate, so that the model keeps what it has learned."""

UPDATES = 200
"""Updates of a fine-tuning on little text."""

FEWEST_EPOCHS, MOST_EPOCHS = 3, 30

VALIDATIONS = 10
"""Validations of a fine-tuning on little text."""

_INHERITED = ("batch_tokens", "accumulate", "window", "clip_norm", "label_smoothing", "ema", "metric", "patience")
"""The training settings that suit the initial run's model, whatever the text."""


def settings_for_fine_tuning(given: Mapping[str, Any], config: RunConfig, initial: Run) -> Choice:
    """The settings that lie below a user's own when training begins with another run.

    These are the network, the vocabulary, the search and the training settings of the initial run with a tenth of its
    learning rate. Held-out pairs, batches, epochs and validations are fitted to the text. A user who gives a setting
    of the vocabulary, another than the initial run's, gets a new vocabulary.

    Args:
        given: the fields that the user gave, as nested dictionaries.
        config: the same fields as a configuration.

    Raises:
        CorpusError: the pairs cannot be read.
    """
    saved = config_to_dict(initial.config)
    inherited = {name: saved["training"][name] for name in _INHERITED}
    if inherited["metric"] == "last":  # the initial weights stay the best unless others are better
        inherited["metric"] = "bleu"
    schedule = saved["training"]["schedule"]
    rate = float(f"{RATE_SHARE * schedule['learning_rate']:.3g}")
    fields = {
        "model": saved["model"],
        "search": saved["search"],
        "training": inherited | {"schedule": schedule | {"learning_rate": rate}},
    }
    vocabulary, lines = vocabulary_for_fine_tuning(given.get("vocabulary", {}), initial)
    fields["vocabulary"] = vocabulary
    first = (
        f"fine-tuning of {initial.directory}: its network{', vocabulary' * bool(vocabulary['run'])} and training "
        f"settings, with a tenth of its learning rate, {rate:g}"
    )
    if not config.corpus.train:  # nothing to fit to; preparation reports it
        return Choice(fields, [first, *lines])
    size = measure_text(LineProgress(unit="pairs").over(training_pairs(config)))
    held_out = {} if config.corpus.validation else fit_held_out(given.get("corpus", {}), config, size)
    fitted = fit_epochs(inherited["batch_tokens"], given.get("training", {}), size)
    fields = merge_fields(fields, {"corpus": held_out, "training": fitted})
    return Choice(fields, [first, *lines, _summary(merge_fields(fields, given), held_out)])


def vocabulary_for_fine_tuning(given: Mapping[str, Any], initial: Run) -> tuple[dict[str, Any], list[str]]:
    """The fields of the vocabulary, and a line of warning if it is a new one.

    Args:
        given: the fields of `vocabulary` that the user gave.
    """
    saved = config_to_dict(initial.config.vocabulary)
    other = [name for name, value in given.items() if value != saved[name]]
    if (run := given.get("run")) is not None and (not run or Path(run).resolve() != initial.directory.resolve()):
        other = ["run"]
    elif run:
        other = []
    if not other:
        return saved | {"run": str(initial.directory)}, []
    flags = " and ".join(f"--vocabulary.{name}" for name in other)
    adapts = not {"size", "target_size"} & set(given)
    return saved | {"run": "", "adapt_size": adapts}, [
        f"{flags} makes another vocabulary than that of {initial.directory}: pieces that it lacks begin with random "
        f"vectors and need much text; without {flags} its vocabulary is taken"
    ]


def fit_epochs(batch_tokens: int, given: Mapping[str, Any], size: TextSize) -> dict[str, int]:
    """Batches, epochs and validations: about `UPDATES` updates for little text, a few epochs for much.

    Args:
        batch_tokens: of the initial run.
        given: the fields of `training` that the user gave.
    """
    batch_tokens = given.get("batch_tokens", max(min(batch_tokens, size.pieces // 4), min(batch_tokens, 200)))
    batches = max(size.pieces / batch_tokens, 1)
    passes = given.get("passes", round(min(max(UPDATES / batches, FEWEST_EPOCHS), MOST_EPOCHS)))
    small = passes * batches < 5 * UPDATES
    every = max(round(passes * batches / VALIDATIONS), 1) if small else 0
    return {"batch_tokens": batch_tokens, "passes": passes, "validate_every": every}


def _summary(fields: Mapping[str, Any], held_out: Mapping[str, Any]) -> str:
    training = fields["training"]
    pairs = [f"{fields['corpus']['held_out']} pairs held out for validation"] if held_out else []
    epochs = f"{training['passes']} epochs of batches of {training['batch_tokens']} tokens"
    return f"{', '.join([*pairs, epochs])}; flags override each choice"
