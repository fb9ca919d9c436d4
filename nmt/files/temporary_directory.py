"""The name of the directory for temporary files, where no such directory can be written."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def some_temporary_directory() -> Iterator[None]:
    """Names a directory for temporary files even if no such directory can be written, as in a read-only container.

    TensorFlow and sacrebleu ask for the name while they are imported, and write nothing there.
    """
    try:
        tempfile.gettempdir()
    except OSError:
        tempfile.tempdir = os.sep
        try:
            yield
        finally:
            tempfile.tempdir = None
    else:
        yield
