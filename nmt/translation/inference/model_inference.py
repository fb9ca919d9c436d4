"""`Inference` over Keras models: compiled programs search or score the batches."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Literal

import numpy as np
from keras import ops

from nmt.backend.compiling import compile_function
from nmt.config import config_to_dict
from nmt.network.model import Seq2Seq
from nmt.translation.inference.batched_inference import BatchedInference
from nmt.translation.inference.distributions import Averaging
from nmt.translation.inference.ensemble import Ensemble


class ModelInference(BatchedInference):
    """The compiled search and scoring of a model or an ensemble; see `protocol.Inference`.

    Args:
        models: built models over one vocabulary of pieces; their weights may change between calls.
        averaging: of the models' distributions.
        joins: target pieces that continue the word before them, bool [pieces]; None: no piece does.
        opens: target pieces that a word may follow without a space, bool [pieces]; None: no piece does.
    """

    def __init__(
        self,
        *models: Seq2Seq,
        averaging: Averaging = "probability",
        joins: Sequence[bool] | None = None,
        opens: Sequence[bool] | None = None,
    ) -> None:
        super().__init__(Ensemble(models, averaging), joins, opens, compiles=True)
        self.models = models
        self.score_batch = compile_function(self.ensemble.score, self.ensemble.weights)
        self.score_batch_seen = compile_function(self.ensemble.score_seen, self.ensemble.weights)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the averaging, the models' settings and their weights in their precision, in hexadecimal."""
        settings = [self.ensemble.averaging, *(config_to_dict(model.config) for model in self.models)]
        digest = hashlib.sha256(json.dumps(settings).encode())
        for variable in self.ensemble.weights:
            digest.update(np.asarray(ops.convert_to_numpy(variable.value)).tobytes())
        return digest.hexdigest()

    def embeddings(self, side: Literal["source", "target"]) -> np.ndarray:
        """The trained embeddings of a side's pieces, float32 [pieces, width], before they are scaled by sqrt(width).

        Loading in half precision rounds them. Tied sides have equal embeddings. An ensemble shows its first model's.
        """
        model = self.models[0]
        layer = model.source_embedding if side == "source" else model.target_embedding
        return np.array(ops.convert_to_numpy(layer.embeddings), np.float32)
