"""Fixtures of the command tests."""

from __future__ import annotations

import sys

import fake_translator
import pytest

from nmt.explaining import erasure


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A run directory; a fake replaces the real translator."""
    monkeypatch.setitem(sys.modules, "nmt.translation.translator", fake_translator)
    monkeypatch.setattr(fake_translator.Translator, "searches", [])
    monkeypatch.setattr(erasure, "erase", fake_translator.erase)
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")
