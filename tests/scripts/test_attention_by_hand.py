"""The script that computes attention step by step and compares it with the layers."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import forked

from studies import attention_by_hand as by_hand

REPOSITORY = Path(__file__).parents[2]

MATRICES = by_hand.Matrices(
    query=np.array([[2, 0, 2], [2, 0, 0], [2, 1, 2]]),
    key=np.array([[2, 2, 2], [0, 2, 1], [0, 1, 1]]),
    value=np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]]),
)
"""The matrices of seed 42."""


def test_the_default_seed_always_draws_the_same_matrices():
    for drawn, expected in zip(by_hand.draw(42), MATRICES, strict=True):
        assert np.array_equal(drawn, expected)
    others = np.array([by_hand.draw(seed) for seed in range(50)])
    assert not np.array_equal(others[0], others[1])
    assert set(np.unique(others)) == {0, 1, 2}


def test_the_steps_of_one_word():
    steps = by_hand.attend(by_hand.WORDS, MATRICES)
    # Word 1 is [0, 1, 0], so its query is the second row of W_Q: [2, 0, 0]. The keys of the four words are
    # [2, 2, 2], [0, 2, 1], [2, 4, 3] and [0, 1, 1]. The score of a key is twice its first number.
    assert steps.queries[1].tolist() == [2, 0, 0]
    assert steps.keys.tolist() == [[2, 2, 2], [0, 2, 1], [2, 4, 3], [0, 1, 1]]
    assert steps.scores[1].tolist() == [4, 0, 4, 0]
    # 4 / sqrt(3) = 2.3094; e^-2.3094 = 0.0993; 1 / (2 + 2 * 0.0993) = 0.4548, and 0.0993 of that = 0.0452.
    assert steps.scaled[1] == pytest.approx([2.3094, 0, 2.3094, 0], abs=5e-5)
    assert steps.weights[1] == pytest.approx([0.4548, 0.0452, 0.4548, 0.0452], abs=5e-5)
    # 0.4548 [1, 1, 0] + 0.0452 [0, 1, 1] + 0.4548 [1, 2, 1] + 0.0452 [0, 0, 0]
    assert steps.output[1] == pytest.approx([0.9097, 1.4097, 0.5], abs=1e-4)


def test_every_row_is_its_own_distribution():
    steps = by_hand.attend(by_hand.WORDS, by_hand.draw(3))
    for i, j in np.ndindex(4, 4):
        total = sum(math.exp(energy) for energy in steps.scaled[i])
        assert steps.weights[i, j] == pytest.approx(math.exp(steps.scaled[i, j]) / total)
    assert by_hand.softmax(np.array([2000.0, 2000.0, -2000.0])).tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("seed", [42, 0, 7])
def test_the_layers_compute_the_same(seed):
    matrices = by_hand.draw(seed)
    found = by_hand.differences(by_hand.WORDS, matrices, by_hand.attend(by_hand.WORDS, matrices))
    assert len(found) == 2
    assert max(found.values()) < 1e-6


@pytest.mark.parametrize("field", ["weights", "output"])
@pytest.mark.parametrize(("mistake", "difference"), [(0.25, 0.25), (math.nan, math.inf)])
def test_one_wrong_number_is_found(field, mistake, difference):
    right = by_hand.attend(by_hand.WORDS, MATRICES)
    wrong = getattr(right, field).copy()
    wrong[2, 1] += mistake
    found = by_hand.differences(by_hand.WORDS, MATRICES, right._replace(**{field: wrong}))
    assert list(found.values()) == pytest.approx([difference, difference], abs=1e-5)


def test_a_missing_scale_ends_with_an_error(monkeypatch, capsys, tmp_path):
    def unscaled(words, matrices):
        steps = right(words, matrices)
        weights = np.array([by_hand.softmax(row) for row in steps.scores])
        return steps._replace(weights=weights, output=weights @ steps.values)

    right = by_hand.attend
    monkeypatch.setattr(by_hand, "attend", unscaled)
    assert by_hand.main(["--output", str(tmp_path)]) == 1
    assert "the layers differ by more than 1e-05" in capsys.readouterr().err


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked(["scripts/studies/attention_by_hand.py", *arguments], REPOSITORY)


def test_the_script_prints_and_writes_the_steps(tmp_path):
    result = run("--output", str(tmp_path / "new" / "place"))
    assert result.returncode == 0, result.stderr
    assert result.stderr == f"steps.txt and weights.png are in {tmp_path / 'new' / 'place'}\n"
    assert "1. Queries Q = X W_Q: the question of each word. [4, 3] x [3, 3] -> [4, 3]" in result.stdout
    assert "4. Scores Q K^T: each query times each key. [4, 3] x [3, 4] -> [4, 4]" in result.stdout
    assert "   word 1   4  0  4  0\n" in result.stdout
    assert "     divided by the sum:        0.4548   0.0452   0.4548   0.0452\n" in result.stdout
    assert "          =   0.9097   1.4097   0.5000\n" in result.stdout
    assert result.stdout.startswith((tmp_path / "new/place/steps.txt").read_text())
    assert (tmp_path / "new/place/weights.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", "-1"], "--seed -1: expected 0 to 4294967295"),
        (["--seed", "x"], "argument --seed: invalid int value: 'x' (see attention_by_hand.py --help)"),
        (["--output", "setup.cfg"], "setup.cfg"),
    ],
)
def test_a_users_mistake_is_one_line(arguments, message):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("attention_by_hand.py: error: ") and result.stderr.count("\n") == 1
    assert message in result.stderr
