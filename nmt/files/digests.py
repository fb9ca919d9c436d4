"""SHA-256 digests of files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO


def digest_file(path: str | Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return digest(file)


def digest(file: BinaryIO) -> str:
    """SHA-256 of an open file's remaining bytes, in hexadecimal."""
    found = hashlib.sha256()
    while block := file.read(2**20):
        found.update(block)
    return found.hexdigest()
