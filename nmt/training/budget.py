"""`training.minutes`: the epochs, the dropout and the network that a training of some minutes should have.

A short training loses quality, and a smaller network takes less time for an epoch. Both effects are measured on this
project's trainings (`quality/coefficients.json`): `gain` x (1 / f - 1) in log-odds of BLEU for a share f of the epochs,
and `size` for each e-fold of the parameters. The clock is read once, before the run begins; the run saves the result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from nmt.config import RunConfig
from nmt.training.quality.fit import QualityFit, load_fit

SMALLEST_DROPOUT = 1 / 3
"""Factor on the dropout of the shortest trainings: a third of the epochs was best with a third of the dropout."""

SCALED_DROPOUT = ("encoder", "state", "context", "readout", "residual")
"""Dropout that a short training has less of."""

VALIDATION = 0.5
"""Time of validating a pair, in times of training on a pair."""

VALIDATING, MOST_VALIDATIONS = 0.1, 20
"""Share of the time for validations, which allows one at least, and the most of them."""

TRIAL_SECONDS, TRIAL_STEPS = 3.0, 3
"""A network is timed for so long, and for so many steps at least."""


class Speed(NamedTuple):
    """What the trial of a network measured."""

    step: float
    """Seconds for a full batch."""
    start: float
    """Seconds for building and compiling it, which the training itself needs again."""


class Work(NamedTuple):
    """What there is to compute."""

    batches: float
    """Batches per epoch."""
    pairs: int
    """Pairs to train on."""
    validation_pairs: int
    passes: int
    """Epochs of the whole recipe."""


class Plan(NamedTuple):
    """A training that fits its minutes."""

    passes: int
    network: int
    """Place of the network among those that were offered."""
    dropout: float
    """Factor on the recipe's dropout."""
    epoch_seconds: float
    """Without validations."""
    validations: int
    fits: bool
    """False if even one epoch takes longer."""
    loss: float
    """Expected loss of log-odds of BLEU beside the whole recipe."""


def plan(
    seconds: float,
    work: Work,
    parameters: Sequence[int],
    trial: Callable[[int], Speed],
    clock: Callable[[], float] = time.monotonic,
    fit: QualityFit | None = None,
) -> Plan:
    """The network and the epochs with the least expected loss.

    Args:
        seconds: for the whole training, from now on.
        work: of the training.
        parameters: of the networks, the recipe's own first, then smaller ones.
        trial: times a network, by its place. A smaller one is timed only if it could lose less than those before.
        clock: seconds; the trials take some of the time.
        fit: the measured effects.
    """
    fit, begun = fit or load_fit(), clock()
    best: Plan | None = None
    for place, count in enumerate(parameters):
        smaller = fit.size * math.log(parameters[0] / count)
        if best is not None and best.loss <= smaller:
            break
        speed = trial(place)
        left = seconds - (clock() - begun) - speed.start
        found = _fitted(left, work, speed.step * work.batches, place, smaller, fit)
        if best is None or found.loss < best.loss:
            best = found
    assert best is not None
    return best


def _fitted(left: float, work: Work, epoch: float, place: int, smaller: float, fit: QualityFit) -> Plan:
    """The epochs that fit the seconds that are left, one at least."""
    validation = VALIDATION * epoch * work.validation_pairs / max(work.pairs, 1)
    affordable = VALIDATING * left / validation if validation else MOST_VALIDATIONS
    validations = int(min(max(affordable, 1), MOST_VALIDATIONS))
    passes = min(max(int((left - validations * validation) / epoch), 1), work.passes)
    fits, share = passes * epoch + validations * validation <= left, passes / work.passes
    loss = smaller + fit.gain * (1 / share - 1)
    return Plan(passes, place, max(share, SMALLEST_DROPOUT), epoch, validations, fits, loss)


def smaller_networks(model: Mapping[str, Any], recipes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The network of a recipe, then the smaller networks of other recipes, with the fields of `model` that set sizes.

    Args:
        model: the fields of the recipe's network.
        recipes: the networks of other recipes.
    """
    sizes = [_sizes(model)]
    for other in sorted(map(_sizes, recipes), key=lambda size: -size["units"]):
        if other["units"] < sizes[-1]["units"]:
            sizes.append(other)
    return sizes


def _sizes(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: model[name] for name in ("units", "embedding", "attention")}


def scaled_dropout(dropout: Mapping[str, float], factor: float) -> dict[str, float]:
    """The dropout rates of a recipe for a shorter training."""
    return {name: round(rate * factor, 3) if name in SCALED_DROPOUT else rate for name, rate in dropout.items()}


def time_training(config: RunConfig, length: float) -> Speed:
    """Trains a new network on random pieces for some seconds.

    Args:
        config: network, vocabulary and training settings.
        length: pieces of a sentence.
    """
    import keras
    import numpy as np

    from nmt.backend.machine import configure_runtime
    from nmt.backend.precision import decide_precision
    from nmt.batches.arrays import Batch
    from nmt.network.building import build_model
    from nmt.network.losses.output_loss import slices_for
    from nmt.training.step import TrainStep
    from nmt.training.trainer import build_optimizer

    configure_runtime()
    training = replace(config.training, precision=decide_precision(config.training.precision))
    pieces, begun = config.vocabulary.size, time.monotonic()
    network = build_model(config.model, pieces, pieces, training.seed, training.precision)
    slices = slices_for(training.batch_tokens, pieces)
    step = TrainStep(network, build_optimizer(network, training, 1000, 1), training.label_smoothing, slices)
    columns = max(round(length), 1)
    shape = max(training.batch_tokens // columns, 1), columns
    random = np.random.default_rng(training.seed)
    batch = Batch(*(random.integers(4, pieces, shape).astype(np.int32) for _ in range(3)))
    float(step(batch))
    started, seconds = time.monotonic(), list[float]()
    while len(seconds) < TRIAL_STEPS or time.monotonic() - started < TRIAL_SECONDS:
        before = time.monotonic()
        float(step(batch))
        seconds.append(time.monotonic() - before)
    keras.backend.clear_session()  # the training's own layers get the names that they would have without the trial
    return Speed(sum(seconds) / len(seconds), started - begun)
