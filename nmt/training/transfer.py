"""Fine-tuning: a model begins with the weights of another run, whose pieces need not be the same."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from keras.ops import convert_to_numpy

from nmt.config import RunConfig, network_settings
from nmt.network.model import Seq2Seq
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.text.tokenizer import Tokenizer

ROWS = {
    "source_embedding/embeddings": "source",
    "target_embedding/embeddings": "target",
    "output_kernel": "target",
    "output_bias": "target",
}
"""Weights of the whole model that have a row for each piece, and whose pieces these are."""


class Carried(NamedTuple):
    """How many of a run's pieces were taken over from another run's."""

    source: int
    target: int


def open_origin(config: RunConfig) -> Run:
    """The run whose weights `config` begins with.

    Raises:
        RunError: there is none, it has no weights yet, or its network is another one; the message names the setting.
    """
    origin = Run.open(Path(config.training.initial))
    if not origin.best.exists():
        raise RunError(f"training.initial: {origin.directory} has no weights yet: train it first")
    ours, theirs = network_settings(config), network_settings(origin.config)
    if other := [name for name, value in ours.items() if value != theirs[name]]:
        there = ", ".join(f"model.{name} {theirs[name]} (here {ours[name]})" for name in other)
        raise RunError(f"training.initial: the network of {origin.directory} is another one, with {there}: set them so")
    return origin


def carry_over(model: Seq2Seq, run: Run, origin: Run) -> Carried:
    """Gives a model the best weights of another run; embeddings go piece by piece, and the vectors of pieces that the
    other run does not have stay as they were drawn.

    Args:
        model: built model of `run`.
        origin: the run that the weights come from, see `open_origin`.
    """
    weights = origin.weights()
    rows = {side: _rows(getattr(run, side), getattr(origin, side)) for side in ("source", "target")}
    for variable in model.trainable_variables:
        side = ROWS.get(variable.path.partition("/")[2])  # layers have an output_kernel too, which is none of these
        given = weights[variable.path]
        if side is None:
            variable.assign(given)
        else:
            new, old = rows[side]
            values = np.array(convert_to_numpy(variable.value))
            values[new] = given[old]
            variable.assign(values)
    return Carried(len(rows["source"][0]), len(rows["target"][0]))


def _rows(tokenizer: Tokenizer, origin: Tokenizer) -> tuple[list[int], list[int]]:
    """Ids of the pieces that both vocabularies have, in the one and in the other."""
    places = {piece: index for index, piece in enumerate(origin.pieces(range(origin.size)))}
    pieces = enumerate(tokenizer.pieces(range(tokenizer.size)))
    found = [(index, places[piece]) for index, piece in pieces if piece in places]
    return [new for new, _ in found], [old for _, old in found]
