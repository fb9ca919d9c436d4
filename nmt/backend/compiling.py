"""Functions as compiled programs, on TensorFlow and on JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from nmt.backend import Tensor
from nmt.backend.errors import BackendError

if TYPE_CHECKING:
    import keras


def compile_function(function: Callable[..., Any], variables: Sequence[keras.Variable] = ()) -> Callable[..., Any]:
    """Compiles a function of arrays or tensors.

    On TensorFlow one trace serves every shape, so the length of each axis is unknown while `function` is traced. On JAX
    each shape gets a program of its own.

    Args:
        function: may read variables and must not assign any.
        variables: the variables that `function` reads. Each call reads their present values once, outside of loops.
            On JAX the values of other variables become constants of the program.

    Raises:
        BackendError: the backend is not TensorFlow or JAX.
    """
    import keras

    if keras.backend.backend() == "tensorflow":

        def run(*arguments: Any) -> Any:
            with snapshot(variables):
                return function(*arguments)

        return _trace_for_any_shape(run)
    if keras.backend.backend() == "jax":
        return _compile_with_jax(function, variables)
    raise BackendError(f"the Keras backend is {keras.backend.backend()}: expected tensorflow or jax")


def snapshot(
    variables: Iterable[keras.Variable], others: Iterable[tuple[keras.Variable, Tensor]] = ()
) -> keras.StatelessScope:
    """On TensorFlow: a scope in which each of these variables is a tensor, read once at the beginning.

    `others` are variables with the value that they have in the scope.

    Without a snapshot TensorFlow reads a variable at each step of a loop. Computations that depend on the variable
    alone, such as its cast to half precision, are then repeated too.
    """
    import keras
    import tensorflow as tf

    return keras.StatelessScope([*((variable, tf.identity(variable.value)) for variable in variables), *others])


def _compile_with_jax(function: Callable[..., Any], variables: Sequence[keras.Variable]) -> Callable[..., Any]:
    """A JAX program that takes the values of the variables as arguments at each call."""
    import jax
    import keras

    @jax.jit
    def run(values: Sequence[Any], *arguments: Any) -> Any:
        with keras.StatelessScope(list(zip(variables, values, strict=True))):
            return function(*arguments)

    return lambda *arguments: run([variable.value for variable in variables], *arguments)


def _trace_for_any_shape(function: Callable[..., Any]) -> Callable[..., Any]:
    """A TensorFlow function that is traced once, for any shape, before its first call.

    By default TensorFlow traces the first shapes as they are, and the second shapes again: a second or more for each
    trace of a search.
    """
    import tensorflow as tf

    # Without AutoGraph: control flow is in keras.ops, and a trace must not depend on the source file's later edits.
    compiled = tf.function(function, reduce_retracing=True, autograph=False)
    tracing = Lock()  # of several threads the first one traces

    def call(*arguments: Any) -> Any:
        with tracing:
            if not compiled.experimental_get_tracing_count():
                compiled.get_concrete_function(*_any_shapes(arguments))
        return compiled(*arguments)

    return call


def _any_shapes(arguments: Any) -> Any:
    """On TensorFlow: the types and ranks of nested arrays or tensors, for a trace that takes any lengths of axes."""
    import tensorflow as tf

    return tf.nest.map_structure(lambda values: tf.TensorSpec([None] * len(values.shape), values.dtype), arguments)
