"""Named arrays in .npz files, written whole or not at all; nothing is unpickled."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Saves named arrays to an .npz file, whole or not at all."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_atomically(path, buffer.getvalue())


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads what `save_arrays` wrote; never unpickles.

    Raises:
        RunError: no such file, or not one of ours.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            return dict(arrays)
    except FileNotFoundError:
        raise RunError(f"{path}: no such file") from None
    except (ValueError, TypeError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile):
        raise RunError(f"{path}: damaged, or not a file of weights") from None
