"""An exported run: a directory with a network in ONNX in place of weights. `nmt export` writes it.

DIRECTORY/
    export.json          the description below
    encoder.onnx         the encoder, run once for a batch
    step.onnx            one step of the decoder
    config.json, shared.model (or source.model and target.model), profile.json, shortlist.npz
                         as in a run directory; `Run.open` reads them
    README.md            the model card
    manifest.json        the SHA-256 of these files

The encoder reads `source`, int32 [batch, positions]: piece ids with the end of sentence, padded with PAD. Its outputs
are the encoded source and the first state, by the names in export.json.

A step has one row for each hypothesis. It reads `pieces`, int32 [rows], the last piece of each hypothesis (BOS at
first), the state and the encoded source. Its outputs are `logits`, float32 [rows, vocabulary], `weights`, the attention
of the step, float32 [rows, positions], and the next state, whose names begin with `next_`. A search repeats and
reorders the rows of the state and of the encoded source along the first axis. It may make positions of `mask` false.
A step also reads `among`, int32 [columns]: the pieces of a short list, whose logits are then the only columns; an empty
list gives the logits of the whole vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nmt.run.errors import RunError
from nmt.run.manifest import FOREIGN, NETWORK
from nmt.run.pack_storage import storage_of

EXPORT, ENCODER, STEP = NETWORK

VERSION = 1
"""The version of the layout. It rises when a program that reads this version cannot read the next one."""

NEXT = "next_"
"""In front of the names of a state that a step gives."""

PRECISIONS = ("float32", "float16", "int8")
"""Types of stored weights. float16 is computed in float32; int8 is multiplied as whole numbers."""

_LONGEST = 2**20
"""Bytes of the largest export.json that is read."""


class TensorSpec(NamedTuple):
    """A tensor that goes in and out of the graphs."""

    name: str
    dtype: str
    """float32, int32 or bool."""
    axes: tuple[str | int, ...]
    """Lengths of the axes: a number, or `rows`, `positions` (of the source) or `steps` (before this one)."""


@dataclass(frozen=True)
class Export:
    """The content of export.json."""

    precision: str
    """One of `PRECISIONS`."""
    state: tuple[TensorSpec, ...]
    """The state of the decoder."""
    encoded: tuple[TensorSpec, ...]
    """The encoded source that each step reads."""
    made_with: str = ""
    """Versions of the programs that wrote the export."""

    def content(self) -> bytes:
        """The content of export.json."""
        fields = asdict(self) | {name: [spec._asdict() for spec in getattr(self, name)] for name in _TENSORS}
        text = json.dumps({"format": "onnx", "version": VERSION, **fields}, indent=1, ensure_ascii=False)
        return (text + "\n").encode()


_TENSORS = ("state", "encoded")


def foreign_content(format: str, precision: str, made_with: str) -> bytes:
    """The content of the export.json of a format in `FOREIGN`."""
    fields = {"format": format, "version": VERSION, "precision": precision, "made_with": made_with}
    return (json.dumps(fields, indent=1) + "\n").encode()


def is_export(directory: Path) -> bool:
    """Whether a directory is an exported run."""
    return (directory / EXPORT).is_file()


def export_kind(directory: Path) -> str:
    """Format and precision of an export, such as `onnx int8`; empty if the directory is no export, or a damaged one."""
    try:
        fields = json.loads(storage_of(directory).read(EXPORT, _LONGEST))
        return f"{fields['format']!s:.40} {fields['precision']!s:.40}"
    except (RunError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""


def read_export(directory: Path) -> Export:
    """Reads export.json. The files of the graphs are read with `storage_of(directory).open`.

    Raises:
        RunError: the directory is no export, or a damaged or a newer one.
    """
    path, storage = directory / EXPORT, storage_of(directory)
    try:
        fields = json.loads(storage.read(EXPORT, _LONGEST))
        _require_version(path, fields)
        tensors = {name: tuple(map(_tensor, fields[name])) for name in _TENSORS}
        if fields["precision"] not in PRECISIONS:
            raise ValueError(f"unknown precision {fields['precision']!r:.40}")
        return Export(fields["precision"], **tensors, made_with=str(fields.get("made_with", "")))
    except FileNotFoundError:
        raise RunError(f"{directory}: not an export, it has no {EXPORT}; nmt export makes one") from None
    except RunError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(f"{path}: damaged ({error}): export the run again with nmt export") from None
    except OSError as error:
        raise RunError(f"{path}: {error.strerror}") from None


def _require_version(path: Path, fields: Any) -> None:
    if fields["format"] in FOREIGN:
        raise RunError(f"{path.parent}: is an export for {fields['format']}; nmt translates with exports in onnx")
    known = fields["format"] == "onnx" and isinstance(fields["version"], int)
    if not known or fields["version"] > VERSION:
        found = f"{fields['format']!s:.40} version {fields['version']!s:.40}"
        raise RunError(f"{path}: {found} is unknown: this nmt reads onnx up to version {VERSION}; install a newer nmt")


def _tensor(fields: Any) -> TensorSpec:
    axes: Sequence[str | int] = fields["axes"]
    if not all(isinstance(axis, (str, int)) for axis in axes):
        raise ValueError("an axis is neither a name nor a number")
    return TensorSpec(str(fields["name"]), str(fields["dtype"]), tuple(axes))
