"""Stopped and resumed runs end with the weights of an undisturbed run, to the bit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import copy_task
import pytest
from commands import environment, nmt
from same_runs import require_same

EXACT = {"passes": 2, "deterministic": True, "log_every": 1, "checkpoints": {"every": 4}}


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("resume")
    copy_task.write_corpus(directory, train=400, validation=10)
    settings = copy_task.merged(copy_task.fields(directory), {"training": EXACT})
    (directory / "config.yaml").write_text(json.dumps(settings))
    return directory


@pytest.fixture(scope="module")
def undisturbed(directory) -> Path:
    nmt("train --config config.yaml --name undisturbed", directory)
    return directory / "runs" / "undisturbed"


def stopped(directory: Path, name: str, number: int, step: int) -> tuple[int, str]:
    """Exit code and standard error of a training that receives a signal after it reports `step`."""
    command = [sys.executable, "-m", "nmt", "train", "--config", "config.yaml", "--name", name]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=directory, stderr=pipe, text=True, env=environment()) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            if f" step {step}/" in line:
                process.send_signal(number)
        return process.wait(), "".join(said)


def test_a_checkpoint_holds_the_whole_state_of_training(undisturbed):
    from nmt.run.arrays import load_arrays
    from nmt.run.directory import Run

    names = list(load_arrays(Run.open(undisturbed).checkpoints()[-1]))
    for part in ("decoder/state_kernel", "seed_generator_state", "adam/iteration", "_momentum", "_velocity", "average"):
        assert any(part in name for name in names), part


@pytest.mark.slow
def test_an_interrupted_run_continues_to_the_bit(directory, undisturbed):
    code, said = stopped(directory, "interrupted", signal.SIGINT, step=2)
    assert code == 130, said
    assert "nmt: finishing this step, then saving ..." in said
    assert "is saved in" in said
    assert "Traceback" not in said
    assert said.endswith("the same command resumes the training\n")
    on = nmt("train --config config.yaml --name interrupted", directory).stderr
    assert "resuming from step " in on
    require_same(directory / "runs" / "interrupted", undisturbed)


@pytest.mark.slow
def test_a_killed_run_loses_only_the_steps_after_its_checkpoint(directory, undisturbed):
    code, _ = stopped(directory, "killed", signal.SIGKILL, step=6)
    assert code == -signal.SIGKILL
    (directory / "runs" / "killed" / "checkpoints" / "000000099.npz.part").write_bytes(b"half a check")
    on = nmt("train --config config.yaml --name killed", directory).stderr
    assert "resuming from step 4;" in on or "resuming from step 8;" in on  # the signal may arrive late
    require_same(directory / "runs" / "killed", undisturbed)
