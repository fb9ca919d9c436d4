"""The differences between Keras backends: compiling, the machine, precision, small operations, random numbers."""

from typing import Any

Tensor = Any
"""A tensor of the Keras backend in use."""
