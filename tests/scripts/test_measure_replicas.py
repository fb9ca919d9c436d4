"""The simulation of many devices."""

from __future__ import annotations

import argparse

import pytest

from benchmarks.measure_replicas import LARGE, fitted, simulate


def test_a_line_is_fitted_to_the_sums():
    bandwidth, latency = 2**30, 1e-3
    sums = {mib: 1e3 * (int(mib) * 2**20 / bandwidth + 2 * latency) for mib in ("1", "4", "16")}
    assert fitted(sums) == pytest.approx((bandwidth, latency))


def test_waiting_and_sums_lower_the_efficiency():
    even, uneven = {"step_seconds": [0.1], "bytes": 1.25e9 / 100}, {"step_seconds": [0.05, 0.15], "bytes": 0}
    found = {"parts": {"even": even, "uneven": uneven}}
    simulate(argparse.Namespace(), found)
    rows = found["simulated"]
    sums = {count: 2 * (count - 1) * (0.01 / count + 5e-5) for count in LARGE}
    assert rows["even"]["10 Gbit/s"] == {str(count): round(10 / (0.1 + sums[count]), 1) for count in LARGE}
    assert rows["uneven"]["100 Gbit/s"]["2"] == pytest.approx(100 * 0.1 / 0.125, abs=2)  # three of four wait
