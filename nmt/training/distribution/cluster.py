"""The machines that train together, as the environment variable TF_CONFIG names them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nmt.training.errors import TrainingError

VARIABLE = "TF_CONFIG"

_EXPECTED = 'expected {"cluster": {"worker": ["HOST:PORT", ...]}, "task": {"type": "worker", "index": N}}'


@dataclass(frozen=True)
class Cluster:
    """The processes that train one model, called workers, and this process's place among them."""

    addresses: tuple[str, ...] = ("",)
    """host:port of each worker; the first one is the chief."""
    index: int = 0
    """Number of this worker, from 0."""

    @property
    def several(self) -> bool:
        return len(self.addresses) > 1

    @property
    def is_chief(self) -> bool:
        """Whether this worker prepares the text, validates, and writes the run directory."""
        return self.index == 0

    def __str__(self) -> str:
        return f"worker {self.index} of {len(self.addresses)}"


def read_cluster(environment: Mapping[str, str] = os.environ) -> Cluster:
    """The cluster of TF_CONFIG, in TensorFlow's format; without the variable, this process alone.

    Raises:
        TrainingError: the variable is not a cluster of workers, or has no place for this process.
    """
    if not (text := environment.get(VARIABLE, "").strip()):
        return Cluster()
    try:
        fields = json.loads(text)
        jobs, task = fields["cluster"], fields["task"]
        addresses = (*_addresses(jobs, "chief"), *_addresses(jobs, "worker"))
        index = int(task["index"]) + (len(_addresses(jobs, "chief")) if task["type"] == "worker" else 0)
        known = set(jobs) <= {"chief", "worker"} and task["type"] in jobs
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise TrainingError(f"{VARIABLE} is not a cluster: {_EXPECTED}") from None
    if not known or not 0 <= index < len(addresses):
        raise TrainingError(f"{VARIABLE}: task {task['type']} {task['index']} is not in the cluster: {_EXPECTED}")
    if len(set(addresses)) < len(addresses):
        raise TrainingError(f"{VARIABLE} names an address twice: each worker needs a host:port of its own")
    return Cluster(addresses, index)


def _addresses(jobs: Any, job: str) -> list[str]:
    """host:port of the tasks of a job, which may be missing."""
    found = jobs.get(job, [])
    if not isinstance(found, list):
        raise TypeError(job)
    for address in found:
        _, _, port = address.rpartition(":")
        if not 0 < int(port) < 2**16:
            raise ValueError(address)
    return found
