"""The files with which an interrupted preparation goes on: values as JSON, with a sum of their own."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nmt.errors import NmtError
from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file

REPEAT = "delete it and repeat the command"
"""The remedy for a damaged file that the command can make again."""


def save_values(path: Path, values: Any) -> None:
    """Writes values as JSON."""
    write_atomically(path, _as_json({"sum": _sum_of(values), "values": values}))


def load_values(path: Path, advice: str = REPEAT) -> Any:
    """Inverse of `save_values`.

    Args:
        advice: the remedy for a damaged file, for the message.

    Raises:
        NmtError: the file is missing or damaged.
    """
    try:
        found = json.loads(path.read_bytes())
        if found["sum"] != _sum_of(found["values"]):
            raise ValueError("not the content that was written")
        return found["values"]
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        raise NmtError(f"{path}: damaged or missing: {advice}") from None


def require_sum(path: Path, expected: str, advice: str) -> None:
    """Compares a file with its SHA-256.

    Raises:
        NmtError: the file is missing or damaged.
    """
    try:
        whole = digest_file(path) == expected
    except FileNotFoundError:
        whole = False
    if not whole:
        raise NmtError(f"{path}: damaged or missing: {advice}")


def sum_of_bytes(*parts: bytes) -> str:
    """The SHA-256 of parts of a file."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()


def _sum_of(values: Any) -> str:
    return hashlib.sha256(_as_json(values)).hexdigest()


def _as_json(values: Any) -> bytes:
    return json.dumps(values, ensure_ascii=False, sort_keys=True).encode(errors="backslashreplace")
