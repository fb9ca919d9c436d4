"""Building a model, with one line for a machine whose memory cannot hold it."""

from __future__ import annotations

import math
import random
from concurrent.futures import ThreadPoolExecutor

import keras

from nmt.config import ModelConfig
from nmt.errors import NmtError
from nmt.network.model import Seq2Seq
from nmt.network.weights import stable_names


def build_model(
    config: ModelConfig, source_size: int, target_size: int, seed: int = 0, dtype: str = "float32"
) -> Seq2Seq:
    """A built `Seq2Seq` with these arguments.

    Raises:
        NmtError: the memory cannot hold the weights; the message says how much they need.
    """
    try:
        model = Seq2Seq(config, source_size, target_size, seed, dtype)
        model.build()
        return model
    except Exception as error:  # each backend has an error of its own
        if not _is_out_of_memory(error):
            raise
    parameters = count_parameters(config, source_size, target_size)
    size = 2 if dtype in ("float16", "bfloat16") else 4
    raise NmtError(
        f"out of memory: the model has {parameters:,} parameters, {size * parameters / 2**30:.1f} GiB for one copy of "
        "them, and training keeps several: choose smaller model.units, model.embedding or layers, or a smaller "
        "vocabulary"
    )


def count_parameters(config: ModelConfig, source_size: int, target_size: int) -> int:
    """The number of trained weights of a model, from their shapes alone."""
    return sum(map(math.prod, weight_shapes(config, source_size, target_size).values()))


def weight_shapes(config: ModelConfig, source_size: int, target_size: int) -> dict[str, tuple[int, ...]]:
    """The shape of each trained weight of a model, by path; no weight is allocated."""

    def shapes() -> dict[str, tuple[int, ...]]:
        with keras.StatelessScope(initialize_variables=False):
            model = Seq2Seq(config, source_size, target_size)
            model.build()
        variables = model.trainable_variables
        names = stable_names(variable.path for variable in variables)
        return {name: tuple(variable.shape) for name, variable in zip(names, variables, strict=True)}

    state = random.getstate()  # Keras draws the seeds of initializers from Python's generator
    try:
        # Keras has a list of variables without values for each thread. The next scope of a thread initializes its list.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(shapes).result()
    finally:
        random.setstate(state)


def _is_out_of_memory(error: Exception) -> bool:
    names = ("ResourceExhaustedError", "RESOURCE_EXHAUSTED")
    return isinstance(error, MemoryError) or any(name in f"{type(error).__name__} {error}" for name in names)
