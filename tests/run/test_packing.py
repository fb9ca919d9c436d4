"""Packs that replace others."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest
from corruptions import make_run

from nmt.run.packing import write_pack


def test_a_pack_is_on_the_disk_before_it_replaces_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or a power loss could leave an empty file in place of both."""
    run, pack = make_run(tmp_path / "run", 0), tmp_path / "model.nmt"
    write_pack(run, pack)
    synced: list[int] = []
    sync, replace = os.fsync, os.replace

    def watched_sync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    def watched_replace(source: Path, target: Path) -> None:
        assert source.stat().st_ino in synced and zipfile.ZipFile(source).testzip() is None
        replace(source, target)

    monkeypatch.setattr("os.fsync", watched_sync)
    monkeypatch.setattr("os.replace", watched_replace)
    write_pack(run, pack)
    assert synced[-1] == tmp_path.stat().st_ino
