"""Trainings with two workers that lose one at a random moment; started again, they end as if nothing had been lost."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import copy_task
from campaigns import Campaign, Point, Workshop
from kills import EXACT, TINY
from same_runs import require_same
from workers import Workers, network_is_private

SECONDS_TO_END = 90
"""Seconds in which the loss of a worker must end the others. Heartbeats stop after 30 of them."""
SECONDS_TO_TRAIN = 900
LONGER = {"passes": 6}


def _cut(workers: Workers, index: int) -> Callable[[], None]:
    """Cuts the network between all workers."""
    subprocess.run(["ip", "link", "set", "lo", "down"], check=True)
    return lambda: subprocess.run(["ip", "link", "set", "lo", "up"], check=True) and None


def _signal(number: int, workers: Workers, index: int) -> Callable[[], None]:
    workers.send(index, number)
    return lambda: workers.send(index, signal.SIGKILL)


LOSSES: dict[str, Callable[[Workers, int], Callable[[], None]]] = {
    "SIGKILL": partial(_signal, signal.SIGKILL),
    "SIGTERM": partial(_signal, signal.SIGTERM),
    "SIGSTOP": partial(_signal, signal.SIGSTOP),
    "network": _cut,
}
"""What happens to a worker; each returns what cleans up after the others have ended."""
SILENT = ("SIGSTOP", "network")
"""Losses after which a worker is silent. Before they have met, the others would wait for it until SECONDS_TO_MEET."""
MET = "training pairs"
"""The chief writes it when the workers have met."""


class TwoWorkers:
    """A training of two workers that nothing disturbs, and the same one with losses."""

    def __init__(self, place: Path) -> None:
        if not network_is_private():
            raise SystemExit(
                "worker-losses needs a network of its own: unshare -rn bash -c 'ip link set lo up; exec python "
                "scripts/faults.py worker-losses'"
            )
        self.place, self._port = place, 42000
        copy_task.write_corpus(place, train=80, validation=6)
        training = {**EXACT, **LONGER}
        settings = copy_task.merged(copy_task.fields(Path(".")), {"training": training, "model": TINY})
        del settings["directory"]
        (place / "config.yaml").write_text(json.dumps(settings))
        started = time.monotonic()
        workers = self.start("whole")
        wait_until_met(workers)
        self.seconds_to_meet = time.monotonic() - started
        self.finish("whole", workers)
        self.seconds = time.monotonic() - started

    def start(self, name: str) -> Workers:
        self._port += 2  # the ports of a killed worker may stay taken for a while
        words = ["train", "--config", "config.yaml", "--name", "run", "--directory", name]
        return Workers(words, self.place, 2, self._port, TF_NUM_INTRAOP_THREADS="1", CUDA_VISIBLE_DEVICES="")

    def finish(self, name: str, workers: Workers | None = None) -> None:
        for ended in (workers or self.start(name)).wait(SECONDS_TO_TRAIN):
            assert ended.returncode == 0, ended.stderr

    def check(self, loss: str, index: int, moment: float, place: Path) -> None:
        """Loses a worker, goes on, and compares.

        Args:
            loss: of `LOSSES`.
            index: the worker.
            moment: share of the time of a whole training; for silent losses from the moment when the workers have met.
            place: not used.
        """
        shutil.rmtree(self.place / "lost", ignore_errors=True)
        workers, other = self.start("lost"), 1 - index
        if loss in SILENT:
            wait_until_met(workers)
            time.sleep(moment * (self.seconds - self.seconds_to_meet))
        else:
            time.sleep(moment * self.seconds)
        clean_up = LOSSES[loss](workers, index)
        try:
            # Lost before they have met, a worker has as long as all workers have for meeting.
            met = MET in workers.lines(0)
            (ended,) = workers.wait(SECONDS_TO_END if met else SECONDS_TO_TRAIN, [other])
        finally:
            clean_up()
        assert ended.returncode in ((0, 2, 130) if loss == "SIGTERM" else (0, 2)), ended
        assert "Traceback" not in ended.stderr, ended.stderr
        (last,) = workers.wait(SECONDS_TO_END, [index])
        assert "Traceback" not in last.stderr, last.stderr
        self.finish("lost")
        require_same(self.place / "lost" / "run", self.place / "whole" / "run")


def wait_until_met(workers: Workers) -> None:
    while MET not in workers.lines(0) and workers.processes[0].is_alive():
        time.sleep(0.05)


def losses(workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """All kinds of losses, of both workers, again and again, each time at another moment."""
    training: list[TwoWorkers] = []

    def check(loss: str, index: int, moment: float, place: Path) -> None:
        if not training:
            training.append(TwoWorkers(workshop.folder("two-workers")))
        training[0].check(loss, index, moment, place)

    for number in range(1000):
        for loss in LOSSES:
            index, moment = draw.randrange(2), draw.random()
            yield Point(f"{loss} of {index}, {number}", partial(check, loss, index, moment))


CAMPAIGNS = [Campaign("worker-losses", "losses of a worker of two", losses, 30)]
