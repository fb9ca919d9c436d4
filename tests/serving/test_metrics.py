"""The directories in which the processes of a server add up their measurements."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from nmt.files.locking import locked
from nmt.serving.metrics import DIRECTORY, NEW_SECONDS, Metrics, _forget_ended, shared_measurements


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(DIRECTORY, "")
    return tmp_path


def make_old(path: Path) -> Path:
    path.mkdir()
    (path / "counter_1.db").touch()
    old = time.time() - 2 * NEW_SECONDS
    os.utime(path, (old, old))
    return path


def test_directories_of_killed_servers_are_deleted_and_those_of_others_stay(place):
    killed, serving = make_old(place / "nmt-metrics-killed"), make_old(place / "nmt-metrics-serving")
    other, new = make_old(place / "other"), place / "nmt-metrics-new"
    new.mkdir()
    with locked(serving, None), shared_measurements():
        own = Path(os.environ[DIRECTORY])
        assert own.parent == place and {*place.iterdir()} == {serving, other, new, own}
    assert not own.exists() and not killed.exists()


def test_a_process_measures_its_models_again_and_again_for_the_others(monkeypatch):
    monkeypatch.setattr("nmt.serving.metrics.UPDATE_SECONDS", 0.001)
    model = SimpleNamespace(name="one", unfinished=3, state="loading")
    metrics = Metrics({"one": model})

    async def measured() -> list[tuple[float, float]]:
        found = []
        measuring = asyncio.create_task(metrics.keep_current())
        for unfinished in (3, 5, 0):
            model.unfinished = unfinished
            await asyncio.sleep(0.1)
            gauges = metrics.unfinished.labels("one"), metrics.ready.labels("one")
            found.append(tuple(gauge._value.get() for gauge in gauges))
            model.state = "ready"
        measuring.cancel()
        return found

    monkeypatch.setenv(DIRECTORY, "shared")
    assert asyncio.run(measured()) == [(3, 0), (5, 1), (0, 1)]
    monkeypatch.delenv(DIRECTORY)
    asyncio.run(metrics.keep_current())  # ends: one process measures when it is asked


def test_a_worker_that_has_ended_has_no_state(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    own = tmp_path / f"gauge_livesum_{os.getpid()}.db"
    requests = tmp_path / f"counter_{child.pid}.db"  # they count on
    for path in (own, requests, tmp_path / f"gauge_livesum_{child.pid}.db", tmp_path / f"gauge_livemin_{child.pid}.db"):
        path.touch()
    _forget_ended(tmp_path)
    assert {*tmp_path.iterdir()} == {own, requests}
