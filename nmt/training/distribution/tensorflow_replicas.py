"""Replicas on TensorFlow: the devices of one machine (MirroredStrategy) or of several (MultiWorkerMirroredStrategy)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
import tensorflow as tf

from nmt.backend.machine import configure_runtime
from nmt.training.batch_parts import split_batch
from nmt.training.distribution.cluster import Cluster
from nmt.training.distribution.replicas import (
    SECONDS_OF_SILENCE,
    SECONDS_TO_MEET,
    LostWorkerError,
    Replicas,
    require_devices,
    step_counts,
)
from nmt.training.errors import TrainingError

LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.DeadlineExceededError,
    tf.errors.CancelledError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
)
"""Errors of a collective operation without one of its workers."""

_KEYS, _STRATEGIES = 1000, count()
"""Keys of groups of devices that a strategy may use, and the numbers of the strategies of this process."""


def open_tensorflow_replicas(devices: int, cluster: Cluster) -> Replicas:
    """As `open_replicas`."""
    gpus = tf.config.list_physical_devices("GPU")
    if cluster.several:
        return _open_workers(devices, gpus, cluster)
    if not gpus and devices > 1:
        _divide_processor(devices)
    kind = "GPU" if gpus else "CPU"
    found = require_devices(devices, len(gpus), "GPUs") if gpus else max(devices, 1)
    if found == 1:
        return Replicas()
    configure_runtime()
    return TensorFlowReplicas(_mirrored([f"{kind}:{index}" for index in range(found)]), cluster)


def _mirrored(devices: list[str]) -> tf.distribute.Strategy:
    """A strategy whose groups of devices have keys of their own.

    TensorFlow never forgets the devices of a key. It would refuse the sums of a second strategy with other devices.
    """

    class Strategy(tf.distribute.MirroredStrategy):
        _collective_key_base = _KEYS * next(_STRATEGIES)

    return Strategy(devices)


def _divide_processor(devices: int) -> None:
    """Makes logical devices of the processors.

    They compute nothing faster than one device. They are for trying out.
    """
    (processor,) = tf.config.list_physical_devices("CPU")
    logical = [tf.config.LogicalDeviceConfiguration()] * devices
    try:
        tf.config.set_logical_device_configuration(processor, logical)
    except RuntimeError:  # TensorFlow has begun to compute
        if (found := len(tf.config.list_logical_devices("CPU"))) < devices:
            raise TrainingError(
                f"training.devices is {devices}, but this process has begun to compute with {found} processor devices: "
                "begin with this training"
            ) from None


def _open_workers(devices: int, gpus: list[Any], cluster: Cluster) -> Replicas:
    """Waits until all workers have started."""
    if gpus:
        tf.config.set_visible_devices(gpus[: require_devices(devices, len(gpus), "GPUs")], "GPU")
    elif devices > 1:
        raise TrainingError(
            f"training.devices is {devices}: workers without GPUs have one device each; start more workers instead"
        )
    configure_runtime()
    _bound_waiting(cluster)
    try:
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        replicas = TensorFlowReplicas(strategy, cluster)
        replicas.agree(0)
        return replicas
    except tf.errors.UnknownError as error:  # such as a port in use
        raise TrainingError(f"{cluster}: TensorFlow cannot serve at {cluster.addresses[cluster.index]}") from error
    except LOST as error:
        raise LostWorkerError(
            f"{cluster}: not all workers have started within {SECONDS_TO_MEET} seconds: {', '.join(cluster.addresses)}"
        ) from error


def _bound_waiting(cluster: Cluster) -> None:
    """Sets how long TensorFlow's workers wait for each other.

    By default the strategy would wait an hour for a worker that does not start.
    """
    from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
    from tensorflow.python.eager import context

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    jobs = {job: resolver.cluster_spec().num_tasks(job) for job in resolver.cluster_spec().jobs}
    leader = "chief" if "chief" in jobs else "worker"
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader=f"/job:{leader}/task:0",
        cluster_register_timeout_in_ms=1000 * SECONDS_TO_MEET,
        heartbeat_timeout_in_ms=1000 * SECONDS_OF_SILENCE,
        shutdown_barrier_timeout_in_ms=1000 * SECONDS_OF_SILENCE,
        coordinated_jobs=[CoordinatedJob(name=job, num_tasks=tasks) for job, tasks in jobs.items()],
    )


class TensorFlowReplicas(Replicas):
    """The replicas of one of TensorFlow's strategies.

    Args:
        strategy: MirroredStrategy or MultiWorkerMirroredStrategy.
        cluster: the workers.
    """

    def __init__(self, strategy: tf.distribute.Strategy, cluster: Cluster) -> None:
        super().__init__(cluster, strategy.num_replicas_in_sync // len(cluster.addresses))
        self.strategy = strategy

    def scope(self) -> AbstractContextManager[Any]:
        return self.strategy.scope()

    def program(self, step: Any, losses: Callable[..., Any], guided: bool) -> Callable[..., Any]:
        def one_replica(wants_stop: Any, *inputs: Any) -> Any:
            context = tf.distribute.get_replica_context()
            number = int(tf.get_static_value(context.replica_id_in_sync_group))
            own = split_batch(inputs, self.local)[number - self.first]
            counts = _added(step_counts(own, wants_stop))
            reported, gradients = step.gradients(losses, own, tf.maximum(counts, 1.0), number)
            reported, gradients = _added([list(reported), gradients])
            # Each replica makes the same update to its own variables.
            step.optimizer.apply(gradients, step.model.trainable_variables)
            return reported, counts

        def all_replicas(*inputs: Any) -> Any:
            results = self.strategy.run(one_replica, args=inputs)
            return tf.nest.map_structure(self._local, results)

        signature = [tf.TensorSpec([], tf.float32), *([tf.TensorSpec([None, None], tf.int32)] * 3)]
        if guided:
            signature += [tf.TensorSpec([None, None, None], tf.float32), tf.TensorSpec([], tf.float32)]
        compiled = tf.function(all_replicas, input_signature=signature, autograph=False)

        def update(*inputs: Any) -> Any:
            reported, self.counts = compiled(np.float32(self.wants_stop), *inputs)
            return reported

        return update

    def _local(self, value: Any) -> Any:
        """The value of the first replica of this worker."""
        return self.strategy.experimental_local_results(value)[0]

    @cached_property
    def _sum(self) -> Callable[..., Any]:
        def one_replica(values: Any) -> Any:
            context = tf.distribute.get_replica_context()
            first = tf.get_static_value(context.replica_id_in_sync_group) == 0
            return _added(values if first else tf.zeros_like(values))

        return tf.function(lambda values: self._local(self.strategy.run(one_replica, args=(values,))), autograph=False)

    def agree(self, *values: int) -> tuple[int, ...]:
        if not self.cluster.several:
            return values
        agreed = self._sum(tf.constant(values, tf.float64))
        return tuple(int(value) for value in agreed.numpy())

    def _lost(self, error: Exception) -> bool:
        return isinstance(error, LOST)


def _added(values: Any) -> Any:
    """In a replica: nested tensors, added over all replicas."""
    # The strategy asks each tensor for its device. An operation of the replica has one, an argument of a function not.
    values = tf.nest.map_structure(tf.identity, values)
    return tf.distribute.get_replica_context().all_reduce("SUM", values)
