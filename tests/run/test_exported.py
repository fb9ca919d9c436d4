"""export.json: an export is read as it was written, or one line says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nmt.run.errors import RunError
from nmt.run.exported import (
    ENCODER,
    EXPORT,
    PRECISIONS,
    STEP,
    VERSION,
    Export,
    TensorSpec,
    export_kind,
    foreign_content,
    is_export,
    read_export,
)
from nmt.run.manifest import FOREIGN

MADE = Export(
    "int8",
    state=(TensorSpec("hidden", "float32", ("rows", 512)), TensorSpec("past", "float32", ("rows", "steps", 8))),
    encoded=(TensorSpec("mask", "bool", ("rows", "positions")),),
    made_with="nmt, ü",
)


def changed(directory: Path, **changes: object) -> None:
    """Writes an export whose description has other fields, or lacks those that are None."""
    fields = json.loads(MADE.content()) | changes
    kept = {name: value for name, value in fields.items() if value is not None}
    (directory / EXPORT).write_text(json.dumps(kept))


def test_an_export_is_read_as_it_was_written(tmp_path):
    assert (EXPORT, ENCODER, STEP) == ("export.json", "encoder.onnx", "step.onnx")
    assert is_export(tmp_path) is False and export_kind(tmp_path) == ""
    for precision in PRECISIONS:
        made = Export(precision, MADE.state, MADE.encoded, MADE.made_with)
        (tmp_path / EXPORT).write_bytes(made.content())
        assert read_export(tmp_path) == made
        assert is_export(tmp_path) is True and export_kind(tmp_path) == f"onnx {precision}"
    assert "ü" in (tmp_path / EXPORT).read_text(encoding="utf-8")


def test_an_export_may_name_no_programs(tmp_path):
    changed(tmp_path, made_with=None)
    assert read_export(tmp_path).made_with == ""


@pytest.mark.parametrize("format", FOREIGN)
def test_an_export_for_another_program_is_named(format, tmp_path):
    (tmp_path / EXPORT).write_bytes(foreign_content(format, "float16", "nmt"))
    assert export_kind(tmp_path) == f"{format} float16"
    with pytest.raises(RunError, match=f"^{tmp_path}: is an export for {format}; nmt translates with exports in onnx$"):
        read_export(tmp_path)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"version": VERSION + 1}, f"onnx version {VERSION + 1}"),
        ({"version": "1"}, "onnx version 1"),
        ({"format": "tflite"}, "tflite version 1"),
        ({"format": "x" * 99}, f"{'x' * 40} version 1"),
    ],
)
def test_a_newer_export_is_refused(changes, found, tmp_path):
    changed(tmp_path, **changes)
    with pytest.raises(RunError, match=f"json: {found} is unknown: this nmt reads onnx up to version {VERSION};"):
        read_export(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"precision": "int4"}, "unknown precision 'int4'"),
        ({"state": [{"name": "a", "dtype": "bool", "axes": ["rows", 1.5]}]}, "an axis is neither a name nor a number"),
        ({"state": [{"name": "a", "axes": []}]}, "'dtype'"),
        ({"state": 7}, "not iterable"),
        ({"encoded": None}, "'encoded'"),
    ],
)
def test_a_damaged_export_is_named(changes, reason, tmp_path):
    changed(tmp_path, **changes)
    with pytest.raises(RunError, match=rf"json: damaged \(.*{reason}.*\): export the run again with nmt export$"):
        read_export(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", "7", "[" * 100000, "{}"])
def test_other_content_is_no_export(content, tmp_path):
    (tmp_path / EXPORT).write_text(content)
    assert export_kind(tmp_path) == ""
    with pytest.raises(RunError, match=r"export\.json: damaged"):
        read_export(tmp_path)


def test_a_directory_without_an_export_is_named(tmp_path):
    with pytest.raises(RunError, match=f"^{tmp_path}: not an export, it has no export.json; nmt export makes one$"):
        read_export(tmp_path)
    (tmp_path / EXPORT).mkdir()
    assert not is_export(tmp_path)
    with pytest.raises(RunError, match="json: Is a directory$"):
        read_export(tmp_path)


def test_a_huge_description_is_refused_before_it_is_read(tmp_path):
    content = MADE.content()
    (tmp_path / EXPORT).write_bytes(content + b" " * (2**20 - len(content)))
    assert read_export(tmp_path) == MADE
    with open(tmp_path / EXPORT, "ab") as file:
        file.write(b" ")
    with pytest.raises(RunError, match=r"export\.json: has more than 1,048,576 bytes"):
        read_export(tmp_path)
