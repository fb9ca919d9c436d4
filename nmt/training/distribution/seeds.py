"""Dropout masks that differ between replicas."""

from __future__ import annotations

from typing import Any

import numpy as np
from keras import ops

FACTOR = 0x9E3779B9
"""2^32 divided by the golden ratio: its multiples are far from each other and from small seeds."""


def replica_seed(state: Any, replica: Any) -> Any:
    """The state of a random generator for one replica.

    Every replica saves the same states. Replica 0 draws from the states as they are.

    Args:
        state: of a `keras.random.SeedGenerator`: seed and counter, [2].
        replica: number of the replica, an integer scalar.
    """
    return state + _offset(state, replica)


def common_seed(state: Any, replica: Any) -> Any:
    """Inverse of `replica_seed`. The draws between both have moved the counter alone."""
    return state - _offset(state, replica)


def _offset(state: Any, replica: Any) -> Any:
    return ops.convert_to_tensor(np.array([FACTOR, 0]), dtype=state.dtype) * ops.cast(replica, state.dtype)
