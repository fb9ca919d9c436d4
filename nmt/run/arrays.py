"""Named arrays in .npz files, written atomically and read without unpickling."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nmt.files.atomic_writing import write_atomically
from nmt.run.errors import RunError

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""Readers of the .npy header by its version."""


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Saves named arrays to an .npz file; after an error the old file is still there."""
    write_atomically(path, packed_arrays(arrays))


def packed_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    """The content of an .npz file of named arrays. Equal arrays give equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def load_arrays(path: Path) -> dict[str, np.ndarray]:
    """Reads an .npz file that `save_arrays` wrote, without unpickling.

    Raises:
        RunError: the file is missing, unreadable, damaged, or not a file of arrays.
    """
    try:
        with open(path, "rb") as file:
            return read_arrays(file, path)
    except FileNotFoundError:
        raise RunError(f"{path}: no such file") from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None


def read_arrays(file: BinaryIO, path: Path) -> dict[str, np.ndarray]:
    """Reads an open .npz file, without unpickling.

    Damage to an array is found, because zip's checksum of an array covers the array's header too. The memory in use
    depends on the size of the file, and not on the sizes in its headers.

    Raises:
        RunError: the file is damaged, or not a file of arrays; the message names `path`.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return {name: _read_array(archive, member) for name, member in _members(archive, file).items()}
    except Exception:  # the parsers of zip and .npy raise errors of a dozen kinds for damaged bytes
        raise RunError(f"{path}: damaged, or not a file of weights") from None


def load_array(path: Path, name: str) -> np.ndarray:
    """One array of an .npz file; the other arrays are not read.

    Raises:
        RunError: the file has no such array, or is none that `load_arrays` reads.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_array(archive, archive.getinfo(f"{name}.npy"))
    except Exception:  # see read_arrays
        raise RunError(f"{path}: has no array {name}, or is damaged") from None


def read_shapes(file: BinaryIO) -> dict[str, tuple[int, ...]]:
    """The shape of each array of an .npz file, from the headers alone; empty for a file without readable headers.

    Like `read_arrays` it needs no more memory than the size of the file, and refuses compressed arrays.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return {name: _read_shape(archive, member) for name, member in _members(archive, file).items()}
    except Exception:  # see read_arrays
        return {}


def _members(archive: zipfile.ZipFile, file: BinaryIO) -> dict[str, zipfile.ZipInfo]:
    """The members of an .npz file, by the names of their arrays.

    Raises:
        ValueError: a member is compressed (a small file could claim a huge array), members overlap, or two have one
            name.
    """
    members = archive.infolist()
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise ValueError("compressed")
    if sum(member.file_size for member in members) > file.seek(0, io.SEEK_END):
        raise ValueError("arrays overlap in the file")
    by_name = {member.filename.removesuffix(".npy"): member for member in members}
    if len(by_name) < len(members):
        raise ValueError("two arrays have one name")
    return by_name


def _read_shape(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[int, ...]:
    with archive.open(member) as stream:
        shape, _, _ = _HEADERS[np.lib.format.read_magic(stream)](stream)
        return shape


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """One array of an archive.

    Raises:
        ValueError: the member is compressed (a small file could claim a huge array), or is no array of plain values.
    """
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("compressed")
    content = archive.read(member)  # to its end, where zipfile compares the checksum
    stream = io.BytesIO(content)
    shape, fortran_order, dtype = _HEADERS[np.lib.format.read_magic(stream)](stream)
    values = content[stream.tell() :]
    if dtype.hasobject or len(values) != math.prod(shape) * dtype.itemsize:
        raise ValueError("not the values that its header announces")
    if not values:
        return np.zeros(shape, dtype)
    return np.frombuffer(values, dtype).reshape(shape, order="F" if fortran_order else "C").copy()
