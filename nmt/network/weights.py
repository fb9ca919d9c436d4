"""Values of variables as named arrays, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from nmt.errors import NmtError

Shape = tuple[int, ...]


MODEL = "seq2seq"
"""The first part of the names of a model's weights."""


class WeightsError(NmtError):
    """Saved arrays that do not fit the variables of a model or an optimizer."""


def variables_to_arrays(variables: list[Any]) -> dict[str, np.ndarray]:
    """Values of Keras variables by name, such as `seq2seq/decoder/state_kernel`; see `stable_names`."""
    from keras.ops import convert_to_numpy  # here, so that the names of arrays can be read without Keras

    names = stable_names(variable.path for variable in variables)
    return {name: convert_to_numpy(variable.value) for name, variable in zip(names, variables, strict=True)}


def assign_arrays(variables: list[Any], arrays: Mapping[str, np.ndarray], where: str) -> None:
    """Gives each variable the array of its name, and changes no variable if one array does not fit.

    Args:
        arrays: from `variables_to_arrays` or from a file; see `named_arrays`.
        where: the source of the arrays, for messages.

    Raises:
        WeightsError: a variable without an array, an array without a variable, or an array of another shape.
    """
    arrays = named_arrays(arrays)
    by_name = dict(zip(stable_names(variable.path for variable in variables), variables, strict=True))
    expected = {name: tuple(variable.shape) for name, variable in by_name.items()}
    require_shapes({name: array.shape for name, array in arrays.items()}, expected, where)
    for name, variable in by_name.items():
        variable.assign(arrays[name])


def require_shapes(found: Mapping[str, Shape], expected: Mapping[str, Shape], where: str) -> None:
    """Refuses arrays that are not exactly the weights of a model.

    Args:
        found: shapes of the arrays, by the names that `variables_to_arrays` gives.
        expected: shapes of the weights of the model.
        where: the source of the arrays, for messages.

    Raises:
        WeightsError: a weight without an array, an array without a weight, or an array of another shape.
    """
    advice = "weights, vocabulary and config.json belong to different runs"
    if missing := [name for name in expected if name not in found]:
        raise WeightsError(f"{where}: has no array {missing[0]}, which the model needs: {advice}")
    if extra := [name for name in found if name not in expected]:
        raise WeightsError(f"{where}: has an array {extra[0]}, which the model does not have: {advice}")
    for name, shape in expected.items():
        if shape != found[name]:
            shapes = f"{found[name]}; the model needs {shape}"
            raise WeightsError(f"{where}: {name} has shape {shapes}: {advice}")


def named_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Saved arrays by the names that `variables_to_arrays` gives today.

    Version 0.1 put the index of the variable before its path: `0003/seq2seq/decoder/state_kernel`.
    """
    return dict(zip(stable_names(re.sub(r"^\d{4,}/", "", name) for name in arrays), arrays.values(), strict=True))


def stable_names(paths: Iterable[str]) -> list[str]:
    """Names of variables that do not change from process to process.

    Keras counts the objects that were given no name: the second `Adam` in a process is `adam_1`, and each model's
    generators of random seeds continue the count. Here the count starts anew with each list of paths.

    Raises:
        ValueError: two variables have one path.
    """
    paths = list(paths)
    counts: dict[str, list[int]] = {}
    for stem, count in {_root(path) for path in paths}:
        counts.setdefault(stem, []).append(count)
    names = []
    for path in paths:
        stem, count = _root(path)
        rank = sorted(counts[stem]).index(count)
        _, slash, rest = path.partition("/")
        names.append(f"{stem}_{rank}{slash}{rest}" if rank else f"{stem}{slash}{rest}")
    if len(set(names)) < len(names):
        raise ValueError(f"two variables have one path, among {sorted(names)}")
    return names


def _root(path: str) -> tuple[str, int]:
    """The first part of a variable's path, as a name and Keras's count: `adam_1/iteration` gives ("adam", 1)."""
    root = path.partition("/")[0]
    stem, _, count = root.rpartition("_")
    return (stem, int(count)) if stem and count.isdecimal() else (root, 0)
