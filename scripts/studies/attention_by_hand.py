"""Attention among four words, computed in NumPy: queries, keys, values, scores, weights and output, step by step.

    python scripts/studies/attention_by_hand.py
    python scripts/studies/attention_by_hand.py --seed 7 --output DIR

The words are vectors of three numbers. Three random matrices of small whole numbers project them to queries, keys and
values. Finally the script compares the result with the layers of the translator (`nmt.network.attention`) and prints
the largest difference; the exit code is 1 if it is above 1e-5. It writes the printed steps (steps.txt) and weights.png
into --output.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from common.running import run_script
from nmt import NmtError, save_figure, show_heatmaps
from nmt.cli.parser import Parser
from nmt.cli.quiet import quiet_start

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

WORDS = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
"""[4 words, 3 numbers]; word 2 is the sum of words 0 and 1."""
LARGEST_NUMBER = 2
"""The matrices hold whole numbers from 0 to this one."""
TOLERANCE = 1e-5
LAST_SEED = 2**32 - 1


class Matrices(NamedTuple):
    """The projections of words to queries, keys and values, [3, 3] each."""

    query: np.ndarray
    key: np.ndarray
    value: np.ndarray


class Steps(NamedTuple):
    """Attention, step by step."""

    queries: np.ndarray
    """[words, width]."""
    keys: np.ndarray
    """[words, width]."""
    values: np.ndarray
    """[words, width]."""
    scores: np.ndarray
    """[queries, keys]."""
    scaled: np.ndarray
    """[queries, keys]."""
    weights: np.ndarray
    """[queries, keys], each row sums to one."""
    output: np.ndarray
    """[words, width]."""


def draw(seed: int) -> Matrices:
    """Three matrices of whole numbers from 0 to 2. NumPy promises that RandomState is the same in every release."""
    random = np.random.RandomState(seed)
    return Matrices(*(random.randint(LARGEST_NUMBER + 1, size=(3, 3)) for _ in Matrices._fields))


def softmax(row: np.ndarray) -> np.ndarray:
    """e to each number, divided by the sum of these powers.

    Subtracting the largest number first keeps the powers small and leaves the result as it is.
    """
    exponentials = np.exp(row - row.max())
    return exponentials / exponentials.sum()


def attend(words: np.ndarray, matrices: Matrices) -> Steps:
    """Scaled dot-product attention of words among themselves, softmax(Q K^T / sqrt(width)) V (Vaswani et al. 2017,
    eq. 1)."""
    queries, keys, values = (words @ matrix for matrix in matrices)
    scores = queries @ keys.T
    scaled = scores / np.sqrt(keys.shape[1])
    weights = np.array([softmax(row) for row in scaled])
    return Steps(queries, keys, values, scores, scaled, weights, weights @ values)


def differences(words: np.ndarray, matrices: Matrices, steps: Steps) -> dict[str, float]:
    """The largest difference of any weight or output between the layers and the steps, for each of two layers."""
    from nmt.network.attention import SCORES, MultiHeadAttention, context_vectors, masked_softmax

    everywhere = np.ones((1, 1, len(words)), dtype=bool)
    queries, keys, values = (array[None].astype(np.float32) for array in steps[:3])  # a batch of one
    weights = masked_softmax(SCORES["scaled_dot"]()(queries, keys), everywhere)
    parts = context_vectors(weights, values), weights

    layer = MultiHeadAttention(heads=1)
    layer.build((1, *words.shape), (1, *words.shape))
    # The output projection becomes the identity; biases are zero from the start.
    for name, matrix in (*matrices._asdict().items(), ("output", np.eye(words.shape[1]))):
        getattr(layer, f"{name}_kernel").assign(matrix)
    words = words[None].astype(np.float32)
    output, weights = layer(words, layer.project_memory(words), everywhere[:, None])
    return {
        "scaled_dot, masked_softmax, context_vectors": _largest(parts, steps),
        "MultiHeadAttention with one head": _largest((output, weights[:, 0]), steps),
    }


def _largest(found: Iterable[np.ndarray], steps: Steps) -> float:
    """The largest difference between (output, weights) of a batch of one and those of the steps; infinite for NaN."""
    pairs = zip(found, (steps.output, steps.weights), strict=True)
    largest = np.max([np.abs(np.asarray(layer)[0] - step).max() for layer, step in pairs])
    return float(np.nan_to_num(largest, nan=np.inf))


def report(words: np.ndarray, matrices: Matrices, steps: Steps) -> list[str]:
    """The steps as lines of text."""
    width = words.shape[1]
    lines = ["The words X, one per row:", *_rows(words)]
    for number, (name, letter, meaning) in enumerate(
        (
            ("query", "Q", "Queries Q = X W_Q: the question of each word"),
            ("key", "K", "Keys K = X W_K: the address of each word"),
            ("value", "V", "Values V = X W_V: the content of each word"),
        ),
        start=1,
    ):
        matrix = getattr(matrices, name)
        projected = words @ matrix
        lines += ["", f"{number}. {meaning}. {_shapes(words, matrix, projected)}", f"   W_{letter}:"]
        lines += [*_rows(matrix, named=False), f"   {letter}:", *_rows(projected)]
    lines += ["", f"4. Scores Q K^T: each query times each key. {_shapes(steps.queries, steps.keys.T, steps.scores)}"]
    lines += _rows(steps.scores)
    lines += ["", f"5. Scaled: the scores divided by sqrt({width}) = {width**0.5:.4f}. {_shapes(steps.scaled)}"]
    lines += _rows(steps.scaled)
    lines += ["", f"6. Softmax, row by row: the weights. {_shapes(steps.scaled)}"]
    for position, row in enumerate(steps.scaled):
        exponentials = np.exp(row - row.max())
        lines.append(f"   word {position}, minus the largest, {row.max():.4f}:  {_numbers(row - row.max())}")
        lines.append(f"     e to the power of each:  {_numbers(exponentials)}   sum {exponentials.sum():.4f}")
        lines.append(f"     divided by the sum:      {_numbers(steps.weights[position])}")
    lines += ["", f"7. Output: sums of the values, weighted. {_shapes(steps.weights, steps.values, steps.output)}"]
    for position, row in enumerate(steps.weights):
        terms = " + ".join(f"{weight:.4f} [{_numbers(v)}]" for weight, v in zip(row, steps.values, strict=True))
        lines += [f"   word {position} = {terms}", f"          = {_numbers(steps.output[position])}"]
    return lines


def _shapes(*arrays: np.ndarray) -> str:
    """[4, 3] x [3, 3] -> [4, 3] for factors and their product, or a single shape."""
    *factors, product = (str(list(array.shape)) for array in arrays)
    return f"{' x '.join(factors)} -> {product}" if factors else product


def _rows(matrix: np.ndarray, named: bool = True) -> list[str]:
    return [f"   {f'word {position}' if named else '      '}  {_numbers(row)}" for position, row in enumerate(matrix)]


def _numbers(row: np.ndarray) -> str:
    if np.issubdtype(row.dtype, np.integer):
        return " ".join(f"{number:2d}" for number in row)
    return " ".join(f"{number:8.4f}" for number in row)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The checked command line."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=42, metavar="S", help="seed of the matrices (default: 42)")
    parser.add_argument("--output", type=Path, default=Path("saved_models/attention_by_hand"), metavar="DIR")
    arguments = parser.parse_args(argv)
    if not 0 <= arguments.seed <= LAST_SEED:
        raise NmtError(f"--seed {arguments.seed}: expected 0 to {LAST_SEED}")
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Prints, writes and checks the steps; returns 1 if the layers differ from them."""
    arguments.output.mkdir(parents=True, exist_ok=True)
    matrices = draw(arguments.seed)
    steps = attend(WORDS, matrices)
    text = "\n".join(report(WORDS, matrices, steps)) + "\n"
    print(text, flush=True)
    (arguments.output / "steps.txt").write_text(text, encoding="utf-8")
    figure = show_heatmaps(steps.weights[None, None], "key of word", "query of word", ["attention weights"])
    save_figure(figure, arguments.output / "weights.png")
    with quiet_start():
        found = differences(WORDS, matrices, steps)
    print("Largest difference from the layers of nmt.network.attention:")
    for name, difference in found.items():
        print(f"   {difference:.1e}  {name}")
    print(f"steps.txt and weights.png are in {arguments.output}", file=sys.stderr)
    if max(found.values()) > TOLERANCE:
        print(f"attention_by_hand: the layers differ by more than {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 1 if the layers differ from the steps."""
    return run(parse(argv))


if __name__ == "__main__":
    sys.exit(run_script(main))
