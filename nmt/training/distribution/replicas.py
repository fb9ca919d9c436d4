"""The replicas of a training: how many there are, which rows of a batch they get, and how workers agree."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import keras
import numpy as np

from nmt.training.distribution.cluster import Cluster
from nmt.training.errors import TrainingError

SECONDS_TO_MEET = 300
"""Seconds in which all workers must have started."""

SECONDS_OF_SILENCE = 30
"""Seconds without a sign of life after which a worker counts as lost."""


class LostWorkerError(TrainingError):
    """Another worker has ended or cannot be reached, so this one cannot go on."""


class Replicas:
    """One replica on the default device of one machine. Subclasses have several replicas or several workers.

    Args:
        cluster: the workers.
        local: replicas of this worker; each worker has equally many.
    """

    def __init__(self, cluster: Cluster | None = None, local: int = 1) -> None:
        self.cluster, self.local = cluster or Cluster(), local
        self.counts: Any = None
        """`step_counts` of the newest step, added over the replicas; None if there is one replica."""
        self.wants_stop = False
        """Whether this worker asks all workers to stop. The next step tells the others."""

    @property
    def count(self) -> int:
        """Replicas of all workers."""
        return len(self.cluster.addresses) * self.local

    @property
    def first(self) -> int:
        """Number of this worker's first replica."""
        return self.cluster.index * self.local

    @property
    def is_chief(self) -> bool:
        return self.cluster.is_chief

    def scope(self) -> AbstractContextManager[Any]:
        """The context in which the variables of model and optimizer are made."""
        return nullcontext()

    def rows(self, batch: np.ndarray) -> np.ndarray:
        """This worker's rows of a batch, [rows] -> [at most rows]."""
        own = slice(len(batch) * self.first // self.count, len(batch) * (self.first + self.local) // self.count)
        return batch[own] if self.cluster.several else batch

    def program(self, step: Any, losses: Any, guided: bool) -> Any:
        """`TrainStep._compiled` for these replicas."""
        raise NotImplementedError

    def agree(self, *values: int) -> tuple[int, ...]:
        """The chief's values, at each worker. All workers wait for the last one.

        Args:
            values: integers of 32 bits, equally many at each worker.
        """
        return values

    @contextlib.contextmanager
    def chief_first(self) -> Iterator[None]:
        """The chief ends the block before the other workers begin it."""
        if not self.is_chief:
            self.agree(0)
        yield
        if self.is_chief:
            self.agree(0)

    def _lost(self, error: Exception) -> bool:
        """Whether an error of the backend means that another worker is lost."""
        return False

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Turns errors about lost workers into one line.

        Raises:
            LostWorkerError: another worker is lost.
        """
        try:
            yield
        except Exception as error:
            if not self.cluster.several or not self._lost(error):
                raise
            raise LostWorkerError(
                f"{self.cluster}: another worker has ended or cannot be reached: its own lines say why; start all "
                "workers again, and the training goes on from the last checkpoint"
            ) from error


def open_replicas(devices: int, cluster: Cluster) -> Replicas:
    """The replicas of `training.devices` on each worker. Call it before anything is computed.

    Args:
        devices: replicas of this machine; 0: one for each GPU, and one without GPUs.
        cluster: the workers.

    Raises:
        TrainingError: the machine has fewer devices, or the workers do not meet in time.
    """
    if keras.backend.backend() == "tensorflow":
        from nmt.training.distribution.tensorflow_replicas import open_tensorflow_replicas

        return open_tensorflow_replicas(devices, cluster)
    if keras.backend.backend() == "jax":
        from nmt.training.distribution.jax_replicas import open_jax_replicas

        return open_jax_replicas(devices, cluster)
    return Replicas()


def require_devices(devices: int, found: int, kind: str) -> int:
    """The number of replicas of this machine.

    Args:
        devices: `training.devices`.
        found: devices of this machine.
        kind: of the devices, for the message.

    Raises:
        TrainingError: there are fewer devices.
    """
    if devices > found:
        raise TrainingError(f"training.devices is {devices}, but this machine has {found} {kind}: choose {found} or 0")
    return devices or found


def step_counts(inputs: Sequence[Any], wants_stop: Any) -> Any:
    """The counts of a replica's rows that all replicas add.

    Args:
        inputs: tensors of a `Batch`, or of a `GuidedBatch` and the weight of its attention loss.
        wants_stop: float32 scalar, above 0 to stop the training.

    Returns:
        float32 [3]: target tokens, linked target tokens, wishes to stop.
    """
    from nmt.text.pieces import PAD

    tokens = keras.ops.sum(keras.ops.cast(inputs[2] != PAD, "float32"))
    linked = keras.ops.sum(inputs[3]) if len(inputs) > 3 else keras.ops.zeros(())
    return keras.ops.stack([tokens, linked, wants_stop])
