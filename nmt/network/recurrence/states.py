"""Helpers for states that are stacked over the steps of a recurrence."""

from __future__ import annotations

from keras import ops

from nmt.backend import Tensor


def previous_states(states: Tensor, first: Tensor) -> Tensor:
    """The state before each step.

    Args:
        states: state after each step, [steps, batch, width].
        first: state before the first step, [batch, width].

    Returns:
        [steps, batch, width].
    """
    return ops.concatenate([first[None], states[:-1]], axis=0)
