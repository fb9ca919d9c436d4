"""Random seeds, and operations that repeat to the bit."""

from __future__ import annotations

import keras


def set_determinism(seed: int, deterministic: bool) -> None:
    """Seeds Keras, NumPy and Python; `deterministic` makes TensorFlow use only operations that repeat to the bit."""
    keras.utils.set_random_seed(seed)
    if deterministic and keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.experimental.enable_op_determinism()
