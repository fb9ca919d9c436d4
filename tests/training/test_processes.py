"""Trainings at once: the processors of each."""

from __future__ import annotations

import os

import pytest

from nmt.training.processes import shared_cores


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not bind processes to processors")
def test_trainings_share_the_processors_that_they_may_use(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(4)))
    assert shared_cores(2)["OMP_NUM_THREADS"] == "2"
    assert shared_cores(9)["TF_NUM_INTRAOP_THREADS"] == "1"
