"""Text files for tests."""

from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest

from nmt.config import PairsConfig


def files(folder: Path, **contents: bytes) -> dict[str, str]:
    """Writes a file for each name, compressed if the name ends in gz; returns the paths by name."""
    for name, content in contents.items():
        (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return {name: str(folder / name) for name in contents}


def parallel(folder: Path, source: bytes, target: bytes, **more: bytes) -> PairsConfig:
    """Writes line-parallel files."""
    return PairsConfig(**files(folder, source=source, target=target, **more))


def standard_input(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Standard input with this content; the locale's encoding is not UTF-8."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="ascii"))
