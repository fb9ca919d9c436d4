"""Two workers train as one process does, also after one of them was lost."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from workers import in_private_network

PROGRAM = Path(__file__).with_name("worker_trainings.py")
LOST = "nmt: error: worker 1 of 2: another worker has ended or cannot be reached"


def require_near(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert [row[0] for row in one["rows"]] == [row[0] for row in other["rows"]]
    losses = [np.array([float(row[1]) for row in each["rows"]]) for each in (one, other)]
    np.testing.assert_allclose(*losses, atol=2e-3)  # Adam turns the noise of weights without a gradient into steps
    np.testing.assert_allclose(one["weights"], other["weights"], atol=2e-2)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_two_workers_train_as_one(backend: str, tmp_path: Path) -> None:
    if not importlib.util.find_spec(backend):
        pytest.skip(f"{backend} is not installed")
    found = json.loads(in_private_network([str(PROGRAM), str(tmp_path)], backend))
    whole = found["two"]
    assert found["one"]["codes"] == [0] and whole["codes"] == [0, 0], whole["lines"]
    require_near(found["one"], whole)
    assert "2 workers with 1 device each share every batch" in whole["lines"][0]
    ours = [line for line in whole["lines"][1].splitlines() if line.startswith("nmt: ")]  # JAX has lines of its own
    assert ours == [
        "nmt: worker 1 of 2 has started; worker 0 prepares the text and reports the progress",
        "nmt: the run is in two/run; translate with: nmt translate --model two/run",
    ]
    # A termination signal at one worker ends both with a checkpoint; a killed chief ends the other worker in one line.
    assert found["ended"]["codes"] == [130, 130], found["ended"]
    killed = found["killed"]
    assert killed["codes"][0] == -9 and killed["codes"][1] != 0, killed
    if backend == "tensorflow":  # JAX ends the process itself
        assert killed["codes"][1] == 2 and killed["lines"][1].splitlines()[-1].startswith(LOST), killed
    assert found["ended seconds"] < 60 and found["killed seconds"] < 60
    again = found["disturbed"]
    assert again["codes"] == [0, 0], again["lines"]
    assert all("resuming from step" in each["lines"][0] for each in (killed, again, found["resumed by one"])), found
    assert again["weights"] == whole["weights"] and again["rows"] == whole["rows"]
    assert found["resumed by one"]["codes"] == [0]
    if backend == "tensorflow":
        assert found["prepared, one"]["codes"] == [0] and found["prepared, two"]["codes"] == [0, 0], found
        require_near(found["prepared, one"], found["prepared, two"])
