"""`Inference` over exported models: the same search over NumPy arrays, without Keras."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from nmt.backend.machine import processors
from nmt.text.pieces import PAD
from nmt.translation.inference.batched_inference import BatchedInference
from nmt.translation.inference.distributions import Averaging
from nmt.translation.inference.ensemble import Ensemble
from nmt.translation.inference.exported_model import ExportedModel


class ExportedInference(BatchedInference):
    """Search and scoring of an exported model or an ensemble; see `protocol.Inference`.

    Args:
        models: exported models over one vocabulary of pieces.
        averaging: of the models' distributions.
        joins, opens: see `BatchedInference`.
    """

    def __init__(
        self,
        *models: ExportedModel,
        averaging: Averaging = "probability",
        joins: Sequence[bool] | None = None,
        opens: Sequence[bool] | None = None,
    ) -> None:
        super().__init__(Ensemble(models, averaging), joins, opens, compiles=False, at_once=processors())
        self.models = models

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the averaging and the graphs, in hexadecimal."""
        parts = [self.ensemble.averaging, *(model.fingerprint for model in self.models)]
        return hashlib.sha256("".join(parts).encode()).hexdigest()

    def score_batch(
        self, source: np.ndarray, target_in: np.ndarray, target_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Ensemble.score`. The decoder makes its steps one after the other."""
        return self._forced(*self.ensemble.start(source, target_in.shape[1]), target_in, target_out)

    def score_batch_seen(
        self, source: np.ndarray, seen: np.ndarray, target_in: np.ndarray, target_out: np.ndarray
    ) -> np.ndarray:
        """See `Ensemble.score_seen`."""
        states, fixed = self.ensemble.start(source, target_in.shape[1])
        masked = tuple(encoded | {"mask": encoded["mask"] & seen} for encoded in fixed)
        return self._forced(states, masked, target_in, target_out)[0]

    def _forced(
        self, states: Any, fixed: Any, target_in: np.ndarray, target_out: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Log-probabilities of known pieces, 0 at padding, and attention weights, float32 [batch, steps, positions]."""
        values, weights = np.zeros(target_out.shape, np.float32), []
        for step in range(target_out.shape[1]):
            distribution, states, attention = self.ensemble.step(target_in[:, step], states, *fixed)
            logits = np.take_along_axis(distribution.logits, target_out[:, step, None], 1)
            values[:, step] = (logits - distribution.normalizer)[:, 0]
            weights.append(attention)
        return np.where(target_out == PAD, np.float32(0), values), np.stack(weights, 1)
