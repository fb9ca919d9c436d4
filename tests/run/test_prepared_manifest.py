"""The manifest of a prepared corpus: it returns as it was written, and damage is named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from nmt.run.errors import RunError
from nmt.run.prepared_manifest import (
    INPUTS,
    MANIFEST,
    SHARDS,
    PreparedManifest,
    damaged_files,
    is_of_prepare,
    is_prepared,
    read_prepared,
)
from nmt.run.verification import verify_prepared

CONTENT = {"shards/a.ids": b"ids", "shards/about.json": b"{}", "report.txt": b"lines"}
MADE = PreparedManifest(
    key={"input": "ü"},
    settings={"corpus": {}},
    pairs=3,
    pieces=12,
    files={name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()},
)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A prepared corpus of three files."""
    (tmp_path / SHARDS).mkdir()
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    MADE.save(tmp_path)
    return tmp_path


def test_a_manifest_is_read_as_it_was_written(corpus):
    assert read_prepared(corpus) == MADE
    assert json.loads((corpus / MANIFEST).read_text(encoding="utf-8"))["sum"] == MADE.digest
    assert verify_prepared(corpus) == (sorted(CONTENT), [], True)
    assert MADE.sums_of_shards == {name: MADE.files[f"shards/{name}"] for name in ("a.ids", "about.json")}


def test_another_corpus_has_another_digest():
    others = [replace(MADE, pairs=4), replace(MADE, key={}), replace(MADE, files={})]
    assert len({one.digest for one in [MADE, *others]}) == 4
    assert replace(MADE, files=dict(reversed(MADE.files.items()))).digest == MADE.digest


def test_a_finished_corpus_has_a_manifest_and_shards(tmp_path):
    assert not is_of_prepare(tmp_path)
    (tmp_path / INPUTS).touch()
    assert is_of_prepare(tmp_path) and not is_prepared(tmp_path)
    MADE.save(tmp_path)
    assert not is_prepared(tmp_path)  # the manifest of a run has the same name
    (tmp_path / SHARDS).mkdir()
    assert is_prepared(tmp_path)
    (tmp_path / INPUTS).unlink()
    assert is_of_prepare(tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(RunError, match=f"^{tmp_path}: holds no prepared corpus: make one with nmt prepare --output"):
        read_prepared(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"pairs": 0},
        {"pairs": 3.0},
        {"pieces": "12"},
        {"pieces": True},
        {"key": []},
        {"settings": "x"},
        {"files": [["a", "b"]]},
        {"other": 1},
    ],
)
def test_a_manifest_of_other_values_is_damaged(changes, corpus):
    """Even one whose sum fits."""
    values = json.loads(MADE.content()) | changes
    del values["sum"]
    if "other" not in changes:
        values["sum"] = PreparedManifest(**values).digest
    (corpus / MANIFEST).write_text(json.dumps(values))
    with pytest.raises(RunError, match=f"json: damaged: restore the file, or delete {corpus} and prepare it again"):
        read_prepared(corpus)
    found = verify_prepared(corpus)
    assert (found.files, len(found.problems), found.has_manifest) == ([MANIFEST], 1, True)


@pytest.mark.parametrize("content", [b"{", b"[]", b"7", b"\xff", b"[" * 10**5, MADE.content().replace(b"12", b"13")])
def test_a_damaged_manifest_is_named(content, corpus):
    (corpus / MANIFEST).write_bytes(content)
    with pytest.raises(RunError, match=r"manifest\.json: damaged: restore the file"):
        read_prepared(corpus)


def test_each_damaged_file_is_named(corpus):
    (corpus / "report.txt").unlink()
    (corpus / "shards/a.ids").write_bytes(b"sdi")
    damaged, missing = damaged_files(corpus, MADE)
    assert damaged.startswith(
        f"{corpus}/shards/a.ids: damaged, because it differs from manifest.json: restore the file"
    )
    assert missing.startswith(f"{corpus}/report.txt: no such file: restore the file, or delete {corpus} and prepare")
    assert verify_prepared(corpus).problems == [missing, damaged]


def test_content_is_compared_with_its_sum(corpus):
    MADE.require_whole(corpus, "report.txt", b"lines")
    for name, content in (("report.txt", b"other"), ("none", b"")):
        with pytest.raises(RunError, match=f"{name}: damaged, because it differs from manifest.json"):
            MADE.require_whole(corpus, name, content)
