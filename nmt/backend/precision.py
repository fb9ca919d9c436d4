"""The fastest precision of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

from nmt.backend.compiling import compile_function
from nmt.config import Precision


def decide_precision(setting: Precision) -> Precision:
    """Replaces `auto` by a Keras policy that suits this hardware.

    * bfloat16 on GPUs of compute capability 8 or later, and on CPUs with AVX512-BF16 or AMX that multiply it faster;
    * float16 with loss scaling on older GPUs; JAX does not report the capability, so every GPU has bfloat16 there;
    * float32 on other CPUs.
    """
    if setting != "auto":
        return setting
    if keras.backend.backend() == "jax":
        import jax

        native = jax.default_backend() == "gpu" or _cpu_multiplies_bfloat16()
        return "mixed_bfloat16" if native else "float32"
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return "mixed_bfloat16" if _cpu_multiplies_bfloat16() else "float32"
    capability = tf.config.experimental.get_device_details(gpus[0]).get("compute_capability", (0, 0))
    return "mixed_bfloat16" if capability >= (8, 0) else "mixed_float16"


def _cpu_multiplies_bfloat16() -> bool:
    """Whether this CPU has instructions for bfloat16, and they are faster than float32 in a short measurement.

    Some CPUs have the instructions and run them at half the speed of float32.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return False
    if "avx512_bf16" not in flags and "amx_bf16" not in flags:
        return False
    half, full = _product_seconds("bfloat16", "float32")
    return half < 0.8 * full


def _product_seconds(*dtypes: str) -> list[float]:
    """Seconds of processor time that a typical matrix product takes in each of these types.

    The best of ten measurements, with the types alternating, so that other work on the machine does not decide.
    """
    products = [_product(dtype) for dtype in dtypes]
    seconds = np.empty((10, len(products)))
    for row in seconds:
        for index, product in enumerate(products):
            started = time.process_time()
            product()
            row[index] = time.process_time() - started
    return seconds.min(axis=0).tolist()


def _product(dtype: str) -> Callable[[], float]:
    """A function that computes one matrix product, of the size that a training step has."""
    random = np.random.default_rng(0)
    shapes = (256, 1024), (1024, 1024)
    left, right = (keras.ops.convert_to_tensor(random.random(shape, np.float32) - 0.5, dtype) for shape in shapes)
    # The maximum needs the whole product, and reading it waits for backends that compute asynchronously.
    maximum = compile_function(
        lambda left, right: keras.ops.max(keras.ops.cast(keras.ops.matmul(left, right), "float32"))
    )
    return lambda: float(maximum(left, right))
