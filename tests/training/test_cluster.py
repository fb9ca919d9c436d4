"""Workers from TF_CONFIG, each worker's rows, and the checks before several workers train."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmt.training.distribution.cluster import Cluster, read_cluster
from nmt.training.distribution.replicas import LostWorkerError, Replicas, require_devices
from nmt.training.errors import TrainingError


def cluster_of(jobs: Any, kind: Any = "worker", index: Any = 0) -> Cluster:
    return read_cluster({"TF_CONFIG": json.dumps({"cluster": jobs, "task": {"type": kind, "index": index}})})


def test_without_the_variable_a_process_trains_alone() -> None:
    for environment in ({}, {"TF_CONFIG": ""}):
        cluster = read_cluster(environment)
        assert cluster.is_chief and not cluster.several


def test_the_chief_comes_before_the_workers() -> None:
    jobs = {"worker": ["b:1", "c:1"], "chief": ["a:1"]}
    assert cluster_of(jobs, "chief").addresses == ("a:1", "b:1", "c:1")
    places = [cluster_of(jobs, kind, index).index for kind, index in (("chief", 0), ("worker", 0), ("worker", 1))]
    assert places == [0, 1, 2]
    assert [str(cluster_of(jobs, "worker", 1)), cluster_of(jobs, "chief").is_chief] == ["worker 2 of 3", True]


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "1", "{}", '{"cluster": {"worker": "a:1"}, "task": {"type": "worker", "index": 0}}']
    + ['{"cluster": {"worker": ["a"]}, "task": {"type": "worker", "index": 0}}', "[" * 10**5],
)  # fmt: skip
def test_another_text_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(TrainingError, match="^TF_CONFIG is not a cluster: expected [^\n]+$"):
        read_cluster({"TF_CONFIG": text})


def test_a_process_must_have_a_place_in_the_cluster() -> None:
    for jobs, kind, index in (({"worker": ["a:1"]}, "worker", 1), ({"worker": ["a:1"], "ps": ["b:1"]}, "worker", 0)):
        with pytest.raises(TrainingError, match="is not in the cluster"):
            cluster_of(jobs, kind, index)
    with pytest.raises(TrainingError, match="names an address twice"):
        cluster_of({"worker": ["a:1", "a:1"]})


@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 4))
def test_the_workers_read_each_row_once(rows: int, workers: int, local: int) -> None:
    shares = [
        Replicas(Cluster(tuple(f"h:{port}" for port in range(1, workers + 1)), index), local).rows(np.arange(rows))
        for index in range(workers)
    ]
    assert np.concatenate(shares).tolist() == list(range(rows))
    # A worker's replicas share its rows, so that no replica has more than one row more than another.
    sizes = [len(share) // local for share in shares] + [-(-len(share) // local) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_too_many_devices_are_refused() -> None:
    assert [require_devices(wanted, 4, "GPUs") for wanted in (0, 3, 4)] == [4, 3, 4]
    with pytest.raises(TrainingError, match="training.devices is 5, but this machine has 4 GPUs: choose 4 or 0"):
        require_devices(5, 4, "GPUs")


class Lossy(Replicas):
    """Takes each connection error for a lost worker."""

    def _lost(self, error: Exception) -> bool:
        return isinstance(error, ConnectionError)


def test_a_lost_worker_is_one_line_and_other_errors_stay_what_they_are() -> None:
    two = Lossy(Cluster(("a:1", "b:1"), 1))
    with pytest.raises(LostWorkerError, match="^worker 1 of 2: another worker has ended [^\n]+$"), two.watched():
        raise ConnectionResetError
    with pytest.raises(ValueError, match="a bug"), two.watched():
        raise ValueError("a bug")
    with pytest.raises(ConnectionResetError), Lossy().watched():
        raise ConnectionResetError
