"""The costs of attention: formulas, exponents of made-up data, mechanisms against NumPy, the script."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nmt import save_figure
from studies.costs import measuring, report
from studies.costs.formulas import COSTS, Case, Sizes, exponent, largest_tensor
from studies.costs.mechanisms import MECHANISMS

REPOSITORY = Path(__file__).parents[2]

SIZES = Sizes(heads=2, reach=1)


def script(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPOSITORY / "scripts/studies/attention_cost.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Five positions of width 4. A product of vectors of 4 is 4 multiplications, by a matrix 16.
        ("convolution", 5 * 3 * 16),  # three matrices a position
        ("recurrence", 5 * 4 * (16 + 16)),  # four gates of input and state
        ("self-attention", 25 * 4 + 25 * 4),  # 25 energies; 25 weights times values
        ("multi-head", 4 * 5 * 16 + 2 * 25 * 2 + 25 * 4),  # projections; two heads' energies of width 2; contexts
        ("additive", 2 * 5 * 16 + 25 * 4 + 25 * 4),  # projections; v times 25 hidden layers; contexts
        ("global, step by step", 5 * (5 * 4 + 5 * 4)),
        ("local, masked", 5 * (5 * 4 + 5 * 4)),
        ("local, cut out", 5 * (3 * 4 + 3 * 4)),  # three positions a step
    ],
)
def test_multiplications_of_a_forward_pass(name, expected):
    assert COSTS[name].operations(5, 4, SIZES) == expected


def test_numbers_that_a_pass_holds():
    """For 100 positions of width 4, two heads, D = 1, in float32: too large cases are known before they run."""
    assert COSTS["multi-head"].backward(100, 4, SIZES) == 2 * 100 * 100 + 5 * 100 * 4 + 4 * 16
    assert largest_tensor("additive", Case(100, 4), SIZES) == 4 * (100 * 100 * 4 + 3 * 100 * 4 + 2 * 16)
    assert largest_tensor("local, cut out", Case(100, 4), SIZES) == 4 * 100 * 3 * 4


def test_exponents_of_powers():
    sizes = [16, 32, 64, 128, 256]
    assert exponent(sizes, [3e-6 * size**1.7 for size in sizes]) == pytest.approx(1.7)
    assert exponent([2, 8], [5, 5]) == pytest.approx(0)
    # The start of a call dominates the small sizes, which do not count.
    assert exponent([1, 2, 4, 8, 16, 32], [9, 9, 16, 64, 256, 1024], last=4) == pytest.approx(2)
    # Logarithms to base 2 are 0, 1, 2 and 0, 1, 1; (-1 * -2/3 + 0 + 1 * 1/3) / 2.
    assert exponent([1, 2, 4], [1, 2, 2]) == pytest.approx(0.5)


def test_growth_has_the_medians_and_the_range_of_the_repeats():
    sweep = report.Sweep("length", [Case(2, 8), Case(4, 8), Case(8, 8)])
    found = {
        ("convolution", "forward", Case(2, 8)): [1.0, 1.0, 1.0],
        ("convolution", "forward", Case(4, 8)): [2.0, 4.0, 1.0],  # exponents of the repeats: 1, 2 and 0
    }
    assert report.growth(found, "convolution", "forward", sweep) == "1.00 (0.00 to 2.00)"
    assert report.expected(found, "convolution", "forward", sweep, SIZES, memory=False) == "1.00"
    assert report.growth(found, "convolution", "backward", sweep) == ""
    lines = report.table(found, "forward", [sweep], SIZES, memory=False).splitlines()
    assert lines[0].endswith("| milliseconds at n = 4, d = 8 |")  # the largest that was measured
    assert lines[2] == "| convolution | 3nd² | 1.00 (0.00 to 2.00) | 1.00 | 2e+03 (1e+03 to 4e+03) |"


def softmax(energies: np.ndarray) -> np.ndarray:
    weights = np.exp(energies - energies.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(1, 7, 4)).astype(np.float32)


def test_mechanisms_compute_what_they_are_named_after(values):
    (x,) = values
    energies = x @ x.T / 2
    attended = softmax(energies) @ x
    near = np.abs(np.subtract.outer(np.arange(7), np.arange(7))) <= SIZES.reach
    local = softmax(np.where(near, energies, -1e9)) @ x
    for name, expected in (
        ("self-attention", attended),
        ("global, step by step", attended),
        ("local, masked", local),
        ("local, cut out", local),
    ):
        np.testing.assert_allclose(MECHANISMS[name](4, SIZES).call(values)[0], expected, atol=1e-5, err_msg=name)
    assert np.abs(attended - local).max() > 0.1


def test_additive_and_heads_against_numpy(values):
    (x,) = values
    mechanism = MECHANISMS["additive"](4, SIZES)
    query, key, bias, energy = (np.asarray(weight) for weight in mechanism.weights)
    hidden = np.tanh((x @ query)[:, None] + (x @ key + bias)[None])
    np.testing.assert_allclose(mechanism.call(values)[0], softmax((hidden @ energy)[..., 0]) @ x, atol=1e-5)
    mechanism = MECHANISMS["multi-head"](4, SIZES)
    q, k, v, o = (np.asarray(w) for w in mechanism.weights if len(w.shape) == 2)
    heads = [softmax((x @ q[:, c]) @ (x @ k[:, c]).T / 2**0.5) @ (x @ v[:, c]) for c in (slice(0, 2), slice(2, 4))]
    np.testing.assert_allclose(mechanism.call(values)[0], np.concatenate(heads, axis=-1) @ o, atol=1e-5)


def test_the_backward_pass_is_a_gradient(values):
    """The gradient of half the sum of squares by the inputs, compared with differences."""
    forward = measuring.compiled("local, cut out", 4, SIZES, backward=False)
    backward = measuring.compiled("local, cut out", 4, SIZES, backward=True)
    tensor = measuring.tf.constant
    gradient = np.asarray(backward(tensor(values))[0])
    for index in ((0, 0, 0), (0, 3, 2), (0, 6, 3)):
        step = np.zeros_like(values)
        step[index] = 1e-2
        up, down = (float((np.asarray(forward(tensor(values + sign * step))) ** 2).sum() / 2) for sign in (1, -1))
        assert gradient[index] == pytest.approx((up - down) / 2e-2, abs=2e-2)


def test_memory_is_the_peak_of_a_call():
    """In MiB; freed memory and memory from before the call do not count."""
    try:
        measuring.tf.config.experimental.reset_memory_stats(measuring.DEVICE)
    except ValueError:
        pytest.skip("TensorFlow counts no memory here: on this processor it leaves oneDNN off")
    zeros = measuring.tf.zeros
    before = zeros((2**20,))

    def together() -> None:
        kept = [zeros((2**22,)), zeros((2**21,))]
        assert len(kept) == 2

    def alternating() -> None:
        zeros((2**22,))
        zeros((2**21,))

    for call, expected in ((together, 16 + 8), (alternating, 16), (lambda: before[0], 0)):
        call()
        assert measuring.growth(call) == pytest.approx(expected, abs=0.1)


def test_time_is_processor_time():
    """A call that only waits takes no time."""
    assert measuring._seconds(lambda: time.sleep(0.05), 2) < 0.01
    assert measuring._seconds(lambda: sum(range(100_000)), 2) > 1e-4


def test_panels_show_the_measurements(tmp_path):
    sweep = report.Sweep("width", [Case(8, 4), Case(8, 8)])
    found = {
        (name, "forward", case): [1e-3 * case.width, 3e-3 * case.width]
        for name in ("recurrence", "additive")
        for case in sweep.cases
    }
    figure = report.draw(found, sweep, SIZES, memory=False)
    save_figure(figure, tmp_path / "time.png")
    panels = [axes for axes in figure.axes if axes.lines]
    assert [axes.get_title().splitlines()[0] for axes in panels] == ["recurrence", "additive"]
    formula, points = panels[0].lines[:2]
    assert points.get_xdata().tolist() == [4, 8]
    assert points.get_ydata().tolist() == pytest.approx([8, 16])  # milliseconds, the median of two
    assert formula.get_ydata().tolist() == pytest.approx([4, 16])  # d squared, through the last


@pytest.mark.slow
def test_the_script_writes_its_results(tmp_path):
    arguments = ["--length", "16", "8", "--width", "8", "16", "--heads", "2", "--repeats", "2", "--reach", "1"]
    result = script(*arguments, "--mechanisms", "self-attention", "--output", str(tmp_path))
    assert result.returncode == 0, result.stderr
    found = json.loads((tmp_path / "measurements.json").read_text())
    cases = {(one["pass"], one["n"], one["d"]) for one in found}
    assert cases == {
        (which, n, d) for which in ("forward", "forward and backward") for n, d in ((8, 8), (16, 8), (16, 16))
    }
    assert all(len(one["seconds"]) == 2 and min(one["seconds"]) > 0 for one in found)
    assert all(one["mib"] > 0 for one in found)
    assert (tmp_path / "table.md").read_text() == result.stdout
    assert "| self-attention | 2n²d |" in result.stdout
    for name in ("time-length", "time-width"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert result.stderr.splitlines()[-1].startswith(f"results: {tmp_path}/table.md, ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--width", "8", "12"], "--width 12: 8 heads do not divide it"),
        (["--length", "8", "8"], "--length: expected two different numbers or more"),
        (["--repeats", "none"], "argument --repeats: none: expected 1 or more"),
    ],
)
def test_a_mistake_is_one_line(arguments, message):
    result = script(*arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(f"attention_cost.py: error: {message}")
    assert len(result.stderr.splitlines()) == 1
