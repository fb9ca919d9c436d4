"""Checks of saved weights: their sizes against config.json and the vocabularies, and their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from nmt.config import ModelConfig
from nmt.run.errors import RunError

Shape = tuple[int, ...]


def require_numbers(arrays: Mapping[str, np.ndarray], path: Path) -> None:
    """Refuses weights that cannot be computed with.

    Raises:
        RunError: an array has values that are NaN, infinite, or no numbers.
    """
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise RunError(f"{path}: the array {name} has values that are NaN, infinite or no numbers")


def require_configured_sizes(
    shapes: Mapping[str, Shape], path: Path, model: ModelConfig, vocabularies: Mapping[str, tuple[Path, int]]
) -> None:
    """Refuses weights of other sizes than config.json and the vocabularies give. Unknown arrays are not compared.

    Args:
        shapes: shape of each array in the file `path`.
        model: the network in config.json.
        vocabularies: file and number of pieces, by `source` and `target`.

    Raises:
        RunError: a size differs; the message names both files and both sizes.
    """
    found = {re.sub(r"^(\d{4,}/)?[^/]*/", "", name): shape for name, shape in shapes.items()}  # see named_arrays
    for side, (file, pieces) in vocabularies.items():
        rows = _size(found, f"{side}_embedding/embeddings", 0)
        if rows not in (None, pieces):
            raise RunError(f"{file} has {pieces} pieces, {path.name} has {rows}: the files belong to different runs")
    config = path.parent / "config.json" if path.name == "best.npz" else path.parents[1] / "config.json"
    for setting, expected, size in _sizes(found, model):
        if size not in (None, expected):
            raise RunError(
                f"{config} says {setting} {expected}, {path.name} has {size}: the files belong to different runs; "
                f"restore the value {size}, or the weights"
            )


def _sizes(shapes: Mapping[str, Shape], model: ModelConfig) -> Iterator[tuple[str, int, int | None]]:
    """Each setting that decides a size, its value in config.json, and its value in the weights if they show it."""
    yield "model.embedding", model.embedding, _size(shapes, "target_embedding/embeddings", 1)
    if model.architecture != "transformer":
        yield "model.units", model.units, _size(shapes, "decoder/state_kernel", 0)
        yield "model.attention.units", model.attention.units, _size(shapes, "decoder/attention/score/key_bias", 0)
    if model.architecture == "rnn":
        half = _size(shapes, "encoder/layer_1/forward/lstm_cell/recurrent_kernel", 0)
        setting = "model.memory" if model.memory else "model.memory 0, which is"
        yield setting, model.memory_width, half and 2 * half
        yield "model.encoder_layers", model.encoder_layers, _layers(shapes, "encoder")
    else:
        sizes = model.transformer
        yield "model.transformer.feed_forward", sizes.feed_forward, _size(shapes, "encoder/layer_1/hidden/kernel", 1)
        yield "model.transformer.encoder_layers", sizes.encoder_layers, _layers(shapes, "encoder")
    if model.architecture == "transformer":
        yield "model.transformer.decoder_layers", model.transformer.decoder_layers, _layers(shapes, "decoder")
    if model.tie == "none":
        setting = "model.readout" if model.readout else "model.readout 0, which is"
        yield setting, model.readout_width, _size(shapes, "output_kernel", 1)


def _size(shapes: Mapping[str, Shape], name: str, axis: int) -> int | None:
    shape = shapes.get(name, ())
    return shape[axis] if axis < len(shape) else None


def _layers(shapes: Mapping[str, Shape], part: str) -> int | None:
    """The number of layers whose arrays are there; None without any."""
    return len({found[0] for name in shapes if (found := re.match(rf"{part}/layer_\d+/", name))}) or None
