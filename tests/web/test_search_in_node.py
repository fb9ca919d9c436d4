"""Search in JavaScript finds what `nmt.search` finds, over step functions that are tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_process import NODE, modules, run_node

from nmt import search
from nmt.config import SearchConfig
from nmt.text.pieces import BOS, PAD
from nmt.translation.inference.protocol import PieceConstraint

pytestmark = pytest.mark.skipif(NODE is None, reason="needs Node.js: apt-get install nodejs")

PIECES, STATES, POSITIONS = 9, 97, 4


class Table:
    """A model whose logits and attention are rows of tables; its state is a number that all pieces so far decide."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        self.logits = draw.normal(0, 2, (STATES, PIECES)).astype(np.float32)
        self.weights = draw.dirichlet(np.ones(POSITIONS), STATES).astype(np.float32)
        self.models = [self]
        self.target_size = PIECES

    def start(self, source: np.ndarray, _: Any) -> tuple[Any, Any]:
        return (np.zeros(len(source), np.int32),), ()

    def step(self, pieces: np.ndarray, states: Any, *_: Any) -> tuple[search.Distribution, Any, Any]:
        state = (states[0] * 5 + pieces * pieces + 1) % STATES
        logits = self.logits[state]
        distribution = search.Distribution(logits, search.log_sum_exp(logits), impossible=(PAD, BOS))
        return distribution, (state.astype(np.int32),), self.weights[state]


SEARCHES: list[tuple[dict[str, Any], int, list[int], list[int]]] = [
    ({"beam_size": 1}, 1, [], []),
    ({"beam_size": 1, "min_length_ratio": 2.0, "no_repeat_ngram": 2}, 1, [], []),
    ({"beam_size": 5}, 1, [], []),
    ({"beam_size": 5}, 5, [], []),
    ({"beam_size": 4, "length_penalty": 0.0, "diversity": 0.7}, 3, [], []),
    ({"beam_size": 6, "normalization": "power", "prune": 1.5}, 2, [], []),
    ({"beam_size": 3, "coverage_penalty": 0.4, "no_repeat_ngram": 3}, 2, [4, 5], []),
    ({"beam_size": 3, "no_repeat_ngram": 1, "min_length_ratio": 1.0}, 3, [], []),
    ({"beam_size": 12, "max_length_ratio": 0.5}, 12, [], []),
    ({"beam_size": 3}, 2, [], [6, 7, 6]),
]
"""Settings, number of hypotheses, suppressed pieces, and a prefix."""

IMPORTS = 'import { search } from "./engine/search.js";\n'
SCRIPT = """
const decoderOf = ({ logits, weights }) => ({
    states: [0],
    async step(pieces, rows) {
        this.states = rows.map((row, at) => (this.states[row] * 5 + pieces[at] ** 2 + 1) % logits.length);
        return this.states.map((state) => ({ logits: Float32Array.from(logits[state]), weights: weights[state] }));
    },
});
return Promise.all(input.map(({ table, settings }) => search(decoderOf(table), settings)));
"""


def found_by_nmt(table: Table, case: tuple[dict[str, Any], int, list[int], list[int]]) -> list[dict[str, Any]]:
    """The hypotheses as `nmt` finds them."""
    from nmt.translation.inference.batched_inference import BatchedInference

    changes, nbest, suppressed, prefix = case
    engine = BatchedInference(table, None, None, compiles=False, at_once=1)  # type: ignore[arg-type]
    constraints = [PieceConstraint(tuple(prefix), [])] if prefix else None
    (found,) = engine.find([[4, 5, 6]], SearchConfig(**changes), nbest, constraints, suppressed)
    return [one._asdict() for one in found]


def settings_of(case: tuple[dict[str, Any], int, list[int], list[int]]) -> dict[str, Any]:
    """The same search for the page; see engine/translator.js for the limits."""
    changes, nbest, suppressed, prefix = case
    config = SearchConfig(**changes)
    limit = int(np.ceil(config.max_length_ratio * 3)) + 10 + len(prefix)
    return {
        "slots": config.beam_size,
        "nbest": nbest,
        "limit": limit,
        "least": min(int(config.min_length_ratio * 3), limit - 1),
        "suppressed": suppressed,
        "prefix": prefix,
        "noRepeatNgram": config.no_repeat_ngram,
        "alpha": config.length_penalty,
        "normalization": config.normalization,
        "coverage": config.coverage_penalty,
        "diversity": config.diversity,
        "prune": config.prune,
    }


def test_every_search_finds_the_same_hypotheses(tmp_path: Path) -> None:
    cases = [(Table(seed), case) for seed in range(5) for case in SEARCHES]
    values = [
        {"table": {"logits": table.logits.tolist(), "weights": table.weights.tolist()}, "settings": settings_of(case)}
        for table, case in cases
    ]
    results = run_node(modules(tmp_path), IMPORTS, SCRIPT, values)
    for (table, case), result in zip(cases, results, strict=True):
        expected = found_by_nmt(table, case)
        assert [(one["ids"], one["finished"]) for one in result] == [(e["ids"], e["finished"]) for e in expected], case
        for one, other in zip(result, expected, strict=True):
            np.testing.assert_allclose(one["logProbability"], other["log_probability"], rtol=1e-5)
            np.testing.assert_allclose(one["score"], other["score"], rtol=1e-5)
            np.testing.assert_allclose(one["weights"], other["weights"], rtol=1e-5)
            np.testing.assert_allclose(one["costs"], other["piece_log_probabilities"], rtol=1e-4, atol=1e-5)
