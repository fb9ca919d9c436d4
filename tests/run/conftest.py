"""A small vocabulary and a fresh run."""

from __future__ import annotations

from pathlib import Path

import pytest

from nmt.config import RunConfig, VocabularyConfig
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["ein haus und ein baum"] * 3, VocabularyConfig(type="word", size=8))


@pytest.fixture
def run(tmp_path: Path, tokenizer: Tokenizer) -> Run:
    return Run.create(tmp_path / "run", RunConfig(), tokenizer, tokenizer)
