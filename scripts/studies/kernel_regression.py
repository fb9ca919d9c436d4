"""Kernel regression out of the translator's attention: from an average to a width that is learned.

    python scripts/studies/kernel_regression.py
    python scripts/studies/kernel_regression.py --points 200 --noise 1 --seeds 3 --output DIR

Training points are drawn from y = 2 sin x + x^0.8 + noise, and y is predicted at test points, with four estimators:

* average pooling: the mean of the training values, wherever the test point is;
* Nadaraya-Watson: values weighted by a Gaussian of their distance, its inverse width w held at 1;
* learned width: the same, w learned by gradient descent on predicting each training point from all the others;
* grid search: the w that is best at that among many, in plain NumPy, for comparison: what learning should find.

The first three are made of the parts of `network.attention` that the translator is made of. A test point is the query,
training points are the keys, their values the values. Written to --output: results.tsv (every seed), fits.png and
weights.png (the first seed).
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from common.running import run_script
from nmt import NmtError, save_figure, show_heatmaps
from nmt.cli.parser import Parser
from nmt.cli.quiet import quiet_start

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from nmt.backend import Tensor
    from nmt.network.attention import Score

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

END = 5.0
"""Points are on [0, END)."""
TESTS = 50
GRID = np.geomspace(0.1, 100.0, 601)
"""Inverse widths of the grid search, each 1.2 % above the one before: from nearly an average to the nearest point."""
RATE = 2.0
"""Of learning. Momentum or a greater rate is quicker, and was seen to jump over the minimum where points are few."""
MOST_STEPS = 3000
STILL = 1e-5
"""Slope of the loss at which learning ends."""
COLUMNS = ("estimator", "inverse width", "leave-one-out", "against the truth", "against noisy values")


class Data(NamedTuple):
    """A regression problem; float64 arrays [points] and [tests]."""

    x: np.ndarray
    """Training points, in ascending order."""
    y: np.ndarray
    test_x: np.ndarray
    truth: np.ndarray
    """At the test points, without noise."""
    test_y: np.ndarray


class Estimate(NamedTuple):
    """What an estimator says of a problem."""

    name: str
    inverse_width: float | None
    predictions: np.ndarray
    """[tests]."""
    weights: np.ndarray
    """[tests, points], each row sums to one."""
    left_one_out: float
    """Mean squared error of each training point predicted from all the others."""


def function(x: np.ndarray) -> np.ndarray:
    """What is to be found: 2 sin x + x^0.8."""
    return 2 * np.sin(x) + x**0.8


def make_data(seed: int, points: int = 50, noise: float = 0.5) -> Data:
    """Training points drawn evenly from [0, END) and sorted, test points in even steps, normal noise on both."""
    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0, END, points))
    test_x = np.arange(TESTS) * END / TESTS
    truth = function(test_x)
    y, test_y = (values + random.normal(0, noise, len(values)) for values in (function(x), truth))
    return Data(x, y, test_x, truth, test_y)


def others(points: int) -> np.ndarray:
    """bool [points, points]: every point sees all points but itself."""
    return ~np.eye(points, dtype=bool)


def average(y: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average pooling of the values that each query sees.

    Args:
        y: [points].
        mask: bool [queries, points].

    Returns:
        Predictions [queries] and weights [queries, points].
    """
    from nmt.network.attention import average_pooling

    values = np.repeat(y[None, :, None], len(mask), axis=0).astype(np.float32)
    predictions, weights = average_pooling(values, mask)
    return np.asarray(predictions)[:, 0], np.asarray(weights)


