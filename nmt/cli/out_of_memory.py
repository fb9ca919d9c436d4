"""Errors of a machine or a process that has too little memory. Each library raises another error."""

from __future__ import annotations

import errno

OUT_OF_MEMORY = (
    "not enough memory: give smaller batches (batch_tokens), shorter lines, or more memory to the process (ulimit -v)"
)
"""The message for users."""

_TEXTS = ("resource_exhausted", "resourceexhausted", "cannot allocate memory", "failed to map segment", "out of memory")
"""Parts of the messages of TensorFlow, JAX and the dynamic linker, in lower case."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, or the error that caused it, reports too little memory."""
    if isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError":
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, ImportError | RuntimeError | SystemError):
        text = str(error).lower()
        if any(part in text for part in _TEXTS):
            return True
    return error.__cause__ is not None and is_out_of_memory(error.__cause__)
