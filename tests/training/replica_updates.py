"""Updates on one replica and on several, as a program: it prints a line of JSON for each number of replicas.

    python replica_updates.py 4 2

A process of its own, because a backend divides its processor into devices once, before it computes. Compiling takes
most of the time, so each number of replicas has other comparisons, beside the plain one.
"""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from typing import Any, NamedTuple

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
RATE = 0.1
FLOAT16 = "mixed_float16"
ONE = Replicas()


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
        ema_momentum=0.9, epsilon=1e-2, weight_decay=1.0,
    )  # fmt: skip
    return LossScaleOptimizer(inner, initial_scale=2.0**18) if precision == FLOAT16 else inner


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

    @property
    def variables(self) -> list[keras.Variable]:
        return [*self.model.variables, *self.optimizer.variables]

    def values(self) -> list[np.ndarray]:
        return [np.array(variable) for variable in self.variables]

    def assign(self, values: list[np.ndarray]) -> None:
        for variable, value in zip(self.variables, values, strict=True):
            variable.assign(value)


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


def difference(one: list[np.ndarray], other: list[np.ndarray]) -> float:
    pairs = zip(one, other, strict=True)
    return max(float(np.abs(np.subtract(a, b, dtype=np.float64)).max()) for a, b in pairs)


class Plain(NamedTuple):
    """Updates by gradients alone."""

    trained: Trained
    first_losses: list[float]
    first: list[np.ndarray]
    """Values after two updates."""
    losses: list[float]
    last: list[np.ndarray]
    """Values after 100 updates."""


@cache
def plain(replicas: Replicas) -> Plain:
    trained = Trained(replicas, lambda: SGD(RATE))
    first, values = trained.update(2), trained.values()
    return Plain(trained, first, values, trained.update(98, seed=1), trained.values())


def compare_plain(replicas: Replicas) -> dict[str, Any]:
    one, several = plain(ONE), plain(replicas)
    several.trained.assign(one.first)
    several.trained.update(98, seed=1)
    return {
        "resumed on more": difference(one.last, several.trained.values()),
        "two updates": difference(one.first, several.first) / RATE,  # of gradients
        "first losses": float(np.abs(np.subtract(one.first_losses, several.first_losses)).max()),
        "100 updates": difference(one.last, several.last),
        "100 losses": float(np.abs(np.subtract(one.losses, several.losses)).max()),
    }


def compare_adam(replicas: Replicas, precision: str = "float32") -> dict[str, Any]:
    """Guided in float32."""
    pair = [Trained(each, partial(adam, precision), precision=precision) for each in (ONE, replicas)]
    for each in pair:
        each.update(12, guided=precision == "float32")
    return {f"adam {precision}": difference(*(each.values() for each in pair))}


def compare_masks(replicas: Replicas) -> dict[str, Any]:
    """With dropout, and once more from the same beginning."""
    one, several = (Trained(each, lambda: SGD(RATE), dropout=0.3) for each in (ONE, replicas))
    begin, losses, ends = several.values(), [], []
    for _ in range(2):
        several.assign(begin)
        losses.append([float(several.step(equal_rows(replicas.count))), *several.update(3)])
        ends.append(several.values())
    # One row for each replica: with equal masks their mean loss would be the loss of one row on one replica.
    differ = abs(float(one.step(equal_rows(1))) - losses[0][0]) > 1e-3
    return {
        "masks differ": differ,
        "dropout repeats": difference(*ends),
        "dropout losses repeat": losses[0] == losses[1],
    }


def equal_rows(count: int) -> Batch:
    return make_batch(*[Sequences.of([[4, 5, 6]])] * 2, np.zeros(count, int), width=8)


def main(counts: list[int]) -> None:
    """The largest number of replicas first, because a backend divides its processor once."""
    comparisons = [
        [compare_plain, compare_adam, compare_masks],
        [compare_plain, partial(compare_adam, precision=FLOAT16)],
    ]
    for count, some in zip(sorted(counts, reverse=True), comparisons, strict=True):
        replicas, found = open_replicas(count, Cluster()), {"replicas": count}
        for compare in some:
            found |= compare(replicas)
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    if keras.backend.backend() == "tensorflow":  # compiling anew for each case would take most of the time
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    else:
        import jax

        jax.config.update("jax_disable_most_optimizations", True)
    main([int(count) for count in sys.argv[1:]])
