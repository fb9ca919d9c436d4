"""SHA-256 digests of files."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import BinaryIO


def digest_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return digest(file)


def digest(file: BinaryIO, length: int = sys.maxsize, tail: bytes = b"") -> str:
    """SHA-256 of the next `length` bytes of an open file, all by default, and of `tail` after them, in hexadecimal."""
    found = hashlib.sha256()
    while block := file.read(min(length, 2**20)):
        found.update(block)
        length -= len(block)
    found.update(tail)
    return found.hexdigest()
