"""Kernel regression with the translator's attention: from an average to a learned width.

    python scripts/studies/kernel_regression.py
    python scripts/studies/kernel_regression.py --points 200 --noise 1 --seeds 3 --output DIR

Training points are drawn from y = 2 sin x + x^0.8 + noise. Four estimators predict y at the test points:

* average pooling: the mean of the training values, for every test point;
* Nadaraya-Watson: values weighted by a Gaussian of their distance, with the inverse width w = 1;
* learned width: the same, with w learned by gradient descent while each training point is predicted from all others;
* grid search: the best w of a grid for the same task, in plain NumPy; learning should find it.

The first three use the parts of `network.attention` that the translator uses. A test point is the query, the training
points are the keys, and their y are the values. The script writes results.tsv (every seed), fits.png and weights.png
(the first seed) into --output.
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
"""Points lie in [0, END)."""
TESTS = 50
"""Test points."""
GRID = np.geomspace(0.1, 100.0, 601)
"""Inverse widths of the grid search, in steps of 1.2 %: from nearly an average to nearly the nearest point."""
RATE = 2.0
"""Learning rate. Momentum or a larger rate is faster, but jumps over the minimum when there are few points."""
MOST_STEPS = 3000
SMALLEST_SLOPE = 1e-5
"""Slope of the loss at which learning ends."""
COLUMNS = ("estimator", "inverse width", "leave-one-out", "against the truth", "against noisy values")


class Data(NamedTuple):
    """A regression problem; float64 arrays [points] and [tests]."""

    x: np.ndarray
    """Training points, in ascending order."""
    y: np.ndarray
    test_x: np.ndarray
    truth: np.ndarray
    """The function at the test points, without noise."""
    test_y: np.ndarray


class Estimate(NamedTuple):
    """The result of an estimator on one problem."""

    name: str
    inverse_width: float | None
    predictions: np.ndarray
    """[tests]."""
    weights: np.ndarray
    """[tests, points], each row sums to one."""
    left_one_out: float
    """Mean squared error of the training points, each predicted from all others."""


def function(x: np.ndarray) -> np.ndarray:
    """The function to estimate: 2 sin x + x^0.8."""
    return 2 * np.sin(x) + x**0.8


def make_data(seed: int, points: int = 50, noise: float = 0.5) -> Data:
    """Sorted uniform training points on [0, END), evenly spaced test points, and normal noise on both."""
    random = np.random.default_rng(seed)
    x = np.sort(random.uniform(0, END, points))
    test_x = np.arange(TESTS) * END / TESTS
    truth = function(test_x)
    y, test_y = (values + random.normal(0, noise, len(values)) for values in (function(x), truth))
    return Data(x, y, test_x, truth, test_y)


def other_points(points: int) -> np.ndarray:
    """bool [points, points]: each point sees all points except itself."""
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
    """Attention pooling: energies, weights, weighted sums (Bahdanau et al. 2015, eq. 5 and 6, with any score).

    Args:
        score: computes the energies.
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
    """The arguments of `pool` for one problem: a batch of one, with numbers as vectors of width one."""
    numbers = [array[None, :, None].astype(np.float32) for array in (queries, data.x, data.y)]
    return [*numbers, mask[None]]


def gaussian(inverse_width: float = 1.0) -> Score:
    """The Gaussian score for single numbers, with this w."""
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
    # Compiling takes longer than solving a problem of this size.
    model.compile(keras.optimizers.SGD(rate), "mean_squared_error", jit_compile=False)
    return model


def learn(data: Data) -> tuple[Score, int]:
    """A Gaussian score with a learned inverse width, which starts at 1, and the number of steps.

    Each training point is predicted from the others. If it saw itself, the loss would have no minimum: a narrower
    kernel would always bring the prediction of a point closer to its own value.
    """
    score = gaussian()
    model = trainer(score)
    inputs = batch(data.x, data, other_points(len(data.x)))
    targets = inputs[2]
    before = 1.0
    for step in range(1, MOST_STEPS + 1):
        model.train_on_batch(inputs, targets)
        after = float(score.inverse_width)
        if abs(after - before) < RATE * SMALLEST_SLOPE:
            return score, step
        before = after
    return score, MOST_STEPS


