"""The differences between Keras backends: compiling, the machine, precision, tensor operations, random numbers.

Most functions here compute the same as a function of `keras.ops`, and call TensorFlow directly where that is faster.
"""

from typing import Any

Tensor = Any
"""A tensor of the Keras backend in use."""
