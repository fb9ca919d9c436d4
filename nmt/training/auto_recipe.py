"""Recipe `auto`: the recipe for the size of a text, fitted to the text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from nmt.config import ConfigError, RunConfig, recipes
from nmt.config.reading import build_config, merge_fields
from nmt.config.recipes import BESIDE, RECOMBINED, RECOMBINED_UPDATES, SIZES
from nmt.config.yaml_files import load_fields
from nmt.progress import LineProgress, counted
from nmt.run.prepared_manifest import PreparedManifest
from nmt.text.errors import CorpusError
from nmt.text.held_out_pairs import WithoutHeldOut, hold_out
from nmt.text.pairs import PairReader
from nmt.text.text_size import TextSize, measure_text
from nmt.training.budget import Speed as Timing
from nmt.training.budget import Work, plan, scaled_dropout, smaller_networks, time_training
from nmt.training.preparation.validation_pairs import read_validation_pairs

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


TimeNetwork = Callable[[RunConfig, float], Timing]
"""Times a network: see `time_training`."""


class Choice(NamedTuple):
    """The settings that `auto` chose."""

    fields: dict[str, Any]
    """Nested fields, to lie below the configuration file and the flags."""
    lines: list[str]
    """What was chosen and why, for the user."""


def fit_to_text(given: Mapping[str, Any], config: RunConfig, time_network: TimeNetwork | None = None) -> Choice:
    """The settings for a text: the recipe that suits its number of pairs, and what depends on the text.

    Args:
        given: the fields that the user gave, as nested dictionaries; the other choices heed them.
        config: a configuration with these fields.
        time_network: times a network on this machine, for `training.minutes`; None: `time_training`.

    Raises:
        CorpusError: the pairs cannot be read, or are too few to train on and hold out.
    """
    corpus = config.corpus
    size = measure_text(LineProgress(unit="pairs").over(training_pairs(config)))
    require_enough(size, corpus.train.title)
    held_out, pairs = ({}, size.pairs) if corpus.validation else fit_held_out(given.get("corpus", {}), config, size)
    name = recipes.suited_to(pairs)
    recipe = load_fields(recipes.path(name))
    training = recipe["training"] | given.get("training", {})
    recombined = _recombined(name, config, given.get("training", {}))
    training |= recombined
    longer = 1 + training.get("recombine", 0)
    if "passes" not in given.get("training", {}):
        scale = SIZES[name].made_for / pairs if name in SCALED else 1
        updates = RECOMBINED_UPDATES if longer > 1 else 1
        training["passes"] = max(round(training["passes"] * scale * updates / longer), 1)
    length = (SHORTER_PIECES if name in SCALED else 1) * size.pieces / size.pairs
    batches = max(length * pairs * longer / training["batch_tokens"], 1)
    within: dict[str, Any] = {}
    told = []
    if config.training.minutes:
        validation_pairs = _count_validation(config) or held_out["held_out"]
        work = Work(batches, pairs * longer, validation_pairs, training["passes"])
        sized = not {"architecture", "units", "embedding", "attention"}.isdisjoint(given.get("model", {}))
        within, line = _within_minutes(
            config, merge_fields(recipe, given), name, work, length, sized, time_network or time_training
        )
        training |= within["training"]
        told.append(line)
    fitted = {
        "corpus": held_out,
        "vocabulary": {
            "adapt_size": not {"size", "target_size"} & set(given.get("vocabulary", {})),
            "normalization": "auto",  # recipes name the normalisation of their measurements
        },
        "training": {
            **recombined,
            "passes": training["passes"],
            "validate_every": training.get("validate_every") or _validate_every(name, training["passes"], batches),
        },
    }
    fields = merge_fields(merge_fields(recipe, within), fitted)
    apart = size.pairs - pairs
    others = f" ({apart:,} of {size.pairs:,} are held out or nearly repeat a held-out pair)" if apart else ""
    reason = f"recipe {name} is for {recipes.sizes_in_words(name)}: there are {pairs:,} to train on{others}"
    lines = ["; ".join([reason, BESIDE[name]] if name in BESIDE else [reason])]
    return Choice(fields, [*lines, *told, _summary(merge_fields(fields, given), bool(corpus.validation))])


def _recombined(name: str, config: RunConfig, given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `training` with which a recipe makes new pairs, unless the user's settings speak against it.

    Args:
        name: of the recipe.
        config: has the user's settings.
        given: the fields of `training` that the user gave.
    """
    if "recombine" in given:
        return links_for_new_pairs(given)
    decided = not given.get("aligner", True) or config.training.guided.links
    can_be_guided = config.model.attends and not config.model.attends_hard
    if name not in RECOMBINED or decided or not can_be_guided:
        return {}
    return {"aligner": True, "recombine": RECOMBINED[name]}


def links_for_new_pairs(given: Mapping[str, Any]) -> dict[str, Any]:
    """The field of `training` that learns links, if the user asks for new pairs and says nothing on links."""
    decided = "aligner" in given or given.get("guided", {}).get("links")
    count = given.get("recombine", 0)
    asked = isinstance(count, int) and count > 0  # the configuration refuses other values
    return {"aligner": True} if asked and not decided else {}


