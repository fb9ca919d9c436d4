"""The functions of `keras.ops` that search uses, over the tensors of Keras and over NumPy arrays.

The arguments decide. Where one of them is a tensor of the Keras backend, Keras computes. Where all of them are NumPy
arrays and numbers, NumPy computes, and Keras is not imported. So one search runs over Keras models and exported models.

Names, arguments and results are as in `keras.ops`: integers are int32, and other numbers are float32. A function that
makes a tensor from a shape takes one more argument, `like`, a tensor of the library that makes the result.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Iterator
from typing import Any
from typing import cast as typed

import numpy as np

from nmt.backend import Tensor

_USUAL = frozenset({np.ndarray, int, float, bool, str, type(None), np.float32, np.int32, np.bool_})
"""Types that are recognised fast: a search asks for the types of thousands of values."""

_OF_NUMPY = (np.ndarray, np.generic, np.dtype, int, float)

_NARROW = {np.dtype("int64"): np.int32, np.dtype("float64"): np.float32}


def is_numpy(*values: Any) -> bool:
    """Whether these values are NumPy arrays, numbers, or tuples, lists and dictionaries of them."""
    for value in values:  # several times as fast as all() with a generator
        if type(value) not in _USUAL and not isinstance(value, _OF_NUMPY) and not _holds_numpy(value):
            return False
    return True


def _holds_numpy(value: Any) -> bool:
    if isinstance(value, dict):
        return is_numpy(*value.values())
    return isinstance(value, (tuple, list)) and is_numpy(*value)


def _of_both(function: Any) -> Callable[..., Any]:
    """The function of `keras.ops` of this name, or `function` where NumPy computes."""

    @functools.wraps(function)
    def chosen(*arguments: Any, like: Any = None, **options: Any) -> Any:
        # Written out, because a search calls these functions a hundred times per step, each for microseconds.
        for value in arguments:
            if type(value) not in _USUAL and not is_numpy(value):
                break
        else:
            if like is None or is_numpy(like):
                result = function(*arguments, **options)
                wide = type(result) is not np.ndarray or result.dtype.itemsize == 8
                return _narrow(result) if wide else result
        import keras

        return getattr(keras.ops, function.__name__)(*arguments, **options)

    return chosen


def _all_of_both(*functions: Any) -> Iterator[Callable[..., Any]]:
    """Such functions from functions of NumPy that have the names and the arguments of `keras.ops`."""
    return map(_of_both, functions)


def _narrow(result: Any) -> Any:
    """The array with numbers of 32 bits instead of 64; a tuple of arrays likewise."""
    if isinstance(result, tuple):
        return tuple(map(_narrow, result))
    dtype = _NARROW.get(result.dtype)
    return result if dtype is None else result.astype(dtype)


def shape(values: Tensor) -> tuple[Any, ...]:
    """The length of each axis; a tensor for a length that is unknown while a program is traced."""
    if is_numpy(values):
        return np.shape(values)
    import keras

    return typed(tuple, keras.ops.shape(values))


def map_structure(function: Callable[..., Any], structure: Any, *others: Any) -> Any:
    """The structure of tuples, lists and dictionaries with the function's results in place of its tensors.

    Args:
        others: structures of the same form; the function gets the tensors at the same place of all of them.
    """
    if isinstance(structure, dict):
        return {
            name: map_structure(function, value, *(other[name] for other in others))
            for name, value in structure.items()
        }
    if not isinstance(structure, (tuple, list)):
        return function(structure, *others)
    mapped = [map_structure(function, *values) for values in zip(structure, *others, strict=True)]
    return type(structure)(*mapped) if hasattr(structure, "_fields") else type(structure)(mapped)


def while_loop(condition: Callable[..., Tensor], body: Callable[..., Any], loop_vars: tuple[Any, ...]) -> Any:
    """Repeats `loop_vars = body(*loop_vars)` while `condition(*loop_vars)` is true."""
    if not is_numpy(loop_vars):
        import keras

        return keras.ops.while_loop(condition, body, loop_vars)
    while condition(*loop_vars):
        loop_vars = body(*loop_vars)
    return loop_vars


def cond(predicate: Tensor, true: Callable[[], Any], false: Callable[[], Any]) -> Any:
    """`true()` or `false()`."""
    if is_numpy(predicate):
        return true() if predicate else false()
    import keras

    return keras.ops.cond(predicate, true, false)


def convert_to_numpy(values: Tensor) -> np.ndarray:
    """The tensor as a NumPy array."""
    if is_numpy(values):
        return np.asarray(values)
    import keras

    return typed(np.ndarray, keras.ops.convert_to_numpy(values))


zeros, zeros_like, ones_like, full, arange = _all_of_both(np.zeros, np.zeros_like, np.ones_like, np.full, np.arange)
broadcast_to, transpose = _all_of_both(np.broadcast_to, np.transpose)
repeat, tile, pad, stack, concatenate = _all_of_both(np.repeat, np.tile, np.pad, np.stack, np.concatenate)
take, take_along_axis, searchsorted = _all_of_both(np.take, np.take_along_axis, np.searchsorted)
where = _of_both(np.where)
logical_and, logical_or, logical_not = _all_of_both(np.logical_and, np.logical_or, np.logical_not)
bitwise_and, bitwise_xor, right_shift = _all_of_both(np.bitwise_and, np.bitwise_xor, np.right_shift)
maximum, minimum, clip = _all_of_both(np.maximum, np.minimum, np.clip)
exp, expm1, log, log1p, matmul = _all_of_both(np.exp, np.expm1, np.log, np.log1p, np.matmul)
mean, cumsum, argmax, sort = _all_of_both(np.mean, np.cumsum, np.argmax, np.sort)


# NumPy's functions of these names take longer to choose what to call than the call takes.


@_of_both
def reshape(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(values).reshape(shape)


@_of_both
def nonzero(values: np.ndarray) -> tuple[np.ndarray, ...]:
    return values.nonzero()


@_of_both
def sum(values: np.ndarray, axis: Any = None, **options: Any) -> np.ndarray:
    found: np.ndarray = np.add.reduce(values, axis, **options)
    return found


@_of_both
def max(values: np.ndarray, axis: Any = None, **options: Any) -> np.ndarray:
    found: np.ndarray = np.maximum.reduce(values, axis, **options)
    return found


@_of_both
def min(values: np.ndarray, axis: Any = None, **options: Any) -> np.ndarray:
    found: np.ndarray = np.minimum.reduce(values, axis, **options)
    return found


@_of_both
def any(values: np.ndarray, axis: Any = None, **options: Any) -> np.ndarray:
    found: np.ndarray = np.logical_or.reduce(values, axis, **options)
    return found


@_of_both
def convert_to_tensor(values: Any, dtype: Any = None) -> np.ndarray:
    return np.asarray(values, dtype)


@_of_both
def cast(values: np.ndarray, dtype: Any) -> np.ndarray:
    return np.asarray(values).astype(dtype, copy=False)


@_of_both
def argsort(values: np.ndarray, axis: int = -1) -> np.ndarray:
    return np.argsort(values, axis, kind="stable")


@_of_both
def softmax(values: np.ndarray, axis: int = -1) -> np.ndarray:
    shares = np.exp(values - np.max(values, axis, keepdims=True))
    return shares / np.sum(shares, axis, keepdims=True)


@_of_both
def log_softmax(values: np.ndarray, axis: int = -1) -> np.ndarray:
    shifted = values - np.max(values, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


@_of_both
def logsumexp(values: np.ndarray, axis: int = -1, keepdims: bool = False) -> np.ndarray:
    greatest = np.maximum.reduce(values, axis, keepdims=True)
    shares = values - greatest
    found = np.log(np.add.reduce(np.exp(shares, out=shares), axis, keepdims=True)) + greatest
    return found if keepdims else np.squeeze(found, axis)


@_of_both
def top_k(values: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The first of equal values comes first."""
    rows = values.reshape(-1, values.shape[-1])
    order = np.argmax(rows, -1)[:, None] if k == 1 else _greatest(rows, k)
    found, shape = rows[np.arange(len(rows))[:, None], order], (*values.shape[:-1], k)
    return found.reshape(shape), order.astype(np.int32).reshape(shape)


