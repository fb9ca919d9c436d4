"""What the backends can do: one compiled program of a function, determinism."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any

import keras

from nmt.errors import NmtError


class BackendError(NmtError):
    """Something that this backend cannot do."""


def compile_function(function: Callable[..., Any], variables: Sequence[keras.Variable] = ()) -> Callable[..., Any]:
    """`function` of arrays or tensors as one compiled program; on TensorFlow one trace serves every shape, so the
    function finds no axis known.

    Args:
        function: what it reads of variables it finds as they are when it is called, if they are among `variables`; it
            may assign to none.
        variables: read once a call, and not in its loops.
    """
    if keras.backend.backend() == "tensorflow":

        def run(*arguments: Any) -> Any:
            with snapshot(variables):
                return function(*arguments)

        return _traced_once(run)
    if keras.backend.backend() == "jax":
        return _with_values(function, variables)
    raise BackendError(f"the Keras backend is {keras.backend.backend()}: expected tensorflow or jax")


def _with_values(function: Callable[..., Any], variables: Sequence[keras.Variable]) -> Callable[..., Any]:
    """A JAX function that is given the variables' values at each call; those of others stay as they were at the first
    one of each shape, part of the program."""
    import jax

    @jax.jit
    def run(values: Sequence[Any], *arguments: Any) -> Any:
        with keras.StatelessScope(list(zip(variables, values, strict=True))):
            return function(*arguments)

    return lambda *arguments: run([variable.value for variable in variables], *arguments)


def _traced_once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A TensorFlow function that is traced for any shape before it first runs. Left alone, TensorFlow traces the first
    arguments as they are and the second anew, a second or more each for a search."""
    import tensorflow as tf

    # Without AutoGraph: control flow is in keras.ops, and a trace must not depend on the source file's later edits.
    compiled = tf.function(function, reduce_retracing=True, autograph=False)
    tracing = Lock()  # of several batches at once the first one traces

    def of_any_shape(values: Any) -> Any:
        return tf.TensorSpec([None] * len(values.shape), values.dtype)

    def call(*arguments: Any) -> Any:
        with tracing:
            if not compiled.experimental_get_tracing_count():
                compiled.get_concrete_function(*tf.nest.map_structure(of_any_shape, arguments))
        return compiled(*arguments)

    return call


def snapshot(variables: Iterable[keras.Variable]) -> keras.StatelessScope:
    """On TensorFlow: a scope in which each of these variables is a tensor that was read before it. Else it would be
    read at each step of a loop, and what is made of it alone, its cast above all, made for each of several that use
    it."""
    import tensorflow as tf

    return keras.StatelessScope([(variable, tf.identity(variable.value)) for variable in variables])


def dynamic_shapes() -> bool:
    """Whether a compiled program takes tensors whose shape depends on values."""
    return bool(keras.backend.backend() == "tensorflow")


def rounds_products() -> bool:
    """Whether a product in half precision is rounded just where the program says so; XLA may leave that out."""
    return bool(keras.backend.backend() == "tensorflow")


def batch_shapes(wanted: int) -> int:
    """How many shapes batches may have, 0 for any: what is wanted, else 24 on JAX, which compiles for each of them."""
    return wanted or (24 if keras.backend.backend() == "jax" else 0)


def set_determinism(seed: int, deterministic: bool) -> None:
    """Seeds Keras, NumPy and Python; `deterministic` asks TensorFlow for operations that repeat to the bit."""
    keras.utils.set_random_seed(seed)
    if deterministic and keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
