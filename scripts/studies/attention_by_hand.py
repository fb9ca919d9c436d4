"""Attention among four words by hand: queries, keys, values, scores, weights and output in NumPy, each step printed.

    python scripts/studies/attention_by_hand.py
    python scripts/studies/attention_by_hand.py --seed 7 --output DIR

The words are vectors of three numbers; three matrices of small whole numbers, drawn by the seed, make queries, keys and
values of them. At the end the layers of the translator (`nmt.network.attention`) answer the same question, and the
largest difference is printed; if it is above 1e-5 the exit code is 1. Written to --output: steps.txt, which is what is
printed, and weights.png.
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
"""[4 words, 3 numbers]; word 2 is word 0 and word 1 together."""
GREATEST = 2
"""Matrices are drawn from the whole numbers 0 to this."""
TOLERANCE = 1e-5
LAST_SEED = 2**32 - 1


class Matrices(NamedTuple):
    """What makes queries, keys and values of words, [3, 3] each."""

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
    """Three matrices of whole numbers from 0 to 2; NumPy promises that RandomState draws the same in every release."""
    random = np.random.RandomState(seed)
    return Matrices(*(random.randint(GREATEST + 1, size=(3, 3)) for _ in Matrices._fields))


def softmax(row: np.ndarray) -> np.ndarray:
    """e to each number, divided by their sum. The greatest is taken off first, which changes nothing but keeps
    e^number within what a computer can hold."""
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
    """How far the layers are from the steps: the largest difference of any weight or output, for each way to ask."""
    from nmt.network.attention import SCORES, MultiHeadAttention, context_vectors, masked_softmax

    everywhere = np.ones((1, 1, len(words)), dtype=bool)
    queries, keys, values = (array[None].astype(np.float32) for array in steps[:3])  # a batch of one
    weights = masked_softmax(SCORES["scaled_dot"]()(queries, keys), everywhere)
    parts = context_vectors(weights, values), weights

    layer = MultiHeadAttention(heads=1)
    layer.build((1, *words.shape), (1, *words.shape))
    # What follows the heads is made to pass on what it gets; biases are zero to begin with.
    for name, matrix in (*matrices._asdict().items(), ("output", np.eye(words.shape[1]))):
        getattr(layer, f"{name}_kernel").assign(matrix)
    words = words[None].astype(np.float32)
    output, weights = layer(words, layer.project_memory(words), everywhere[:, None])
    return {
        "scaled_dot, masked_softmax, context_vectors": _largest(parts, steps),
        "MultiHeadAttention with one head": _largest((output, weights[:, 0]), steps),
    }


def _largest(found: Iterable[np.ndarray], steps: Steps) -> float:
    """Largest difference between (output, weights) of a batch of one and those of the steps; infinite where one
    is not a number."""
    pairs = zip(found, (steps.output, steps.weights), strict=True)
    largest = np.max([np.abs(np.asarray(ours)[0] - theirs).max() for ours, theirs in pairs])
    return float(np.nan_to_num(largest, nan=np.inf))


def report(words: np.ndarray, matrices: Matrices, steps: Steps) -> list[str]:
    """The steps in lines, for reading."""
    width = words.shape[1]
    lines = ["The words X, one a row:", *_rows(words)]
    for number, (name, letter, what) in enumerate(
        (
            ("query", "Q", "Queries Q = X W_Q: what each word asks"),
            ("key", "K", "Keys K = X W_K: what each word is found by"),
            ("value", "V", "Values V = X W_V: what each word has to give"),
        ),
        start=1,
    ):
        matrix = getattr(matrices, name)
        made = words @ matrix
        lines += ["", f"{number}. {what}. {_shapes(words, matrix, made)}", f"   W_{letter}:"]
        lines += [*_rows(matrix, named=False), f"   {letter}:", *_rows(made)]
    lines += ["", f"4. Scores Q K^T: each query times each key. {_shapes(steps.queries, steps.keys.T, steps.scores)}"]
    lines += _rows(steps.scores)
    lines += ["", f"5. Scaled: the scores divided by sqrt({width}) = {width**0.5:.4f}. {_shapes(steps.scaled)}"]
    lines += _rows(steps.scaled)
    lines += ["", f"6. Softmax, row by row: the weights. {_shapes(steps.scaled)}"]
    for place, row in enumerate(steps.scaled):
        exponentials = np.exp(row - row.max())
        lines.append(f"   word {place}, minus the greatest, {row.max():.4f}:  {_numbers(row - row.max())}")
        lines.append(f"     e to the power of each:  {_numbers(exponentials)}   sum {exponentials.sum():.4f}")
        lines.append(f"     divided by the sum:      {_numbers(steps.weights[place])}")
    lines += ["", f"7. Output: sums of the values by weight. {_shapes(steps.weights, steps.values, steps.output)}"]
    for place, row in enumerate(steps.weights):
        terms = " + ".join(f"{weight:.4f} [{_numbers(v)}]" for weight, v in zip(row, steps.values, strict=True))
        lines += [f"   word {place} = {terms}", f"          = {_numbers(steps.output[place])}"]
    return lines


def _shapes(*arrays: np.ndarray) -> str:
    """[4, 3] x [3, 3] -> [4, 3] of the factors and the product, or the one shape."""
    *factors, product = (str(list(array.shape)) for array in arrays)
    return f"{' x '.join(factors)} -> {product}" if factors else product


def _rows(matrix: np.ndarray, named: bool = True) -> list[str]:
    return [f"   {f'word {place}' if named else '      '}  {_numbers(row)}" for place, row in enumerate(matrix)]


def _numbers(row: np.ndarray) -> str:
    if np.issubdtype(row.dtype, np.integer):
        return " ".join(f"{number:2d}" for number in row)
    return " ".join(f"{number:8.4f}" for number in row)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line, checked."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=42, metavar="S", help="of the matrices (default: 42)")
    parser.add_argument("--output", type=Path, default=Path("saved_models/attention_by_hand"), metavar="DIR")
    arguments = parser.parse_args(argv)
    if not 0 <= arguments.seed <= LAST_SEED:
        raise NmtError(f"--seed {arguments.seed}: expected 0 to {LAST_SEED}")
    return arguments


def run(arguments: argparse.Namespace) -> int:
    """Every step printed, written and checked; 1 where the layers do not agree."""
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
    print("Largest difference to the layers of nmt.network.attention:")
    for name, difference in found.items():
        print(f"   {difference:.1e}  {name}")
    print(f"steps.txt and weights.png are in {arguments.output}", file=sys.stderr)
    if max(found.values()) > TOLERANCE:
        print(f"attention_by_hand: the layers differ by more than {TOLERANCE:g}", file=sys.stderr)
        return 1
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line; 1 where the layers differ from what was computed by hand."""
    return run(parse(argv))


if __name__ == "__main__":
    sys.exit(run_script(main))