_FEW = 1000
"""Values that are sorted as quickly as the greatest ones are found."""

_GROUPS = 80
"""The least number of groups of values, whose maxima bound the greatest values."""

_MANY = 8
"""If more candidates than this, times k, reach the bound, many values are equal."""


def _greatest(rows: np.ndarray, k: int) -> np.ndarray:
    """The columns of the k greatest values of each row, in descending order, the first of equal values first."""
    if rows.size <= _FEW or 2 * k > rows.shape[1]:
        return np.argsort(-rows, -1, kind="stable")[:, :k]
    bounds = _bounds(rows, k)
    if np.isnan(bounds).any():
        return np.argsort(-rows, -1, kind="stable")[:, :k]
    candidates = np.flatnonzero(rows >= bounds)
    if len(candidates) > _MANY * k * len(rows):
        candidates = _first_candidates(rows, bounds, k)
    row = candidates // rows.shape[1]
    order = np.lexsort((-rows.reshape(-1)[candidates], row))
    first = np.searchsorted(row, np.arange(len(rows)))  # candidate of each row
    return candidates[order[first[:, None] + np.arange(k)]] % rows.shape[1]


def _bounds(rows: np.ndarray, k: int) -> np.ndarray:
    """A value of each row that at least k values reach, [rows, 1]: the k-th greatest maximum of a group of values."""
    groups = builtins.min(builtins.max(_GROUPS, 2 * k), rows.shape[1])
    size = rows.shape[1] // groups
    # A group has every n-th value, so that NumPy compares whole groups of columns.
    maxima = np.maximum.reduce(rows[:, : groups * size].reshape(len(rows), size, groups), 1)
    return np.partition(maxima, -k, -1)[:, -k, None]


def _first_candidates(rows: np.ndarray, bounds: np.ndarray, k: int) -> np.ndarray:
    """Flat indices of the values of each row above its bound, and of the first k at its bound, in ascending order."""
    width = rows.shape[1]
    equal = [np.flatnonzero(row == bounds[at])[:k] + width * at for at, row in enumerate(rows)]
    return np.sort(np.concatenate([np.flatnonzero(rows > bounds), *equal]))


@_of_both
def segment_sum(data: np.ndarray, segment_ids: np.ndarray, num_segments: int) -> np.ndarray:
    sums = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    np.add.at(sums, segment_ids, data)
    return sums


@_of_both
def segment_max(data: np.ndarray, segment_ids: np.ndarray, num_segments: int) -> np.ndarray:
    """Segments without data have -inf here, and the least number of the type with some backends."""
    greatest = np.full((num_segments, *data.shape[1:]), -np.inf, data.dtype)
    np.maximum.at(greatest, segment_ids, data)
    return greatest
