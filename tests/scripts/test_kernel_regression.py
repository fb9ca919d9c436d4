"""The script of kernel regression, from an average to a learned width."""

from __future__ import annotations

import csv
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import forked

from studies import kernel_regression as regression

REPOSITORY = Path(__file__).parents[2]

THREE = regression.Data(
    x=np.array([0.0, 1.0, 3.0]),
    y=np.array([1.0, 2.0, 5.0]),
    test_x=np.array([1.0]),
    truth=np.array([2.5]),
    test_y=np.array([3.0]),
)
"""A problem small enough to solve on paper."""


def left_one_out(x: np.ndarray, y: np.ndarray, w: float) -> float:
    """The mean squared error of the points, each predicted from the others, in plain loops."""
    total = 0.0
    for i in range(len(x)):
        kernel = [math.exp(-0.5 * ((x[i] - x[j]) * w) ** 2) for j in range(len(x)) if j != i]
        values = [y[j] for j in range(len(x)) if j != i]
        total += (sum(k * v for k, v in zip(kernel, values, strict=True)) / sum(kernel) - y[i]) ** 2
    return total / len(x)


def test_data_follow_the_function_with_noise():
    data = regression.make_data(seed=3, points=400, noise=0.5)
    assert (np.diff(data.x) >= 0).all() and data.x[0] >= 0 and data.x[-1] < 5
    assert data.test_x.tolist() == pytest.approx([i / 10 for i in range(50)])
    assert data.truth[[0, 10]] == pytest.approx([0.0, 2 * 0.841471 + 1])  # sin 1 = 0.841471
    assert np.std(data.y - regression.function(data.x)) == pytest.approx(0.5, abs=0.06)
    assert np.array_equal(data.y, regression.make_data(3, 400, 0.5).y)
    assert not np.array_equal(data.y, regression.make_data(4, 400, 0.5).y)
    assert np.array_equal(regression.make_data(3, 400, 0.0).test_y, data.truth)


def test_average_pooling_is_the_mean_of_the_visible_values():
    predictions, weights = regression.average(THREE.y, np.ones((4, 3), dtype=bool))
    assert predictions == pytest.approx([8 / 3] * 4)
    assert weights == pytest.approx(np.full((4, 3), 1 / 3))
    predictions, weights = regression.average(THREE.y, regression.other_points(3))
    assert predictions == pytest.approx([7 / 2, 6 / 2, 3 / 2])
    assert weights[0].tolist() == [0.0, 0.5, 0.5]


def test_weights_of_three_points():
    inputs = regression.batch(THREE.test_x, THREE, np.ones((1, 3), dtype=bool))
    predictions, weights = regression.pool(regression.gaussian(), *inputs)
    # At x = 1 the distances are 1, 0, 2: e^-0.5 = 0.60653, e^0 = 1, e^-2 = 0.13534, together 1.74187.
    assert np.asarray(weights)[0, 0] == pytest.approx([0.34821, 0.57410, 0.07770], abs=1e-5)
    assert np.asarray(predictions).item() == pytest.approx(0.34821 + 2 * 0.57410 + 5 * 0.07770, abs=1e-4)


@pytest.mark.parametrize("w", [0.3, 1.0, 6.0])
def test_weights_follow_nadaraya_and_watson(w):
    data = regression.make_data(seed=1, points=20)
    inputs = regression.batch(data.test_x, data, np.ones((50, 20), dtype=bool))
    predictions, weights = (np.asarray(array)[0] for array in regression.pool(regression.gaussian(w), *inputs))
    for i, query in enumerate(data.test_x):
        kernel = np.array([math.exp(-0.5 * ((query - key) * w) ** 2) for key in data.x])
        assert weights[i] == pytest.approx(kernel / kernel.sum(), abs=1e-4)
        assert predictions[i, 0] == pytest.approx(kernel @ data.y / kernel.sum(), abs=1e-3)


def test_the_gaussian_of_keys_of_equal_length_is_the_scaled_dot_product():
    from nmt.network.attention import SCORES, masked_softmax

    queries, keys = np.split(np.random.default_rng(0).normal(size=(1, 12, 5)).astype(np.float32), 2, axis=1)
    same = 3 * keys / np.linalg.norm(keys, axis=-1, keepdims=True)
    kernel, products, longer = (
        np.asarray(masked_softmax(SCORES[name]()(queries, given), True))
        for name, given in (("gaussian", same), ("scaled_dot", same), ("gaussian", keys))
    )
    assert kernel == pytest.approx(products, abs=1e-5)
    assert abs(kernel - longer).max() > 0.1


def test_a_point_never_predicts_itself():
    data = regression.make_data(seed=1, points=12)
    changed = data._replace(y=data.y + 100.0 * (np.arange(12) == 4))
    model = regression.trainer(regression.gaussian(2.0))
    before, after = (
        model.predict_on_batch(regression.batch(data.x, version, regression.other_points(12)))[0, :, 0]
        for version in (data, changed)
    )
    assert after[4] == before[4]
    assert (np.delete(after, 4) != np.delete(before, 4)).all()


