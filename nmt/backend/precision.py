"""The precision that pays on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np

from nmt.backend.compiling import compile_function
from nmt.config import Precision


def decide_precision(wanted: Precision) -> Precision:
    """The Keras policy that `auto` means on this hardware.

    bfloat16 where it is multiplied natively and faster: by CPUs with AVX512-BF16 or AMX where a trial says so, by GPUs
    of compute capability 8 and later. On older GPUs float16 with loss scaling, on other CPUs float32.
    """
    if wanted != "auto":
        return wanted
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
    """Whether products in bfloat16 pay: some processors that have the instructions run them at half of float32's speed,
    so it is tried, for a moment, where the processor says that it has them."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux
        return False
    if "avx512_bf16" not in flags and "amx_bf16" not in flags:
        return False
    half, full = _product_seconds("bfloat16", "float32")
    return half < 0.8 * full


def _product_seconds(*dtypes: str) -> list[float]:
    """Seconds of processor time that a matrix product of a training step takes in each of these types, the best of
    several, which take turns: other work on the machine must not decide."""
    products = [_product(dtype) for dtype in dtypes]
    seconds = np.empty((10, len(products)))
    for each in seconds:
        for place, product in enumerate(products):
            started = time.process_time()
            product()
            each[place] = time.process_time() - started
    return seconds.min(axis=0).tolist()


def _product(dtype: str) -> Callable[[], float]:
    random = np.random.default_rng(0)
    shapes = (256, 1024), (1024, 1024)
    left, right = (keras.ops.convert_to_tensor(random.random(shape, np.float32) - 0.5, dtype) for shape in shapes)
    # A number that needs the whole product; fetching it waits for backends that compute behind our back.
    greatest = compile_function(
        lambda left, right: keras.ops.max(keras.ops.cast(keras.ops.matmul(left, right), "float32"))
    )
    return lambda: float(greatest(left, right))
