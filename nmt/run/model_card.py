"""The model card of a pack: what the model is, from which data, how good, and how to use it, as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from shlex import quote

import numpy as np

from nmt.config import ModelConfig
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.history import validation_quality
from nmt.run.pack_storage import CARD
from nmt.run.training_pairs import about_new_pairs, training_pairs
from nmt.version import __version__

LIBRARIES = ("keras", "tensorflow", "sentencepiece")
"""Libraries whose versions the card names."""

_LICENCE = "Licence: "
_LARGEST = 2**20
"""Bytes of a card."""
UNKNOWN_LICENCE = "(to be filled in: the conditions under which others may use this model)"


USAGE = """    nmt translate --model {name} --source new.txt --output translated.txt
    nmt align --model {name} --source new.txt --output alignments
    nmt verify {name}

In Python:

    import nmt

    for translation in nmt.Translator.load({literal}).translate(["A sentence."]):
        print(translation.text)
"""
"""How `nmt` uses a model."""


def model_card(
    run: Run, weights: Mapping[str, np.ndarray], checkpoints: int, licence: str, name: str, usage: str = ""
) -> str:
    """The card of a run.

    Args:
        weights: of the model.
        checkpoints: number of newest checkpoints whose mean the weights are; 0: the best weights.
        licence: of the model; empty: left to be filled in.
        name: file name of the pack, for the examples.
        usage: examples, with `{name}` in place of the name on a command line and `{literal}` in Python; empty: those of
            `nmt`.
    """
    languages = run.languages
    scores = [] if checkpoints else list(_scores(run, _selected(run)))
    facts = [*_facts_of_data(run), *scores, *_facts(run, weights, checkpoints)]
    rows = "\n".join(f"| {what} | {value} |" for what, value in facts)
    return f"""# {run.config.name}

A translation model from {languages.source} to {languages.target}, trained with nmt {__version__}.

{_LICENCE}{licence or UNKNOWN_LICENCE}

| | |
| --- | --- |
{rows}
{_about_scores(run, bool(scores), checkpoints)}
## How to use it

{(usage or USAGE).replace("{name}", quote(name)).replace("{literal}", repr(name))}
The training text is not included.
"""


def licence_of(run: Run) -> str:
    """The licence in the card of a pack; "" for other runs, and for a pack without one.

    Raises:
        RunError: the card is damaged.
    """
    if not run.directory.is_file() or not run.storage.exists(CARD):
        return ""
    lines = run.storage.read(CARD, _LARGEST).decode("utf-8", errors="replace").split("\n")
    licences = [line.removeprefix(_LICENCE) for line in lines if line.startswith(_LICENCE)]
    return licences[0] if licences and licences[0] != UNKNOWN_LICENCE else ""


def _about_scores(run: Run, scored: bool, checkpoints: int) -> str:
    """A paragraph on what the scores of the card measure."""
    if checkpoints:
        return "\nThe mean of these checkpoints was not scored: nmt evaluate measures it.\n"
    selected = ", which also selected the weights" if _selected(run) else ""
    scores = f"\nThe scores are those of the validation pairs{selected}: other text gives lower ones.\n"
    return scores if scored else ""


def _selected(run: Run) -> bool:
    """Whether a score selected the weights; without one they are those of the end of the training."""
    return run.config.training.metric != "last"


def _facts(run: Run, weights: Mapping[str, np.ndarray], checkpoints: int) -> Iterable[tuple[str, str]]:
    """The rows of the card's table on the model."""
    config = run.config
    validated = "of the last validation" if config.training.metric == "last" else "best of all validations"
    yield "weights", f"mean of the newest {checkpoints} checkpoints" if checkpoints else validated
    yield "parameters", f"{sum(math.prod(array.shape) for array in weights.values()):,}"
    yield "network", _network(config.model)
    pieces = f"{run.source.size:,}" if config.vocabulary.shared else f"{run.source.size:,} and {run.target.size:,}"
    yield "vocabulary", f"{pieces} pieces ({config.vocabulary.type})"
    search = config.search
    beam = f"beam of {search.beam_size}, length penalty {search.length_penalty:g}"
    yield "search", beam if search.method == "beam" else search.method
    yield "made with", ", ".join([f"nmt {__version__}", *map(_library, LIBRARIES)])


def _facts_of_data(run: Run) -> Iterable[tuple[str, str]]:
    """The rows on languages, and on the numbers of pairs where the run still has them."""
    yield "languages", f"{run.languages.source} to {run.languages.target}"
    corpus = run.directory / "corpus"
    try:
        yield "training pairs", f"{len(training_pairs(run.directory, run.config)):,}{about_new_pairs(run.config)}"
        with open(corpus / "validation.jsonl", "rb") as file:
            yield "validation pairs", f"{sum(1 for _ in file):,}"
    except (NmtError, OSError):
        return


def _scores(run: Run, selected: bool) -> Iterable[tuple[str, str]]:
    """The scores of the weights in history.csv: those of the validation that selected them, or of the last one."""
    metric = run.config.training.metric if selected else "loss"
    try:
        history = [{name: _number(text) for name, text in row.items()} for row in run.read_history()]
    except NmtError:
        return
    rows = [
        {name: value for name, value in row.items() if name.startswith("validation_") and value is not None}
        for row in history
    ]
    rows = [row for row in rows if {"validation_loss", f"validation_{metric}"} <= row.keys()]
    if not rows:
        return
    ranks = [validation_quality(metric, row[f"validation_{metric}"], row["validation_loss"]) for row in rows]
    for name, value in rows[ranks.index(max(ranks)) if selected else -1].items():
        yield name.replace("_", " "), f"{value:g}"


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _network(model: ModelConfig) -> str:
    """The network in one line."""
    if model.architecture == "transformer":
        sizes = model.transformer
        return (
            f"Transformer, {sizes.encoder_layers} and {sizes.decoder_layers} layers of width {model.embedding}, "
            f"{sizes.heads} heads"
        )
    encoder = "BiLSTM encoder" if model.architecture == "rnn" else "Transformer encoder"
    attention = "no attention" if model.attention.score == "none" else f"{model.attention.score} attention"
    decoder = f"{model.decoder.capitalize()} decoder ({model.cell.upper()}, {model.units} units)"
    return f"{encoder}, {decoder}, {attention}, embeddings of {model.embedding}"


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} (unknown version)"