def _within_minutes(
    config: RunConfig,
    fields: dict[str, Any],
    name: str,
    work: Work,
    length: float,
    sized: bool,
    time_network: TimeNetwork,
) -> tuple[dict[str, Any], str]:
    """The fields of a training that fits `training.minutes`, and a line on them; `sized`: the user gave the network."""
    others = [load_fields(recipes.path(other))["model"] for other in SIZES]
    networks, built = _built(fields, [{}] if sized else smaller_networks(fields["model"], others))

    def trial(place: int) -> Timing:
        return time_network(built[place], length)

    parameters = [_count_parameters(one) for one in built]
    found = plan(60 * config.training.minutes, work, parameters, trial)
    dropout = scaled_dropout(fields["model"]["dropout"], found.dropout) if found.dropout < 1 else {}
    every = max(round(found.passes * work.batches / found.validations), 1)
    chosen = {
        "model": networks[found.network] | {"dropout": dropout},
        "training": {"passes": found.passes, "validate_every": every},
    }
    line = (
        f"{config.training.minutes:g} minutes: {found.passes} of {counted(work.passes, 'epoch')} of recipe {name}, "
        f"each about {found.epoch_seconds / 60:.1f} minutes here, with {built[found.network].model.units} units"
    )
    if found.dropout < 1:
        line += f"; dropout times {found.dropout:.2f}"
    if not found.fits:
        line += "; even this takes longer than the time allows"
    return chosen, line


def _built(fields: dict[str, Any], networks: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[RunConfig]]:
    """The networks that the user's settings fit, with their configurations. The first one must fit."""
    fitting, configs = [], []
    for network in networks:
        try:
            configs.append(build_config(merge_fields(fields, {"model": network}), None, {}))
        except ConfigError:  # such as a read-out as wide as larger embeddings
            if not configs:
                raise
        else:
            fitting.append(network)
    return fitting, configs


def _count_parameters(config: RunConfig) -> int:
    from nmt.network.building import count_parameters

    return count_parameters(config.model, config.vocabulary.size, config.vocabulary.size)


def _count_validation(config: RunConfig) -> int:
    """The validation pairs that the user names; 0 if pairs are held out instead."""
    return len(read_validation_pairs(config.corpus)) if config.corpus.validation else 0


def fit_to_prepared(given: Mapping[str, Any], corpus: PreparedManifest) -> Choice:
    """The settings for a prepared corpus: as `fit_to_text`, from its manifest. Its text and pieces are decided."""
    name = recipes.suited_to(corpus.pairs)
    recipe = load_fields(recipes.path(name))
    training = recipe["training"] | given.get("training", {})
    if name in SCALED and "passes" not in given.get("training", {}):
        training["passes"] = max(round(training["passes"] * SIZES[name].made_for / corpus.pairs), 1)
    every = _validate_every(name, training["passes"], max(corpus.pieces / training["batch_tokens"], 1))
    fitted = {"training": {"passes": training["passes"], "validate_every": every}}
    fields = merge_fields({**recipe, "corpus": {}, "vocabulary": {}}, fitted)
    chosen = merge_fields(merge_fields(fields, corpus.settings), given)
    reason = f"recipe {name} is for {recipes.sizes_in_words(name)}: {corpus.pairs:,} are prepared"
    return Choice(fields, [reason, _summary(chosen, bool(corpus.key.get("validation")))])


def training_pairs(config: RunConfig) -> PairReader:
    """The training pairs without gold links, whose words are not yet known."""
    return PairReader(replace(config.corpus.train, alignment=""), config.corpus)


def require_enough(size: TextSize, title: str) -> None:
    """Refuses a text that is too small to learn from and to validate on; `title` names it in the message.

    Raises:
        CorpusError: fewer than `LEAST_PAIRS` pairs, or a single source sentence.
    """
    if not size.pairs:
        raise CorpusError(f"{title}: there are no sentence pairs to train on: the text is empty")
    if size.pairs < LEAST_PAIRS or size.sources < 2:
        found = f"{size.pairs} pairs" if size.pairs < LEAST_PAIRS else "one source sentence"
        raise CorpusError(
            f"{title}: the text has {found}, and training needs {LEAST_PAIRS} pairs of different sentences at least: "
            "add pairs"
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


def steps_between_validations(passes: int, batches: float, validations: int) -> int:
    """Steps between so many validations in all, at most two in each epoch of `batches` steps."""
    return max(round(passes * batches / validations), round(batches / 2), 1)


def _validate_every(recipe: str, passes: int, batches: float) -> int:
    """Steps between two validations; 0: once an epoch."""
    if recipe in SCALED:
        return steps_between_validations(passes, batches, VALIDATIONS)
    return VALIDATE_EVERY if batches > LONG_EPOCH else 0


def _summary(fields: Mapping[str, Any], validated: bool) -> str:
    """The line on what was chosen, the user's own settings among it."""
    corpus, vocabulary, training = (fields.get(name, {}) for name in ("corpus", "vocabulary", "training"))
    pieces = f"{'about ' * vocabulary['adapt_size']}{vocabulary['size']:,} pieces"
    every, new = training["validate_every"], training.get("recombine")
    held_out = [] if validated else [f"{corpus['held_out']:,} pairs held out for validation"]
    if corpus.get("near_duplicates") == "keep":
        held_out.append("their near-duplicates kept, because most of the text is made of them")
    chosen = [
        *held_out,
        *([] if vocabulary.get("run") else [pieces]),
        *([f"{new} new pairs for each pair, made of phrases of other pairs"] if new else []),
        f"{counted(training['passes'], 'epoch')} of batches of {training['batch_tokens']:,} tokens",
        f"a validation every {'epoch' if not every else 'step' if every == 1 else f'{every:,} steps'}",
    ]
    return f"{', '.join(chosen)}; flags override each choice"
