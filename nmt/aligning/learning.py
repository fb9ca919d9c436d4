"""The training loop of an aligner: resumes at any batch, and ends with the same weights."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path

import keras
import numpy as np

from nmt.aligning.batches import PairBatch, make_pair_batch
from nmt.aligning.directory import CHECKPOINT, CORPUS, AlignerDirectory
from nmt.aligning.network import AlignerNetwork
from nmt.backend.determinism import set_determinism
from nmt.backend.machine import configure_runtime
from nmt.backend.updating import compile_update
from nmt.batches.background import in_background
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.plan import BatchPlan
from nmt.errors import NmtError
from nmt.network.weights import assign_arrays, variables_to_arrays
from nmt.progress import StatusLine, counted, duration
from nmt.run.arrays import load_arrays, save_arrays

LAST_RATE = 0.05
"""Share of the highest learning rate at which the cosine ends."""
CLIP_NORM = 5.0
SAVED_EVERY = 5000
"""Batches between two checkpoints within an epoch."""
AHEAD = 8
"""Finished batches that wait for the training step at most."""
STATE = "state"
"""The name of the state among the arrays of a checkpoint."""


@dataclass
class State:
    """How far a training has come."""

    epoch: int = 0
    """Finished epochs."""
    batch: int = 0
    """Finished batches of the current epoch."""
    loss: float = 0.0
    """Sum of the losses of these batches."""
    seconds: float = 0.0
    """Time of all steps."""


def learn(made: AlignerDirectory, interrupted: threading.Event | None = None) -> AlignerNetwork | None:
    """Trains an aligner to its end, or to an interruption, from its newest checkpoint on.

    Args:
        made: a directory that `prepare` set up.
        interrupted: ends the training after the current step when it is set.

    Returns:
        The trained network; None after an interruption.

    Raises:
        NmtError: a damaged checkpoint or corpus, or a loss that is NaN or infinite.
    """
    configure_runtime()
    set_determinism(made.config.seed, made.config.deterministic)
    network = AlignerNetwork(made.config, *(units.size for units in made.units))
    if (made.path / CHECKPOINT).exists() or not (made.path / "weights.npz").exists():
        learning = Learning(made, network)
        if not learning.run(interrupted or threading.Event()):
            return None
    else:
        assign_arrays(network.variables, made.weights(), str(made.path))
    return network


class Learning:
    """A training with its batches, optimizer and state.

    Args:
        made: settings, units and pairs.
        network: built; its weights are overwritten by those of the checkpoint.
    """

    def __init__(self, made: AlignerDirectory, network: AlignerNetwork) -> None:
        self.made, self.network, self.config = made, network, made.config
        self.corpus = EncodedCorpus(made.path / CORPUS)
        self.corpus.require_ids(*(units.size for units in made.units))
        lengths = self.corpus.source.lengths, self.corpus.target.lengths
        self.plan = BatchPlan(*lengths, self.config.batch_tokens, self.config.window, self.config.seed)
        self.epochs = self.config.epochs_for(len(self.corpus))
        self.batches = sum(1 for _ in self.plan.batches(0))
        rate = keras.optimizers.schedules.CosineDecay(self.config.learning_rate, self.epochs * self.batches, LAST_RATE)
        self.optimizer = keras.optimizers.Adam(rate, global_clipnorm=CLIP_NORM)
        self.optimizer.build(network.trainable_variables)
        self.state = State()
        self.status = StatusLine()
        self._restore()
        self.update = compile_update(network.training_loss, network, self.optimizer)
        self._pairs_done = 0  # by this process, for the rate
        self._started = time.perf_counter()

    @property
    def checkpoint(self) -> Path:
        """The file of the newest checkpoint."""
        return self.made.path / CHECKPOINT

    def run(self, interrupted: threading.Event) -> bool:
        """Trains; returns whether the training is finished."""
        self.status.print(
            f"aligner: {counted(len(self.corpus), 'pair')}, {counted(self.epochs, 'epoch')}, "
            f"{self.network.count_params():,} parameters"
            + (f"; resuming in epoch {self.state.epoch + 1}" if self.checkpoint.exists() else "")
        )
        self._started = time.perf_counter()
        while self.state.epoch < self.epochs:
            if not self._epoch(interrupted):
                self._save()
                self.status.print(
                    f"interrupted in epoch {self.state.epoch + 1}; the same command resumes the training of "
                    f"{self.made.path}"
                )
                return False
        self.checkpoint.unlink(missing_ok=True)
        return True

    def _epoch(self, interrupted: threading.Event) -> bool:
        """Trains the rest of an epoch; False if it was interrupted."""
        state = self.state
        self.network.uniform.assign(1.0 if state.epoch < self.config.uniform_epochs else 0.0)
        for batch in in_background(self._planned(), AHEAD):
            loss = float(self.update(batch))
            if not math.isfinite(loss):
                raise NmtError(
                    f"{self.made.path}: the loss became NaN or infinite in epoch {state.epoch + 1}: begin again in "
                    f"another directory with a --learning-rate below {self.config.learning_rate}"
                )
            state.batch, state.loss = state.batch + 1, state.loss + loss
            self._pairs_done += len(batch.source.ids)
            self.status.show(self._line)
            if interrupted.is_set():
                return False
            if state.batch % SAVED_EVERY == 0:
                self._save()
        self.status.print(
            f"epoch {state.epoch + 1}/{self.epochs}: loss {self._mean_loss:.3f}, {self._speed:.0f} pairs/s"
        )
        self.state = State(state.epoch + 1)
        self.made.save_weights(variables_to_arrays(self.network.variables))
        if self.state.epoch < self.epochs:
            self._save()
        return True

    def _planned(self) -> Iterator[PairBatch]:
        """The batches of the current epoch that are left."""
        planned = islice(self.plan.batches(self.state.epoch), self.state.batch, None)
        return (make_pair_batch(self.corpus.source, self.corpus.target, rows) for rows in planned)

    @property
    def _mean_loss(self) -> float:
        return self.state.loss / max(self.state.batch, 1)

    @property
    def _speed(self) -> float:
        return self._pairs_done / max(time.perf_counter() - self._started, 1e-9)

    def _line(self) -> str:
        done = self.state.epoch + self.state.batch / self.batches
        left = (self.epochs - done) * len(self.corpus) / max(self._speed, 1e-9)
        return (
            f"epoch {self.state.epoch + 1}/{self.epochs}, {100 * min(self.state.batch / self.batches, 1):.0f} %, loss "
            f"{self._mean_loss:.3f}, {self._speed:.0f} pairs/s, {duration(left)} left"
        )

    @property
    def _variables(self) -> list[keras.Variable]:
        return [*self.network.variables, *self.optimizer.variables]

    def _save(self) -> None:
        arrays = variables_to_arrays(self._variables)
        save_arrays(self.checkpoint, arrays | {STATE: np.array(json.dumps(asdict(self.state)))})

    def _restore(self) -> None:
        """Takes weights, optimizer, dropout seeds and state from the checkpoint, if there is one.

        Raises:
            NmtError: the checkpoint is damaged.
        """
        if not self.checkpoint.exists():
            return
        arrays = load_arrays(self.checkpoint)
        try:
            self.state = State(**json.loads(str(arrays.pop(STATE))))
        except (KeyError, TypeError, ValueError):
            raise NmtError(f"{self.checkpoint}: damaged: delete it, and the training begins again") from None
        assign_arrays(self._variables, arrays, str(self.checkpoint))
