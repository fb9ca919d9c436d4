"""Trainings with several workers, as a program for a network of its own: prints what it found as JSON.

python worker_trainings.py DIRECTORY
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import commands
import copy_task
import numpy as np
from workers import Workers

from nmt.run.directory import Run

SECONDS = 900
TRAINING = {
    "passes": 4,
    "deterministic": True,
    "log_every": 1,
    "batch_tokens": 100,
    "shapes": 2,  # for compilers that make a program for each
    "validate_every": 5,
    "checkpoints": {"every": 2},
    "precision": "float32",
    "live_view": False,
}
NO_DROPOUT = dict.fromkeys(("embedding", "encoder", "state", "context", "readout", "residual"), 0.0)
MODEL = {"units": 8, "embedding": 8, "attention": {"units": 8}, "dropout": NO_DROPOUT}
OPTIONS = {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
"""Compiling takes JAX most of the time."""


class Trainings:
    """Trainings of the copy task in a directory; each start takes new ports."""

    def __init__(self, place: Path) -> None:
        self.place, self._port = place, 42000
        copy_task.write_corpus(place, train=60, validation=6)
        settings = copy_task.merged(copy_task.fields(Path(".")), {"training": TRAINING, "model": MODEL})
        del settings["directory"]
        (place / "config.yaml").write_text(json.dumps(settings))
        corpus, vocabulary = settings["corpus"], settings["vocabulary"]
        del corpus["validation"]["alignment"]
        text = {"corpus": corpus, "vocabulary": vocabulary}
        (place / "text.yaml").write_text(json.dumps(text))
        del settings["vocabulary"]
        settings["training"]["passes"], settings["corpus"] = 1, {"prepared": "prepared"}
        (place / "prepared.yaml").write_text(json.dumps(settings))

    def prepare(self) -> None:
        """Prepares the text for trainings with prepared.yaml."""
        words = ["prepare", "--config", "text.yaml", "--output", "prepared", "--processes", "1"]
        ended = commands.forked(["-m", "nmt", *words], self.place)
        assert ended.returncode == 0, ended.stderr

    def start(self, name: str, count: int, *flags: str) -> Workers:
        self._port += 10
        config = "prepared.yaml" if name.startswith("prepared") else "config.yaml"
        words = ["train", "--config", config, "--name", "run", "--directory", name, *flags]
        return Workers(words, self.place, count, self._port, TF_NUM_INTRAOP_THREADS="1", CUDA_VISIBLE_DEVICES="")

    def finish(self, name: str, count: int, *flags: str) -> dict[str, Any]:
        """Trains to the end; exit codes, lines of the workers, and loss and weights at the end."""
        ended = self.start(name, count, *flags).wait(SECONDS)
        run = Run.open(self.place / name / "run")
        weights = np.concatenate([array.ravel() for _, array in sorted(run.weights().items())])
        rows = [(row["step"], row["train_loss"]) for row in run.read_history()]
        return {
            "codes": [each.returncode for each in ended],
            "lines": [each.stderr for each in ended],
            "rows": rows,
            "weights": weights.tolist(),
        }

    def begin(self, name: str, count: int, until: str) -> Workers:
        """Trains until the chief has written this."""
        workers = self.start(name, count)
        end = time.monotonic() + SECONDS
        while until not in workers.lines(0) and time.monotonic() < end:
            time.sleep(0.05)
        return workers


def main(place: Path) -> dict[str, Any]:
    os.environ.update(OPTIONS, JAX_COMPILATION_CACHE_DIR=str(place / "programs"))  # before JAX is imported
    trainings, found = Trainings(place), {}
    found["one"] = trainings.finish("one", 1)
    found["two"] = trainings.finish("two", 2)
    for name, worker, number, step in (("ended", 1, signal.SIGTERM, 5), ("killed", 0, signal.SIGKILL, 10)):
        workers = trainings.begin("disturbed", 2, f"step {step}: validation")
        workers.send(worker, number)
        ended = workers.wait(120)
        found[name] = {"codes": [each.returncode for each in ended], "lines": [each.stderr for each in ended]}
        found[f"{name} seconds"] = max(each.seconds for each in ended)
    found["disturbed"] = trainings.finish("disturbed", 2)
    found["resumed by one"] = trainings.finish("two", 1, "--training.passes", "5")
    if os.environ.get("KERAS_BACKEND") != "jax":  # the same on both, and JAX compiles longer
        trainings.prepare()
        found["prepared, one"], found["prepared, two"] = (trainings.finish(f"prepared-{n}", n) for n in (1, 2))
    return found


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1])), sys.stdout)
