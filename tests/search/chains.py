"""Hand-drawn Markov chains as step functions: the state is a table of probabilities.

A piece that a row does not name is impossible after the row's piece.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import numpy as np

from nmt import search
from nmt.backend import ops
from nmt.text.pieces import BOS

A, B, C = 4, 5, 6
IMPOSSIBLE = -1e30


def chain(pieces: int, **rows: dict[int, float]) -> np.ndarray:
    """Log-probabilities [1, last piece, next piece] from probabilities: chain(6, start={A: 0.5}, A={EOS: 1.0})."""
    table = np.full((1, pieces, pieces), IMPOSSIBLE, np.float32)
    last = {"start": BOS, "A": A, "B": B, "C": C}
    for name, nexts in rows.items():
        for piece, probability in nexts.items():
            table[0, last[name], piece] = math.log(probability)
    return table


def chain_step(last: Any, table: Any) -> tuple[Any, Any, Any]:
    """One step of the chain. The record is the last piece, one-hot."""
    rows = ops.take_along_axis(table, ops.cast(last, "int32")[:, None, None], axis=1)[:, 0]
    record = ops.cast(ops.arange(table.shape[-1], like=last) == last[:, None], "float32")
    return search.Distribution(rows), table, record


def search_chain(
    table: np.ndarray,
    limits: list[int],
    method: search.SearchMethod,
    longest: int | None = None,
    step: search.Step = chain_step,
) -> search.SearchResult:
    """Searches a chain without compiling and returns NumPy arrays. NumPy and Keras find the same."""
    arrays = table, np.array(limits, np.int32)
    found, of_keras = (
        search.search(step, state, limit, longest or max(limits), table.shape[-1], method)
        for state, limit in (arrays, map(keras.ops.convert_to_tensor, arrays))
    )
    of_keras = search.SearchResult(*map(keras.ops.convert_to_numpy, of_keras))
    assert_same_result(found, of_keras)
    return of_keras


def assert_same_result(found: search.SearchResult, expected: search.SearchResult) -> None:
    """Asserts that two results have the same pieces and types, and numbers that are equal but for rounding."""
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5, atol=1e-5)
    for name, ours, theirs in zip(found._fields, _by_pieces(found), _by_pieces(expected), strict=True):
        assert isinstance(getattr(found, name), np.ndarray), name
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5, err_msg=name)


def _by_pieces(result: search.SearchResult) -> list[np.ndarray]:
    """The fields of a result with the hypotheses of a sentence in the order of their pieces: rounding can exchange
    neighbours of almost equal score."""
    orders = [np.lexsort(np.asarray(tokens).T[::-1]) for tokens in result.tokens]
    return [np.stack([values[order] for values, order in zip(field, orders, strict=True)]) for field in result]


def pieces(found: search.SearchResult, row: int = 0, slot: int = 0) -> list[int]:
    """The pieces of one hypothesis."""
    return found.tokens[row, slot, : found.lengths[row, slot]].tolist()
