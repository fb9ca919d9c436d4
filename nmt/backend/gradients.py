"""Functions that bring a gradient function of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nmt.backend import Tensor
from nmt.backend.capabilities import on_tensorflow


def with_gradient(forward: Callable[..., tuple[Any, Callable[..., Any]]], *values: Tensor) -> Any:
    """The result of `forward(*values)`, differentiated by the gradient function that `forward` returns beside it.

    JAX ignores the gradient function and differentiates `forward` itself: its compiler reaches the same speed, and
    its custom gradients may not read tensors other than their arguments.

    Args:
        forward: returns its result, and a function from the gradient of the result to the gradients of the values.
    """
    if on_tensorflow(*values):
        import tensorflow as tf

        # As tensors, because tf.custom_gradient treats variables among the arguments apart from the other arguments.
        return tf.custom_gradient(forward)(*map(tf.convert_to_tensor, values))
    return forward(*values)[0]
