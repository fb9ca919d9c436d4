"""A tiny recurrent step function, and plain Python searches over it as oracles."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np
from chains import assert_same_result
from hypothesis import strategies as st

from nmt import search
from nmt.backend import ops
from nmt.backend.compiling import compile_function
from nmt.text.pieces import BOS, EOS

SEEDS = st.integers(0, 2**32 - 1)


class Tiny(NamedTuple):
    """Parameters and state of the step function, a set for each sentence. The next piece depends on the whole
    history."""

    hidden: Any
    """[batch, 3]."""
    mix: Any
    """[batch, 3, 3]."""
    embedding: Any
    """[batch, vocabulary, 3]."""
    output: Any
    """[batch, 3, vocabulary]."""

    @classmethod
    def draw(cls, seed: int, batch: int, vocabulary: int, eos: float = 0.0) -> Tiny:
        random = np.random.default_rng(seed)
        shapes = (batch, 3), (batch, 3, 3), (batch, vocabulary, 3), (batch, 3, vocabulary)
        drawn = cls(*(random.normal(0.0, 1.5, shape).astype(np.float32) for shape in shapes))
        drawn.hidden[:, 2] = 1.0  # so that `eos` raises or lowers the probability of an ending
        drawn.output[:, 2, EOS] += eos
        return drawn

    def take(self, rows: list[int]) -> Tiny:
        return Tiny(*(values[rows] for values in self))

    def with_vocabulary(self, size: int) -> Tiny:
        """Declares all axes but the first, which a compiled program does not know of its arguments."""
        shapes = (-1, 3), (-1, 3, 3), (-1, size, 3), (-1, 3, size)
        return Tiny(*(ops.reshape(values, shape) for values, shape in zip(self, shapes, strict=True)))


def tiny_step(last: Any, tiny: Tiny) -> tuple[Any, Tiny, Any]:
    """One step. The record is the hidden state."""
    embedded = ops.take_along_axis(tiny.embedding, ops.cast(last, "int32")[:, None, None], axis=1)[:, 0]
    tanh = np.tanh if ops.is_numpy(tiny) else keras.ops.tanh
    hidden = tanh(ops.matmul(tiny.hidden[:, None], tiny.mix)[:, 0] + embedded)
    logits = ops.matmul(hidden[:, None], tiny.output)[:, 0]
    return search.Distribution(ops.log_softmax(logits)), tiny._replace(hidden=hidden), hidden


def tiny_step_numpy(last: int, hidden: np.ndarray, tiny: Tiny, row: int) -> tuple[np.ndarray, np.ndarray]:
    """One step for one sentence in NumPy: log-probabilities and the next hidden state."""
    hidden = np.tanh(hidden @ tiny.mix[row].astype(float) + tiny.embedding[row, last])
    logits = hidden @ tiny.output[row].astype(float)
    return logits - np.log(np.exp(logits).sum()), hidden


class Path(NamedTuple):
    """A hypothesis of an oracle."""

    pieces: tuple[int, ...]
    log_probability: float
    hidden: np.ndarray

    @property
    def finished(self) -> bool:
        return self.pieces[-1:] == (EOS,)

    def rank(self, alpha: float) -> tuple[bool, float]:
        """Sort key: finished hypotheses first, then by score."""
        return self.finished, self.log_probability / ((5 + len(self.pieces)) / 6) ** alpha


def continuations(path: Path, tiny: Tiny, row: int) -> Iterator[Path]:
    """The hypothesis extended by each piece."""
    log_probabilities, hidden = tiny_step_numpy(path.pieces[-1] if path.pieces else BOS, path.hidden, tiny, row)
    for piece, value in enumerate(log_probabilities):
        yield Path((*path.pieces, piece), path.log_probability + value, hidden)


def plain_beam(tiny: Tiny, row: int, limit: int, slots: int) -> list[Path]:
    """Beam search with lists, always up to the limit."""
    live, finished = [Path((), 0.0, tiny.hidden[row].astype(float))], []
    for _ in range(limit):
        paths = (path for parent in live for path in continuations(parent, tiny, row))
        best = sorted(paths, key=lambda path: -path.log_probability)[: slots - len(finished)]
        live = [path for path in best if not path.finished]
        finished += [path for path in best if path.finished]
    return finished + live


def exhaustive(tiny: Tiny, row: int, limit: int) -> list[Path]:
    """All hypotheses that end within the limit or are cut there."""
    live, finished = [Path((), 0.0, tiny.hidden[row].astype(float))], []
    for _ in range(limit):
        paths = [path for parent in live for path in continuations(parent, tiny, row)]
        live = [path for path in paths if not path.finished]
        finished += [path for path in paths if path.finished]
    return finished + live


LIMIT = 4
"""Length limit of `search_wide`."""

WIDE = 1 + 4 + 16 + 64 * 5
"""Slots for all hypotheses of at most four of five pieces: the finished ones and all continuations of the last step."""

NO_ARGUMENTS = np.int32(0)

MakeMethod = Callable[[int, Any, Any, int], search.SearchMethod]
"""(slots, arguments, limits, vocabulary) -> method."""


@functools.cache
def _compiled(make_method: MakeMethod, slots: int, vocabulary: int) -> Callable[..., Any]:
    def run(tiny: Tiny, limits: Any, arguments: Any) -> search.SearchResult:
        method = make_method(slots, arguments, limits, vocabulary)
        return search.search(tiny_step, tiny.with_vocabulary(vocabulary), limits, LIMIT, 3, method)

    return compile_function(run)


def search_under(make_method: MakeMethod, tiny: Tiny, slots: int, arguments: Any = NO_ARGUMENTS) -> search.SearchResult:
    """Searches up to LIMIT with a program that is compiled once per method; returns NumPy arrays.

    The same search over NumPy arrays finds the same.
    """
    limits, vocabulary = np.full(len(tiny.hidden), LIMIT, np.int32), tiny.embedding.shape[1]
    compiled = _compiled(make_method, slots, vocabulary)(tiny, limits, arguments)
    compiled = search.SearchResult(*map(keras.ops.convert_to_numpy, compiled))
    method = make_method(slots, arguments, limits, vocabulary)
    assert_same_result(search.search(tiny_step, tiny, limits, LIMIT, 3, method), compiled)
    return compiled


def best_allowed(tiny: Tiny, row: int, allowed: Callable[[tuple[int, ...]], bool]) -> Path:
    """The most probable finished hypothesis that is allowed."""
    paths = [p for p in exhaustive(tiny, row, LIMIT) if p.finished and allowed(p.pieces)]
    return max(paths, key=lambda path: path.log_probability)


def assert_best(found: search.SearchResult, row: int, best: Path) -> None:
    """Asserts that the first hypothesis of a sentence is the oracle's."""
    assert tuple(found.tokens[row, 0, : found.lengths[row, 0]].tolist()) == best.pieces
    np.testing.assert_allclose(found.log_probabilities[row, 0], best.log_probability, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.piece_log_probabilities[row, 0].sum(), best.log_probability, rtol=1e-4, atol=1e-5)
