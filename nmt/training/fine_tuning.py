"""Fine-tuning: a model begins with the weights of another run, which may have other vocabularies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from keras.ops import convert_to_numpy

from nmt.config import RunConfig, network_settings
from nmt.network.building import weight_shapes
from nmt.network.model import Seq2Seq
from nmt.network.weights import require_shapes
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.run.exported import is_export
from nmt.run.resuming import differing_settings
from nmt.text.tokenizer import Tokenizer

ROW_PER_PIECE = {
    "source_embedding/embeddings": "source",
    "target_embedding/embeddings": "target",
    "output_kernel": "target",
    "output_bias": "target",
}
"""Weights of the model that have one row per piece, and the side of the vocabulary. The names of a layer's weights,
such as `encoder/output_kernel`, are longer."""


class SharedPieces(NamedTuple):
    """How many pieces of a run's vocabularies the other run has too."""

    source: int
    target: int


def open_initial_run(config: RunConfig) -> Run:
    """The run that `training.initial` names.

    Raises:
        RunError: there is no such run, it has no weights yet, or its network differs; the message names the settings.
        WeightsError: its weights are not those of its network.
    """
    initial = Run.open(Path(config.training.initial))
    if is_export(initial.directory):
        raise RunError(
            f"--training.initial {initial.directory}: is an export, whose network cannot be trained: name the run that "
            "it was made from"
        )
    if not initial.has_weights:
        raise RunError(f"--training.initial {initial.directory}: the run has no weights yet: train it first")
    there, here = network_settings(initial.config), network_settings(config)
    if different := differing_settings(there, here, "model."):
        values = ", ".join(f"{name} is {old} there and {new} here" for name, old, new in different)
        flags = " ".join(f"--{name} {_as_flag_value(old)}" for name, old, _ in different)
        raise RunError(
            f"--training.initial {initial.directory}: its network differs, {values}: leave these settings out, or give "
            f"{flags}"
        )
    expected = weight_shapes(initial.config.model, initial.source.size, initial.target.size)
    require_shapes({name: array.shape for name, array in initial.weights().items()}, expected, str(initial.best))
    return initial


def begin_with_initial_run(model: Seq2Seq, run: Run, say: Callable[[str], None]) -> bool:
    """Takes the weights of the run that `training.initial` names; whether they are the whole model of `run`."""
    initial = open_initial_run(run.config)
    shared = transfer_weights(model, run, initial)
    say(
        f"training begins with the weights of {initial.directory}, which has {shared.source} of {run.source.size} "
        f"source pieces and {shared.target} of {run.target.size} target pieces"
    )
    return shared == (run.source.size, run.target.size)


def _as_flag_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def transfer_weights(model: Seq2Seq, run: Run, initial: Run) -> SharedPieces:
    """Assigns the best weights of another run to a model.

    Embeddings and output rows go with their pieces. Pieces that the other run lacks keep their random vectors.

    Args:
        model: built model of `run`.
        initial: the other run, from `open_initial_run`.

    Returns:
        The number of pieces whose vectors come from the other run.
    """
    weights = initial.weights()
    rows = {side: _shared_rows(getattr(run, side), getattr(initial, side)) for side in ("source", "target")}
    for variable in model.trainable_variables:
        side = ROW_PER_PIECE.get(variable.path.partition("/")[2])
        given = weights[variable.path]
        if side is None:
            variable.assign(given)
            continue
        here, there = rows[side]
        values = np.array(convert_to_numpy(variable.value))
        values[here] = given[there]
        variable.assign(values)
    return SharedPieces(len(rows["source"][0]), len(rows["target"][0]))


def _shared_rows(here: Tokenizer, there: Tokenizer) -> tuple[list[int], list[int]]:
    """Ids of the pieces that both vocabularies have, in each of them."""
    ids = {piece: index for index, piece in enumerate(there.pieces(range(there.size)))}
    pieces = enumerate(here.pieces(range(here.size)))
    shared = [(index, ids[piece]) for index, piece in pieces if piece in ids]
    return [index for index, _ in shared], [index for _, index in shared]
