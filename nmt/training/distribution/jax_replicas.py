"""Replicas on JAX: a mesh of the devices of one machine or of several."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from nmt.batches.arrays import BLANK
from nmt.training.distribution.cluster import Cluster
from nmt.training.distribution.replicas import (
    SECONDS_OF_SILENCE,
    SECONDS_TO_MEET,
    LostWorkerError,
    Replicas,
    require_devices,
    step_counts,
)
from nmt.training.distribution.seeds import common_seed, replica_seed
from nmt.training.errors import TrainingError

AXIS = "replicas"
EVERYWHERE, BY_ROWS = PartitionSpec(), PartitionSpec(AXIS)


def open_jax_replicas(devices: int, cluster: Cluster) -> Replicas:
    """As `open_replicas`."""
    if devices > 1:
        with contextlib.suppress(RuntimeError):  # JAX has begun to compute; its devices are counted below
            jax.config.update("jax_num_cpu_devices", devices)  # read on machines without GPUs only
    if cluster.several:
        _meet(cluster)
    local = jax.local_devices()
    kind = "GPUs" if local[0].platform == "gpu" else "devices"
    found = require_devices(devices if kind == "GPUs" else max(devices, 1), len(local), kind)
    if found == 1 and not cluster.several:
        return Replicas()
    by_worker = [[each for each in jax.devices() if each.process_index == n] for n in range(len(cluster.addresses))]
    return JaxReplicas(Mesh(np.array([each for own in by_worker for each in own[:found]]), [AXIS]), cluster)


def _meet(cluster: Cluster) -> None:
    """Waits until all workers have started."""
    try:
        jax.distributed.initialize(
            cluster.addresses[0],
            len(cluster.addresses),
            cluster.index,
            initialization_timeout=SECONDS_TO_MEET,
            heartbeat_timeout_seconds=SECONDS_OF_SILENCE,
            shutdown_timeout_seconds=SECONDS_OF_SILENCE,
            cluster_detection_method="deactivate",
        )
    except RuntimeError as error:
        if "must be called before" in str(error):
            raise TrainingError(
                f"{cluster}: JAX has begun to compute in this process: begin with this training"
            ) from error
        raise LostWorkerError(
            f"{cluster}: not all workers have started within {SECONDS_TO_MEET} seconds: {', '.join(cluster.addresses)}"
        ) from error


class JaxReplicas(Replicas):
    """The replicas of a mesh with one axis.

    Between two steps, the variables hold the arrays of this worker's first replica, so that everything outside of the
    step computes on one device.

    Args:
        mesh: devices, those of the first worker first.
        cluster: the workers.
    """

    def __init__(self, mesh: Mesh, cluster: Cluster) -> None:
        super().__init__(cluster, mesh.size // len(cluster.addresses))
        self.mesh = mesh
        self._whole: dict[int, tuple[Any, Any]] = {}
        """By the id of a variable: its value as the last step left it, on one device and on all."""

    def rows(self, batch: np.ndarray) -> np.ndarray:
        """Blank rows fill the batch, because each replica of a mesh has equally many rows."""
        return super().rows(np.pad(batch, (0, -len(batch) % self.count), constant_values=BLANK))

    def program(self, step: Any, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        groups = (step.model.trainable_variables, step.model.non_trainable_variables, step.optimizer.variables)
        one_replica = partial(_one_replica, step, losses)
        inputs = [BY_ROWS] * (4 if guided else 3) + [EVERYWHERE] * (1 if guided else 0)
        mapped = jax.shard_map(
            one_replica, mesh=self.mesh, in_specs=([EVERYWHERE] * 3, EVERYWHERE, inputs), out_specs=EVERYWHERE,
            check_vma=False,
        )  # fmt: skip
        compiled = jax.jit(mapped, donate_argnums=(0,))

        def update(*batch: Any) -> Any:
            values = [[self._everywhere(variable) for variable in group] for group in groups]
            placed = [self._placed(array, spec) for array, spec in zip(batch, inputs, strict=True)]
            reported, self.counts, values = compiled(values, np.float32(self.wants_stop), placed)
            for group, new in zip(groups, values, strict=True):
                for variable, value in zip(group, new, strict=True):
                    variable.assign(value.addressable_data(0))
                    self._whole[id(variable)] = variable.value, value
            return reported

        return update

    def _placed(self, array: Any, spec: PartitionSpec) -> Any:
        """This worker's part of an array as the array of all workers."""
        return jax.make_array_from_process_local_data(NamedSharding(self.mesh, spec), np.asarray(array))

    def _everywhere(self, variable: keras.Variable) -> Any:
        """The value of a variable on all devices. A value from outside of the steps is copied to them."""
        own, whole = self._whole.get(id(variable), (None, None))
        return whole if own is variable.value else self._placed(variable.value, EVERYWHERE)

    def agree(self, *values: int) -> tuple[int, ...]:
        if not self.cluster.several:
            return values
        from jax.experimental.multihost_utils import broadcast_one_to_all

        return tuple(int(value) for value in broadcast_one_to_all(np.array(values, np.int32)))

    def _lost(self, error: Exception) -> bool:
        return isinstance(error, jax.errors.JaxRuntimeError)


def _one_replica(step: Any, losses: Callable[..., Any], values: Any, wants_stop: Any, inputs: Any) -> Any:
    """The step of one replica on its own rows.

    Returns:
        The losses to report and the counts, both added over the replicas, and the new values.
    """
    trainable, fixed, optimizer_values = values
    optimizer, replica = step.optimizer, jax.lax.axis_index(AXIS)
    seeds = [replica_seed(value, replica) for value in fixed]
    counts = jax.lax.psum(step_counts(inputs, wants_stop), AXIS)
    divisors = jax.numpy.maximum(counts, 1.0)
    gradient = jax.value_and_grad(step.scaled_loss(losses), has_aux=True)
    (_, (reported, seeds)), gradients = gradient(trainable, seeds, optimizer_values, divisors, *inputs)
    reported, gradients = jax.lax.psum((reported, gradients), AXIS)
    trainable, optimizer_values = optimizer.stateless_apply(optimizer_values, gradients, trainable)
    return reported, counts, [trainable, [common_seed(value, replica) for value in seeds], optimizer_values]
