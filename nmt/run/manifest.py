"""manifest.json: the SHA-256 of the files that a run is loaded from. Checkpoints carry sums of their own.

Training replaces files, and it may be killed between any two writes. So the manifest comes first: it lists the sum of
the new file beside the sum of the old one. Then the file is replaced, and the manifest forgets the old sum. At each of
these points the file has one of the listed sums.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any

from nmt.config import RunConfig, config_to_dict
from nmt.files.atomic_writing import write_atomically
from nmt.files.digests import digest_file
from nmt.files.locking import locked
from nmt.run.errors import RunError
from nmt.run.inside import require_inside
from nmt.run.resuming import may_change

MANIFEST = "manifest.json"

VOCABULARIES = ("shared.model", "source.model", "target.model")

NETWORK = ("export.json", "encoder.onnx", "step.onnx")
"""The network of an export, see `exported`."""

FOREIGN = ("ctranslate2", "savedmodel")
"""Formats of exports that other programs compute with; their files are in a folder of this name."""

LISTED = (
    *("config.json", *VOCABULARIES, "best.npz", "shortlist.npz", "aligner.npz", "profile.json", *NETWORK),
    *("source.words", "target.words", "cells.npz", "weights.npz"),  # of an aligner
)
"""The files with a sum; in a directory those of corpus/ and of the folders in `FOREIGN` too. A run has some of them."""

_FORMAT = 1
_LONGEST = 2**20
"""Bytes of the largest manifest that is read."""


@dataclass(frozen=True)
class Manifest:
    """The sums of a run's files."""

    run: str = ""
    """Identity of the run, which its checkpoints have too: see `run_identity`. Empty: unknown."""
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """SHA-256 by file name; two of them while the file is being replaced."""

    def accepts(self, name: str, found: str) -> bool:
        """Whether a file with this sum is undamaged. A file that is not listed has nothing to be compared with."""
        return found in self.files.get(name, (found,))

    def with_sums(self, name: str, *sums: str) -> Manifest:
        """A copy with these sums of a file."""
        return replace(self, files={**self.files, name: tuple(dict.fromkeys(sums))})

    def as_bytes(self) -> bytes:
        """The content of manifest.json, with a sum of its own."""
        values = {"format": _FORMAT, "run": self.run, "files": {name: [*sums] for name, sums in self.files.items()}}
        return (json.dumps({**values, "sum": _sum_of(values)}, indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def parse(cls, content: bytes, path: Path, advice: str) -> Manifest:
        """Inverse of `as_bytes`.

        Args:
            path: the manifest, for messages.
            advice: the remedy, for messages.

        Raises:
            RunError: the content is damaged.
        """
        try:
            if len(content) > _LONGEST:
                raise ValueError("too long")
            values = json.loads(content)
            if values.pop("sum") != _sum_of(values) or values["format"] != _FORMAT:
                raise ValueError("not the content that was written")
            return cls(values["run"], {_file_name(name): tuple(sums) for name, sums in values["files"].items()})
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise RunError(f"{path}: damaged: {advice}") from None


def _file_name(name: str) -> str:
    """The name, unless no file can have it: a manifest of somebody else may hold any text.

    Raises:
        ValueError: the name has a NUL, or a surrogate that stands for no byte.
    """
    if b"\0" in os.fsencode(name):
        raise ValueError("a name with a NUL")
    return name


def _sum_of(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def run_identity(config: RunConfig, vocabularies: tuple[str, ...], text: str) -> str:
    """A sum over everything that makes a run this run and no other: checkpoints of another run have another one.

    Args:
        config: the settings; those that may change when a run is resumed do not count.
        vocabularies: fingerprints.
        text: the sum of the text's fingerprints; empty if unknown.
    """
    settings = {name: value for name, value in _flat(config_to_dict(config)).items() if not may_change(name)}
    content = json.dumps([settings, *vocabularies, text], sort_keys=True)
    return hashlib.sha256(content.encode(errors="backslashreplace")).hexdigest()


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted name."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of a run directory; None for a run without one, as version 0.1 wrote it.

    Raises:
        RunError: the manifest is damaged.
    """
    path = directory / MANIFEST
    advice = (
        f"restore it, or write a new one for the files as they are with nmt verify --accept {quote(str(directory))}"
    )
    try:
        require_inside(directory, path)
        with open(path, "rb") as file:
            return Manifest.parse(file.read(_LONGEST + 1), path, advice)
    except FileNotFoundError:
        return None


def listed_files(directory: Path) -> list[str]:
    """Names of the files of a run directory that a manifest lists."""
    folders = sorted((directory / "corpus").glob("*"))
    folders += [path for name in FOREIGN for path in sorted((directory / name).rglob("*"))]
    there = [*(directory / name for name in LISTED), *folders]
    return [path.relative_to(directory).as_posix() for path in there if path.is_file() and path.suffix != ".part"]


def write_manifest(
    directory: Path, identity: str, known: Iterable[str] = (), pending: Mapping[str, bytes] | None = None
) -> None:
    """Writes a manifest of the files as they are.

    Args:
        identity: of the run.
        known: names of further files, such as those of a web folder; the missing ones are left out.
        pending: content of files that are written next; no other file of their names exists.

    Raises:
        RunError: a further file leads out of the run.
    """
    more = [name for name in known if (directory / name).is_file()]
    for name in more:
        require_inside(directory, directory / name)
    files = {name: (digest_file(directory / name),) for name in dict.fromkeys([*listed_files(directory), *more])}
    files |= {name: (hashlib.sha256(content).hexdigest(),) for name, content in (pending or {}).items()}
    write_atomically(directory / MANIFEST, Manifest(identity, files).as_bytes())


def discard_manifest(directory: Path) -> None:
    """Deletes the manifest that an interrupted set-up has left in a directory which is not yet a run."""
    (directory / MANIFEST).unlink(missing_ok=True)


def forget_folder(directory: Path, folder: str) -> None:
    """Takes the files of a folder off the manifest, before they are deleted.

    Raises:
        RunError: the manifest is damaged.
    """
    if manifest := read_manifest(directory):
        kept = {name: sums for name, sums in manifest.files.items() if not name.startswith(f"{folder}/")}
        write_atomically(directory / MANIFEST, replace(manifest, files=kept).as_bytes())


@contextmanager
def only_writer(directory: Path) -> Iterator[None]:
    """Waits until no other process replaces a listed file or the manifest, and keeps others from it for this block.

    Raises:
        RunError: the file to lock leads out of the run, or is a pipe or a device.
    """
    names = (*VOCABULARIES, "source.words")
    vocabulary = next((directory / name for name in names if (directory / name).exists()), directory)
    require_inside(directory, vocabulary)
    with locked(vocabulary, None):  # this file is never replaced, so all processes lock the same one
        yield


def replace_listed(directory: Path, name: str, content: bytes) -> None:
    """Replaces a file of a run and its sum; a run without a manifest gets one. All writers of such files come here.

    However it ends, the file has its old or its new content, and the manifest accepts it.

    Raises:
        OSError: a file cannot be written.
        RunError: the manifest is damaged, or a link leads out of the run.
    """
    require_inside(directory, directory / name)
    with only_writer(directory):
        if (manifest := read_manifest(directory)) is None:
            write_manifest(directory, "")
            manifest = read_manifest(directory) or Manifest()
        new = hashlib.sha256(content).hexdigest()
        write_atomically(directory / MANIFEST, manifest.with_sums(name, new, *manifest.files.get(name, ())).as_bytes())
        write_atomically(directory / name, content)
        write_atomically(directory / MANIFEST, manifest.with_sums(name, new).as_bytes())
