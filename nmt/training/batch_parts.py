"""A batch in parts that are computed at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras

from nmt.text.pieces import PAD

Inputs = Sequence[Any]
"""The tensors of a `Batch`, or of a `GuidedBatch` and the weight of its attention loss."""


def split_batch(inputs: Inputs, count: int) -> list[list[Any]]:
    """Splits a batch into `count` parts whose numbers of sentences differ by one at most.

    Each part is cut to its own longest sentences. A part may be empty.
    """
    if count == 1:
        return [list(inputs)]
    rows, parts = keras.ops.shape(inputs[0])[0], []
    for index in range(count):
        own = slice(rows * index // count, rows * (index + 1) // count)
        source, target_in, target_out, *guide = inputs
        positions, steps = (slice(_longest(ids[own])) for ids in (source, target_out))
        if guide:
            links, weight = guide
            guide = [links[own, steps, positions], weight]
        parts.append([source[own, positions], target_in[own, steps], target_out[own, steps], *guide])
    return parts


def _longest(ids: Any) -> Any:
    """The length of the longest row without padding, int32; 1 if there are no rows or all are empty."""
    return keras.ops.max(keras.ops.sum(keras.ops.cast(ids != PAD, "int32"), axis=1), initial=1)
