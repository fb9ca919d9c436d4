"""Fine-tuning: the weights of another run that a model begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import copy_task
import numpy as np
import pytest
from keras import ops

from nmt.network.model import Seq2Seq
from nmt.run.arrays import save_arrays
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.fine_tuning import SharedPieces, transfer_weights
from nmt.training.preparation.prepare import prepare

SEPARATE = {"vocabulary": {"shared": False}, "model": {"tie": "none"}}
DEEP = [{"model": {"architecture": name, "embedding": 8}} for name in ("transformer", "mixed")]
"""Networks narrower than the number of pieces, whose layers have weights with the names of the output layer."""


def built(run: Run, seed: int, scramble: Any) -> Seq2Seq:
    model = Seq2Seq(run.config.model, run.source.size, run.target.size)
    model.build()
    scramble(model, seed)
    return model


def made(directory: Path, name: str, **changes: Any) -> Run:
    return prepare(copy_task.config(directory, name=name, **changes), "float32", lambda line: None).run


def values(model: Seq2Seq) -> dict[str, np.ndarray]:
    return {variable.path: np.array(ops.convert_to_numpy(variable.value)) for variable in model.trainable_variables}


@pytest.fixture
def corpus(tmp_path) -> Path:
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


def trained(run: Run, scramble: Any) -> dict[str, np.ndarray]:
    """Gives a run random weights as its best ones, and returns them."""
    weights = values(built(run, 1, scramble))
    save_arrays(run.best, weights)
    return weights


@pytest.mark.parametrize("changes", [{}, SEPARATE, *DEEP])
def test_with_the_same_pieces_all_weights_come_from_the_other_run(corpus, scramble, changes):
    origin, run = made(corpus, "origin", **changes), made(corpus, "tuned", **changes)
    expected, model = trained(origin, scramble), built(run, 2, scramble)
    assert transfer_weights(model, run, origin) == SharedPieces(run.source.size, run.target.size)
    for path, array in values(model).items():
        np.testing.assert_array_equal(array, expected[path], path)


@pytest.mark.parametrize("changes", [{}, SEPARATE, *DEEP])
def test_vectors_go_with_their_pieces_and_new_pieces_keep_their_own(corpus, scramble, changes):
    """Half of the words are new, and the others have other ids."""
    origin = made(corpus, "origin", **changes)
    expected = trained(origin, scramble)
    for side in ("source", "target"):
        lines = (corpus / f"train.{side}").read_text().splitlines()
        copy_task.write_lines(corpus / f"train.{side}", [f"{line} {line.upper()}" for line in lines[::-1]])
    run = made(corpus, "tuned", **{**changes, "vocabulary": {**changes.get("vocabulary", {}), "size": 100}})
    model = built(run, 2, scramble)
    before = values(model)
    shared = transfer_weights(model, run, origin)
    assert 0 < shared.source < run.source.size
    for path, array in values(model).items():
        side = "source" if "source_embedding" in path else "target"
        ours, theirs = getattr(run, side), getattr(origin, side)
        if array.shape[0] != ours.size:
            np.testing.assert_array_equal(array, expected[path], path)
            continue
        for index, piece in enumerate(ours.pieces(range(ours.size))):
            place = theirs.index(piece)
            known = before[path][index] if place is None else expected[path][place]
            np.testing.assert_array_equal(array[index], known, f"{path} {piece}")


def beginning(name: str, corpus: Path, **model: Any) -> Run:
    return made(corpus, name, model=model, training={"initial": str(corpus / "runs" / "origin")})


def test_dropout_may_differ_and_other_network_settings_may_not(corpus, scramble):
    trained(made(corpus, "origin"), scramble)
    beginning("more dropout", corpus, dropout={"embedding": 0.5})
    with pytest.raises(
        RunError,
        match=r"is 32 there and 16 here: leave these settings out, or give --model.units 32 --model.embedding 32$",
    ):
        beginning("wider", corpus, units=64, embedding=16)
    assert not (corpus / "runs" / "wider").exists()  # the same name can be given again


def test_the_message_names_a_run_that_is_missing_or_has_no_weights(corpus):
    with pytest.raises(RunError, match="origin: no such run directory"):
        beginning("early", corpus)
    made(corpus, "origin")
    with pytest.raises(RunError, match="origin: the run has no weights yet: train it first"):
        beginning("early", corpus)
    assert not (corpus / "runs" / "early").exists()
