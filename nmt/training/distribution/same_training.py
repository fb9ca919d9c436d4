"""The check that all workers are about to do the same training."""

from __future__ import annotations

import json
import zlib
from typing import Any

from nmt.config import RunConfig, config_to_dict
from nmt.training.distribution.replicas import Replicas
from nmt.training.errors import TrainingError

OWN = ("devices", "log_every", "live_view")
"""Settings of `training` in which workers may differ."""


def require_same_training(replicas: Replicas, config: RunConfig, figures: tuple[Any, ...], step: int) -> None:
    """Compares settings, batches and checkpoint with those of the chief.

    Args:
        replicas: of this worker.
        config: settings of the run.
        figures: of the plan of an epoch: number of batches, padding, largest batch.
        step: step of the checkpoint; 0: none.

    Raises:
        TrainingError: they differ.
    """
    if not replicas.cluster.several:
        return
    fields = config_to_dict(config)
    training = {name: value for name, value in fields["training"].items() if name not in OWN}
    settings = json.dumps([fields["model"], training], sort_keys=True).encode()
    own = {
        "settings": zlib.crc32(settings) >> 1,  # 31 bits
        "batches": zlib.crc32(repr(figures).encode()) >> 1,
        "checkpoint": step,
    }
    chief = dict(zip(own, replicas.agree(*own.values()), strict=True))
    if different := [name for name in own if own[name] != chief[name]]:
        raise TrainingError(
            f"{replicas.cluster} has other {' and '.join(different)} than worker 0: all workers need the same command, "
            "and one run directory on storage that they share"
        )
