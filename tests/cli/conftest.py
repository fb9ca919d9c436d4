"""Fixtures of the command tests."""

from __future__ import annotations

import fake_translator
import pytest


@pytest.fixture
def model(tmp_path, monkeypatch) -> str:
    """A run directory; a fake replaces the real translator."""
    fake_translator.install(monkeypatch.setattr)
    monkeypatch.setattr(fake_translator.Translator, "searches", [])
    (tmp_path / "run").mkdir()
    return str(tmp_path / "run")