@pytest.mark.parametrize("w", [0.7, 1.0, 3.0])
def test_gradient_of_the_loss(w):
    data, rate, step = regression.make_data(seed=2, points=15), 0.1, 1e-5
    score = regression.gaussian(w)
    model = regression.trainer(score, rate)
    inputs = regression.batch(data.x, data, regression.other_points(15))
    loss = model.train_on_batch(inputs, data.y[None, :, None].astype(np.float32))
    slope = (left_one_out(data.x, data.y, w + step) - left_one_out(data.x, data.y, w - step)) / (2 * step)
    assert loss == pytest.approx(left_one_out(data.x, data.y, w), rel=1e-4)
    assert (w - float(score.inverse_width)) / rate == pytest.approx(slope, rel=1e-3, abs=1e-4)


def test_grid_search_is_exhaustive():
    x, y = np.array([0.0, 0.1, 1.0, 1.2, 2.5]), np.array([0.0, 1.0, 3.0, 2.5, -1.0])
    best, errors = regression.grid_search(x, y)
    assert len(errors) == len(regression.GRID)
    for index in (0, 150, 250):  # w = 0.1, 0.56, 1.78: all kernels are far from zero
        assert errors[index] == pytest.approx(left_one_out(x, y, regression.GRID[index]))
    # The narrowest kernel is the nearest point: 0 and 0.1 predict each other, 1 and 1.2 too, 2.5 is predicted by 1.2.
    assert errors[-1] == pytest.approx((1 + 1 + 0.25 + 0.25 + 3.5**2) / 5)
    assert best == regression.GRID[errors.argmin()]


def test_training_finds_the_width_of_the_grid_search():
    data = regression.make_data(seed=4)
    score, steps = regression.learn(data)
    best, errors = regression.grid_search(data.x, data.y)
    assert steps < regression.MOST_STEPS
    assert 2 < best < 5  # far from the start of learning, and inside the grid
    assert float(score.inverse_width) == pytest.approx(best, rel=0.02)
    assert left_one_out(data.x, data.y, float(score.inverse_width)) == pytest.approx(errors.min(), rel=1e-4)


def test_more_noise_needs_a_wider_kernel():
    widths = [float(regression.learn(regression.make_data(3, noise=noise))[0].inverse_width) for noise in (0.5, 2.0)]
    assert 0 < widths[1] < 0.6 * widths[0]


def test_better_estimators_and_more_points_come_closer_to_the_truth():
    problems = [regression.make_data(seed=4, points=points) for points in (50, 100)]
    errors = [
        [row[3] for row in regression.measure(regression.estimates(data)[0], data)] for data in problems
    ]  # of average pooling, w = 1, learned width, grid search, the function itself
    for average, fixed, learned, best, itself in errors:
        assert average > 1.4 * fixed > 2 * learned
        assert learned == pytest.approx(best, rel=0.05)
        assert itself == 0
    assert errors[1][2] < 0.5 * errors[0][2]


def test_errors_of_an_estimate():
    estimate = regression.Estimate("one", 2.0, np.array([4.0]), np.ones((1, 3)) / 3, 0.25)
    rows = regression.measure([estimate], THREE)
    assert rows[0] == ("one", 2.0, 0.25, 1.5**2, 1.0)
    assert rows[1][0] == "the function itself" and rows[1][3:] == (0.0, 0.25)


def test_the_table_has_means_and_deviations():
    problems = [[("one", 1.0, 0.1, 0.2, 0.3)], [("one", 3.0, 0.1, 0.4, 0.5)]]
    # Deviations: of 1 and 3 from 2 sqrt(2), of 0.2 and 0.4 from 0.3 sqrt(0.02).
    assert (
        regression.table(problems).splitlines()[2] == "| one | 2.000 ± 1.414 | 0.100 | 0.300 ± 0.141 | 0.400 ± 0.141 |"
    )
    assert regression.table(problems[:1]).splitlines()[2] == "| one | 1.000 | 0.100 | 0.200 | 0.300 |"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked(["scripts/studies/kernel_regression.py", *arguments], REPOSITORY)


@pytest.mark.slow
def test_as_a_user_runs_it(tmp_path):
    result = run("--seeds", "2", "--seed", "4", "--points", "12", "--noise", "0.2", "--output", str(tmp_path / "new"))
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"results and figures are in {tmp_path / 'new'}\n"
    with (tmp_path / "new/results.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    names = ["average pooling", "Nadaraya-Watson, w = 1", "learned width", "grid search", "the function itself"]
    assert [(row["seed"], row["estimator"]) for row in rows] == [(seed, name) for seed in "45" for name in names]
    data = regression.make_data(4, 12, 0.2)
    assert float(rows[0]["against the truth"]) == pytest.approx(np.mean((data.y.mean() - data.truth) ** 2), rel=1e-4)
    assert float(rows[1]["leave-one-out"]) == pytest.approx(left_one_out(data.x, data.y, 1.0), rel=1e-4)
    assert float(rows[3]["inverse width"]) == pytest.approx(regression.grid_search(data.x, data.y)[0], rel=1e-4)
    widths = [float(rows[place]["inverse width"]) for place in (2, 7)]
    assert f"| learned width | {np.mean(widths):.3f} ± {np.std(widths, ddof=1):.3f} |" in result.stdout
    for name in ("fits.png", "weights.png"):
        assert (tmp_path / "new" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--seeds", "0"], "--seeds 0: expected 1 or more"),
        (["--points", "1"], "--points 1: expected 2 or more"),
        (["--noise", "nan"], "--noise nan: expected 0 or more"),
        (["--output", "setup.cfg"], "setup.cfg"),
    ],
)
def test_what_a_user_can_mend_is_one_line(arguments, said):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("kernel_regression.py: error: ") and result.stderr.count("\n") == 1
    assert said in result.stderr
