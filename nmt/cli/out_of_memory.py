"""Errors of a machine or a process that has too little memory. Each library raises another error."""

from __future__ import annotations

import errno

from nmt.errors import NmtError

OUT_OF_MEMORY = (
    "not enough memory: give smaller batches (batch_tokens), shorter lines, or more memory to the process (ulimit -v)"
)
"""The message for users."""

_TEXTS = ("resource_exhausted", "resourceexhausted", "cannot allocate memory", "failed to map segment", "out of memory")
"""Parts of the messages of TensorFlow, JAX and the dynamic linker, in lower case."""

LEAST_ADDRESS_SPACE = 1900 * 2**20
"""Bytes of address space that TensorFlow and a small model need. With less, TensorFlow ends the process in C++."""
TRAINING_ADDRESS_SPACE = 2300 * 2**20
"""Bytes that the training of a small model needs."""


def require_address_space(least: int) -> None:
    """Refuses to load TensorFlow into a process with less address space than this.

    Raises:
        NmtError: with the limit and the fix.
    """
    try:
        import resource
    except ImportError:  # not a Unix
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < least:
        raise NmtError(
            f"not enough memory: this process may use {limit >> 20:,} MiB of address space, and TensorFlow needs at "
            f"least {least >> 20:,}: raise the limit (ulimit -v)"
        )


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