def pool(score: Score, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Attention pooling, energies, weights, weighted sums (Bahdanau et al. 2015, eq. 5 and 6, with any score).

    Args:
        score: gives the energies.
        queries: [batch, queries, width].
        keys: [batch, points, width].
        values: [batch, points, values' width].
        mask: bool [batch, queries, points], true where a query may look.

    Returns:
        Predictions [batch, queries, values' width] and weights [batch, queries, points], float32.
    """
    from nmt.network.attention import context_vectors, masked_softmax

    weights = masked_softmax(score(queries, keys), mask)
    return context_vectors(weights, values), weights


def batch(queries: np.ndarray, data: Data, mask: np.ndarray) -> list[np.ndarray]:
    """What `pool` takes beside a score, of one problem: a batch of one, numbers as vectors of width one."""
    numbers = [array[None, :, None].astype(np.float32) for array in (queries, data.x, data.y)]
    return [*numbers, mask[None]]


def gaussian(inverse_width: float = 1.0) -> Score:
    """The Gaussian score of single numbers, with this w."""
    from nmt.network.attention import SCORES

    score = SCORES["gaussian"]()
    score.build((None, None, 1), (None, None, 1))
    score.inverse_width.assign(inverse_width)
    return score


def trainer(score: Score, rate: float = RATE) -> Any:
    """A Keras model that learns the score's weights: plain gradient descent on the mean squared error of `pool`."""
    import keras

    numbers = [keras.Input((None, 1), name=name) for name in ("queries", "keys", "values")]
    inputs = [*numbers, keras.Input((None, None), dtype="bool", name="mask")]
    model = keras.Model(inputs, pool(score, *inputs)[0])
    # A problem this small is solved before a compiler has read it.
    model.compile(keras.optimizers.SGD(rate), "mean_squared_error", jit_compile=False)
    return model


def learn(data: Data) -> tuple[Score, int]:
    """A Gaussian score whose inverse width was learned, from 1 on, and the steps that it took.

    Every training point is predicted from the others. If it saw itself, the loss would have no minimum: the narrower
    the kernel, the more of each point's prediction would be its own value.
    """
    score = gaussian()
    model = trainer(score)
    inputs = batch(data.x, data, others(len(data.x)))
    targets = inputs[2]
    before = 1.0
    for step in range(1, MOST_STEPS + 1):
        model.train_on_batch(inputs, targets)
        after = float(score.inverse_width)
        if abs(after - before) < RATE * STILL:
            return score, step
        before = after
    return score, MOST_STEPS


def grid_search(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The best w of the grid and the errors of all, each point predicted from the others; plain NumPy, float64."""
    distances = (x[:, None] - x) ** 2
    errors = np.array([np.mean((_kernel_weights(distances, w, others(len(x))) @ y - y) ** 2) for w in GRID])
    return float(GRID[errors.argmin()]), errors


def _kernel_weights(distances: np.ndarray, inverse_width: float, mask: np.ndarray | bool = True) -> np.ndarray:
    """Nadaraya-Watson's weights of squared distances [queries, points]; relative to the nearest point, so that no row
    is all zero where the kernel is narrow."""
    distances = np.where(mask, distances, np.inf)
    kernel = np.exp(-0.5 * inverse_width**2 * (distances - distances.min(axis=1, keepdims=True)))
    return kernel / kernel.sum(axis=1, keepdims=True)


def estimates(data: Data) -> tuple[list[Estimate], int, np.ndarray]:
    """All four estimators on one problem, the steps that learning took, and the errors of the grid."""
    everything, left_out = np.ones((len(data.test_x), len(data.x)), dtype=bool), others(len(data.x))
    error = _squared(average(data.y, left_out)[0], data.y)
    found = [Estimate("average pooling", None, *average(data.y, everything), error)]
    learned, steps = learn(data)
    for name, score in (("Nadaraya-Watson, w = 1", gaussian()), ("learned width", learned)):
        (predictions, weights), (trained, _) = (
            [np.asarray(array)[0] for array in pool(score, *batch(queries, data, mask))]
            for queries, mask in ((data.test_x, everything), (data.x, left_out))
        )
        # w and -w are the same kernel.
        width = abs(float(score.inverse_width))
        found.append(Estimate(name, width, predictions[:, 0], weights, _squared(trained[:, 0], data.y)))
    best, errors = grid_search(data.x, data.y)
    weights = _kernel_weights((data.test_x[:, None] - data.x) ** 2, best)
    found.append(Estimate("grid search", best, weights @ data.y, weights, float(errors.min())))
    return found, steps, errors


def _squared(predictions: np.ndarray, values: np.ndarray) -> float:
    return float(np.mean((predictions - values) ** 2))


def measured(found: Sequence[Estimate], data: Data) -> list[tuple[str, float, float, float, float]]:
    """A row of COLUMNS for each estimator, and one for the function itself; NaN where there is no such number."""
    rows = [
        (
            estimate.name,
            math.nan if estimate.inverse_width is None else estimate.inverse_width,
            estimate.left_one_out,
            _squared(estimate.predictions, data.truth),
            _squared(estimate.predictions, data.test_y),
        )
        for estimate in found
    ]
    noise = _squared(function(data.x), data.y), 0.0, _squared(data.truth, data.test_y)
    return [*rows, ("the function itself", math.nan, *noise)]


def table(problems: Sequence[Sequence[tuple[str, float, float, float, float]]]) -> str:
    """Markdown: means over the seeds, with the standard deviation of the seeds where there are several."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "| --- | ---: | ---: | ---: | ---: |"]
    for rows in zip(*problems, strict=True):
        cells = [_spread([row[column] for row in rows]) for column in range(1, len(COLUMNS))]
        lines.append(f"| {rows[0][0]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _spread(numbers: Sequence[float]) -> str:
    if math.isnan(numbers[0]):
        return ""
    several = len(set(numbers)) > 1
    return f"{mean(numbers):.3f}" + (f" ± {stdev(numbers):.3f}" if several else "")


def draw_fits(data: Data, found: Sequence[Estimate], errors: np.ndarray) -> Figure:
    """Left the data, the truth and every estimator's prediction; right the error that learning descends."""
    from matplotlib.figure import Figure

    # Okabe and Ito's colours, and lines of different kinds, for all kinds of eyes.
    styles: dict[str, dict[str, Any]] = {
        "average pooling": {"color": "#999999", "linestyle": "-."},
        "Nadaraya-Watson, w = 1": {"color": "#0072B2", "linestyle": "--"},
        "learned width": {"color": "#D55E00", "linestyle": "-", "linewidth": 1.6},
        "grid search": {"color": "#F0C060", "linestyle": "-", "linewidth": 5.0, "zorder": 1},
    }
    figure = Figure(figsize=(7.6, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    left.plot(data.x, data.y, "o", color="#222222", markersize=4, markerfacecolor="none", label="training points")
    left.plot(data.test_x, data.truth, color="#222222", linestyle=":", linewidth=1.6, label="truth")
    for estimate in found:
        left.plot(data.test_x, estimate.predictions, label=estimate.name, **styles[estimate.name])
    left.set(xlabel="x", ylabel="y")
    left.legend(fontsize=7.5, frameon=False)
    _draw_errors(right, found, errors, styles)
    return figure


def _draw_errors(axes: Axes, found: Sequence[Estimate], errors: np.ndarray, styles: dict[str, dict[str, Any]]) -> None:
    axes.plot(GRID, errors, color="#222222", linewidth=1.0)
    for estimate in found:
        if estimate.inverse_width is not None:
            below = estimate.name == "grid search"
            style = {"color": styles[estimate.name]["color"], "markersize": 11 if below else 5, "zorder": 3 - below}
            axes.plot([estimate.inverse_width], [estimate.left_one_out], "o", label=estimate.name, **style)
    axes.set(xscale="log", xlabel="inverse width w", ylabel="leave-one-out error (mean squared)")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0, None)
    axes.legend(fontsize=7.5, frameon=False)


def draw_weights(found: Sequence[Estimate]) -> Figure:
    """The attention weights of estimators, test points by training points."""
    matrices = np.array([[estimate.weights for estimate in found]])
    return show_heatmaps(matrices, "training point", "test point", [estimate.name for estimate in found])


def parse() -> argparse.Namespace:
    """The command line, checked."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="how many problems are drawn (default: 5)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="of the first; others follow (default: 1)")
    parser.add_argument("--points", type=int, default=50, metavar="N", help="training points (default: 50)")
    parser.add_argument("--noise", type=float, default=0.5, metavar="D", help="its standard deviation (default: 0.5)")
    parser.add_argument("--output", type=Path, default=Path("saved_models/kernel_regression"), metavar="DIR")
    arguments = parser.parse_args()
    for name, least in (("seeds", 1), ("seed", 0), ("points", 2), ("noise", 0)):
        value = getattr(arguments, name)
        if not least <= value < math.inf:
            raise NmtError(f"--{name} {value}: expected {least} or more")
    return arguments


def run(arguments: argparse.Namespace) -> None:
    """Every problem solved, measured, and the first one drawn."""
    arguments.output.mkdir(parents=True, exist_ok=True)
    with quiet_start():
        import nmt.network.attention  # noqa: F401  # TensorFlow starts here

    problems = []
    print("| seed | learned w | leave-one-out | grid's best w | leave-one-out | steps |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        data = make_data(seed, arguments.points, arguments.noise)
        found, steps, errors = estimates(data)
        problems.append(measured(found, data))
        widths = " | ".join(f"{e.inverse_width:.3f} | {e.left_one_out:.4f}" for e in found[-2:])
        print(f"| {seed} | {widths} | {steps} |", flush=True)
        if steps == MOST_STEPS:
            print(f"seed {seed}: the width was still moving after {steps} steps", file=sys.stderr)
        if seed == arguments.seed:
            save_figure(draw_fits(data, found, errors), arguments.output / "fits.png")
            save_figure(draw_weights(found[:3]), arguments.output / "weights.png")
    print(f"\n{table(problems)}")
    lines = ["\t".join(("seed", *COLUMNS))]
    for seed, rows in enumerate(problems, start=arguments.seed):
        lines += ["\t".join([str(seed), row[0], *(f"{number:.6g}" for number in row[1:])]) for row in rows]
    (arguments.output / "results.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"results and figures are in {arguments.output}", file=sys.stderr)


def main() -> None:
    """Runs the command line."""
    run(parse())


if __name__ == "__main__":
    sys.exit(run_script(main))
