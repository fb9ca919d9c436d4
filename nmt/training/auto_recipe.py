"""Recipe `auto`: the recipe for the size of a text, fitted to the text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from nmt.config import RunConfig, recipes
from nmt.config.reading import merge_fields
from nmt.config.recipes import BESIDE, PAIRS
from nmt.config.yaml_files import load_fields
from nmt.progress import LineProgress, counted
from nmt.text.errors import CorpusError
from nmt.text.held_out_pairs import WithoutHeldOut, hold_out
from nmt.text.pairs import PairReader
from nmt.text.text_size import TextSize, measure_text

LEAST_PAIRS = 20
"""Fewer pairs teach nothing that a validation could measure."""

MOST_HELD_OUT = 1000
"""Held-out pairs of a text of ten thousand pairs or more."""

SCALED = ("100", "1k")
"""Recipes whose number of epochs `auto` scales, so that fewer pairs have as many updates."""

SHORTER_PIECES = 1.8
"""The small vocabularies of the scaled recipes cut a sentence into so many times the usual number of pieces."""

VALIDATIONS = 20
"""Validations of a whole training by a scaled recipe."""

LONG_EPOCH, VALIDATE_EVERY = 10_000, 5000
"""Batches of an epoch from which on `auto` validates within an epoch, and how often: each validation saves the run."""


class Choice(NamedTuple):
    """The settings that `auto` chose."""

    fields: dict[str, Any]
    """Nested fields, to lie below the configuration file and the flags."""
    lines: list[str]
    """What was chosen and why, for the user."""


def fit_to_text(given: Mapping[str, Any], config: RunConfig) -> Choice:
    """The settings for a text: the recipe whose number of pairs is nearest, as a ratio, and what depends on the text.

    Args:
        given: the fields that the user gave, as nested dictionaries; the other choices heed them.
        config: a configuration with these fields.

    Raises:
        CorpusError: the pairs cannot be read, or are too few to train on and hold out.
    """
    corpus = config.corpus
    size = measure_text(LineProgress(unit="pairs").over(training_pairs(config)))
    require_enough(size)
    held_out, pairs = ({}, size.pairs) if corpus.validation else fit_held_out(given.get("corpus", {}), config, size)
    name = min(PAIRS, key=lambda name: abs(math.log(pairs / PAIRS[name])))
    recipe = load_fields(recipes.path(name))
    training = recipe["training"] | given.get("training", {})
    if name in SCALED and "passes" not in given.get("training", {}):
        training["passes"] = max(round(training["passes"] * PAIRS[name] / pairs), 1)
    shorter = SHORTER_PIECES if name in SCALED else 1
    batches = max(shorter * size.pieces * pairs / size.pairs / training["batch_tokens"], 1)
    fitted = {
        "corpus": held_out,
        "vocabulary": {
            "adapt_size": not {"size", "target_size"} & set(given.get("vocabulary", {})),
            "normalization": "auto",  # recipes name the normalisation of their measurements
        },
        "training": {
            "passes": training["passes"],
            "validate_every": _validate_every(name, training["passes"], batches),
        },
    }
    fields = merge_fields(recipe, fitted)
    reason = f"recipe {name}: there are {pairs:,} pairs to train on, and it is made for about {PAIRS[name]:,}"
    lines = ["; ".join([reason, BESIDE[name]] if name in BESIDE else [reason])]
    return Choice(fields, [*lines, _summary(merge_fields(fields, given), bool(corpus.validation))])


def training_pairs(config: RunConfig) -> PairReader:
    """The training pairs without gold links, whose words are not yet known."""
    return PairReader(replace(config.corpus.train, alignment=""), config.corpus)


def require_enough(size: TextSize) -> None:
    """Refuses a text that is too small to learn from and to validate on.

    Raises:
        CorpusError: fewer than `LEAST_PAIRS` pairs, or a single source sentence.
    """
    if not size.pairs:
        raise CorpusError("there are no sentence pairs to train on: the text is empty")
    if size.pairs < LEAST_PAIRS or size.sources < 2:
        found = f"{size.pairs} pairs" if size.pairs < LEAST_PAIRS else "one source sentence"
        raise CorpusError(
            f"the text has {found}, and training needs {LEAST_PAIRS} pairs of different sentences at least: add pairs"
        )


class HeldOut(NamedTuple):
    """The held-out pairs and the rest."""

    fields: dict[str, Any]
    """Fields of `corpus`."""
    left: int
    """Pairs to train on."""


def fit_held_out(given: Mapping[str, Any], config: RunConfig, size: TextSize) -> HeldOut:
    """How many pairs to hold out, and whether their near-duplicates are dropped.

    A tenth of a small text. Fewer, if dropping the near-duplicates would cost too much of the text. Text that is made
    of one pattern has near-duplicates everywhere and keeps them.

    Args:
        given: the fields of `corpus` that the user gave.
        config: has them too.

    Raises:
        CorpusError: the pairs that the user wants to hold out leave none to train on.
    """
    near = config.corpus.near_duplicates == "drop"
    if "held_out" in given:
        return HeldOut({"held_out": given["held_out"]}, _left(config, given["held_out"], near))
    large = size.pairs >= 10 * MOST_HELD_OUT
    wish = min(MOST_HELD_OUT if large else max(size.pairs // 10, 4), max(size.sources // 5, 1))
    least, count = (0.5 if large else 0.75), wish
    while near and count > 1:  # a single pair measures nothing
        with suppress(CorpusError):  # all are near-duplicates
            left = _left(config, count)
            if left >= least * (size.pairs - count):
                return HeldOut({"held_out": count}, left)
        count //= 2
    if "near_duplicates" in given:
        return HeldOut({"held_out": wish}, _left(config, wish, near))
    return HeldOut({"held_out": wish, "near_duplicates": "keep"}, _left(config, wish, near=False))


def _left(config: RunConfig, held_out: int, near: bool = True) -> int:
    """The pairs to train on when so many pairs are held out; `near`: their near-duplicates are dropped.

    Raises:
        CorpusError: none are left.
    """
    reader = training_pairs(config)
    return sum(1 for _ in WithoutHeldOut(reader, hold_out(reader, held_out, config.training.seed), near))


def _validate_every(recipe: str, passes: int, batches: float) -> int:
    """Steps between two validations; 0: once an epoch."""
    if recipe in SCALED:
        return max(round(passes * batches / VALIDATIONS), 1)
    return VALIDATE_EVERY if batches > LONG_EPOCH else 0


def _summary(fields: Mapping[str, Any], validated: bool) -> str:
    """The line on what was chosen, the user's own settings among it."""
    corpus, vocabulary, training = (fields.get(name, {}) for name in ("corpus", "vocabulary", "training"))
    pieces = f"{'about ' * vocabulary['adapt_size']}{vocabulary['size']} pieces"
    every = training["validate_every"]
    held_out = [] if validated else [f"{corpus['held_out']} pairs held out for validation"]
    if corpus.get("near_duplicates") == "keep":
        held_out.append("their near-duplicates kept, because most of the text is made of them")
    chosen = [
        *held_out,
        *([] if vocabulary.get("run") else [pieces]),
        f"{counted(training['passes'], 'epoch')} of batches of {training['batch_tokens']} tokens",
        f"a validation every {'epoch' if not every else 'step' if every == 1 else f'{every} steps'}",
    ]
    return f"{', '.join(chosen)}; flags override each choice"
