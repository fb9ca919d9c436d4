"""A corpus that `nmt prepare` makes: its settings, its making, its files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from nmt.config import PairsConfig, RunConfig, config_from_dict
from nmt.training.preparation.shards.parts import PLAIN, Part
from nmt.training.preparation.shards.preparing import prepare_corpus

SOURCES = [f"w{n % 7} w{n % 11} w{n % 13} x{n}" for n in range(300)]


def settings(**changes: object) -> RunConfig:
    fields: dict[str, object] = {
        "corpus": {"held_out": 5, "near_duplicates": "keep"},
        "vocabulary": {"type": "char", "size": 60},
    }
    return config_from_dict(RunConfig, fields | changes)


def files_of(directory: Path) -> dict[str, str]:
    """The digests of all files, without the states of the input files."""
    paths = (path for path in directory.rglob("*") if path.is_file() and path.name != "inputs.json")
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def made(directory: Path, text: PairsConfig, processes: int = 1, **changes: object) -> list[str]:
    """Prepares a corpus, and returns the lines."""
    lines: list[str] = []
    prepare_corpus(directory, settings(**changes), [Part(PLAIN, text)], processes, lines.append)
    return lines


def flipped(content: bytes) -> bytes:
    """The content with another bit in its middle."""
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