def grid_search(x: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """The best w of the grid, and the leave-one-out error of each w; plain NumPy, float64."""
    distances = (x[:, None] - x) ** 2
    errors = np.array([np.mean((_kernel_weights(distances, w, other_points(len(x))) @ y - y) ** 2) for w in GRID])
    return float(GRID[errors.argmin()]), errors


def _kernel_weights(distances: np.ndarray, inverse_width: float, mask: np.ndarray | bool = True) -> np.ndarray:
    """Nadaraya-Watson weights for squared distances [queries, points].

    The kernel is relative to the nearest point, so that no row is all zero when the kernel is narrow.
    """
    distances = np.where(mask, distances, np.inf)
    kernel = np.exp(-0.5 * inverse_width**2 * (distances - distances.min(axis=1, keepdims=True)))
    return kernel / kernel.sum(axis=1, keepdims=True)


def estimates(data: Data) -> tuple[list[Estimate], int, np.ndarray]:
    """All four estimators on one problem, the number of learning steps, and the errors of the grid."""
    everything, left_out = np.ones((len(data.test_x), len(data.x)), dtype=bool), other_points(len(data.x))
    error = _squared(average(data.y, left_out)[0], data.y)
    found = [Estimate("average pooling", None, *average(data.y, everything), error)]
    learned, steps = learn(data)
    for name, score in (("Nadaraya-Watson, w = 1", gaussian()), ("learned width", learned)):
        (predictions, weights), (trained, _) = (
            [np.asarray(array)[0] for array in pool(score, *batch(queries, data, mask))]
            for queries, mask in ((data.test_x, everything), (data.x, left_out))
        )
        # w and -w give the same kernel.
        width = abs(float(score.inverse_width))
        found.append(Estimate(name, width, predictions[:, 0], weights, _squared(trained[:, 0], data.y)))
    best, errors = grid_search(data.x, data.y)
    weights = _kernel_weights((data.test_x[:, None] - data.x) ** 2, best)
    found.append(Estimate("grid search", best, weights @ data.y, weights, float(errors.min())))
    return found, steps, errors


def _squared(predictions: np.ndarray, values: np.ndarray) -> float:
    return float(np.mean((predictions - values) ** 2))


def measure(found: Sequence[Estimate], data: Data) -> list[tuple[str, float, float, float, float]]:
    """A row of COLUMNS for each estimator and one for the function itself; NaN where a number does not apply."""
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
    """Markdown: means over the seeds, with their standard deviation if there are several."""
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
    """Left: the data, the truth and the predictions of all estimators. Right: the error that learning descends."""
    from matplotlib.figure import Figure

    # Colours of Okabe and Ito, and different line styles, so that colour-blind readers can tell the lines apart.
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
    """Heat maps of the attention weights, test points by training points, one for each estimator."""
    matrices = np.array([[estimate.weights for estimate in found]])
    return show_heatmaps(matrices, "training point", "test point", [estimate.name for estimate in found])


def parse() -> argparse.Namespace:
    """The checked command line."""
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="number of random problems (default: 5)")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="seed of the first problem; the others follow (default: 1)"
    )
    parser.add_argument("--points", type=int, default=50, metavar="N", help="training points (default: 50)")
    parser.add_argument(
        "--noise", type=float, default=0.5, metavar="D", help="standard deviation of the noise (default: 0.5)"
    )
    parser.add_argument("--output", type=Path, default=Path("saved_models/kernel_regression"), metavar="DIR")
    arguments = parser.parse_args()
    for name, least in (("seeds", 1), ("seed", 0), ("points", 2), ("noise", 0)):
        value = getattr(arguments, name)
        if not least <= value < math.inf:
            raise NmtError(f"--{name} {value}: expected {least} or more")
    return arguments


def run(arguments: argparse.Namespace) -> None:
    """Solves and measures every problem, and draws the first one."""
    arguments.output.mkdir(parents=True, exist_ok=True)
    with quiet_start():
        import nmt.network.attention  # noqa: F401  # TensorFlow starts here

    problems = []
    print("| seed | learned w | leave-one-out | grid's best w | leave-one-out | steps |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for seed in range(arguments.seed, arguments.seed + arguments.seeds):
        data = make_data(seed, arguments.points, arguments.noise)
        found, steps, errors = estimates(data)
        problems.append(measure(found, data))
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
