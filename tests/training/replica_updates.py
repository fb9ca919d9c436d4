"""Updates on one replica and on several, as a program: `python replica_updates.py` prints what it found as JSON.

A process of its own, because a backend divides its processor into devices once, before it computes.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import keras
import numpy as np

from nmt.batches.arrays import Batch, GuidedBatch, Sequences, link_rows, make_batch
from nmt.config import AttentionConfig, DropoutConfig, ModelConfig
from nmt.network.model import Seq2Seq
from nmt.training.distribution.cluster import Cluster
from nmt.training.distribution.replicas import Replicas, open_replicas
from nmt.training.optimizer import Adam, LossScaleOptimizer, assign_by_replica
from nmt.training.step import TrainStep

PIECES = 12


class SGD(keras.optimizers.SGD):
    """Keras's SGD for gradients that are already added over TensorFlow's replicas."""

    def __init__(self, rate: float) -> None:
        super().__init__(rate)
        assign_by_replica(self._iterations)

    def _backend_update_step(self, grads: list[Any], trainable_variables: list[Any], learning_rate: Any) -> None:
        for gradient, variable in zip(grads, trainable_variables, strict=True):
            self.update_step(gradient, variable, learning_rate)


def adam(precision: str = "float32") -> keras.optimizers.Optimizer:
    """With all that a training can ask for. A large epsilon, because Adam turns rounding noise into steps."""
    inner = Adam(
        0.01, averaged_every=1, summed=True, global_clipnorm=0.1, gradient_accumulation_steps=2, use_ema=True,
        ema_momentum=0.9, epsilon=1e-2,
    )  # fmt: skip
    return LossScaleOptimizer(inner, initial_scale=2.0**18) if precision == "mixed_float16" else inner


class Trained:
    """A model with updates on these replicas."""

    def __init__(self, replicas: Replicas, make: Any, dropout: float = 0.0, precision: str = "float32") -> None:
        keras.utils.set_random_seed(7)
        rates = dict.fromkeys(("embedding", "encoder", "state", "context", "readout"), dropout)
        config = ModelConfig(
            units=8, embedding=8, attention=AttentionConfig(units=4), dropout=DropoutConfig(**rates, residual=0)
        )
        with replicas.scope():
            self.model = Seq2Seq(config, PIECES, PIECES, seed=3, dtype=precision)
            self.model.build()
            self.optimizer = make()
            self.optimizer.build(self.model.trainable_variables)
        self.replicas = replicas
        self.step = TrainStep(self.model, self.optimizer, 0.1, replicas=replicas)

    def update(self, count: int, seed: int = 0, guided: bool = False) -> list[float]:
        return [self._update(batch, guided) for batch in batches(count, self.replicas, seed)]

    def _update(self, batch: GuidedBatch, guided: bool) -> float:
        return float(sum(map(float, self.step.guided(batch, 0.5))) if guided else self.step(Batch(*batch[:3])))

    def values(self) -> list[np.ndarray]:
        return [np.array(variable) for variable in [*self.model.variables, *self.optimizer.variables]]


def batches(count: int, replicas: Replicas, seed: int) -> list[GuidedBatch]:
    """Batches of five rows of different lengths; every third one has fewer rows than there are replicas."""
    draw, made = np.random.default_rng(seed), []
    for index in range(count):
        pairs = [[draw.integers(4, PIECES, draw.integers(1, 7)).tolist() for _ in range(2)] for _ in range(5)]
        rows = replicas.rows(np.arange(5 if index % 3 else 1))
        batch = make_batch(*(Sequences.of([pair[side] for pair in pairs]) for side in (0, 1)), rows, width=8)
        links = Sequences.of([[0, 0] for _ in pairs])
        made.append(GuidedBatch(*batch, link_rows(links, rows, (*batch.target_out.shape, batch.source.shape[1]))))
    return made


def difference(one: Trained, other: Trained) -> float:
    pairs = zip(one.values(), other.values(), strict=True)
    return max(float(np.abs(a.astype(np.float64) - b.astype(np.float64)).max()) for a, b in pairs)


def compared(replicas: Replicas) -> dict[str, Any]:
    """Differences between one replica and these."""
    found: dict[str, Any] = {"replicas": replicas.count}
    rate = 0.1
    pair = [Trained(each, lambda: SGD(rate)) for each in (Replicas(), replicas)]
    losses = [each.update(2) for each in pair]
    found["two updates"] = difference(*pair) / rate  # of gradients
    found["first losses"] = float(np.abs(np.diff(losses, axis=0)).max())
    losses = [each.update(98, seed=1) for each in pair]
    found["100 updates"], found["100 losses"] = difference(*pair), float(np.abs(np.diff(losses, axis=0)).max())
    for precision in ("float32", "mixed_float16"):
        pair = [Trained(each, lambda p=precision: adam(p), precision=precision) for each in (Replicas(), replicas)]
        for each in pair:
            each.update(12, guided=precision == "float32")
        found[f"adam {precision}"] = difference(*pair)
    one, *dropout = [Trained(each, lambda: SGD(rate), dropout=0.3) for each in (Replicas(), replicas, replicas)]
    # One row for each replica: with equal masks their mean loss would be the loss of one row on one replica.
    losses = [float(each.step(equal_rows(each.replicas.count))) for each in (one, *dropout)]
    found["masks differ"] = abs(losses[0] - losses[1]) > 1e-3
    found["dropout losses"] = [losses[1:], *zip(*(each.update(3) for each in dropout), strict=True)]
    found["dropout repeats"] = difference(*dropout)
    return found


def equal_rows(count: int) -> Batch:
    return make_batch(*[Sequences.of([[4, 5, 6]])] * 2, np.zeros(count, int), width=8)


if __name__ == "__main__":
    if keras.backend.backend() == "tensorflow":  # compiling anew for each case would take most of the time
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    else:
        import jax

        jax.config.update("jax_disable_most_optimizations", True)
    counts = sorted(map(int, sys.argv[1:]), reverse=True)
    print(json.dumps([compared(open_replicas(count, Cluster())) for count in counts]))
