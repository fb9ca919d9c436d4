"""Fixtures of the training tests. Keras is imported inside them, so that tests without a network start quickly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import copy_task
import numpy as np
import pytest
from corpus_preparation import SOURCES

from nmt.config import PairsConfig

if TYPE_CHECKING:
    from short_runs import CountingStep


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("corpus")
    copy_task.write_corpus(directory, train=200, validation=8)
    return directory


@pytest.fixture
def counting(monkeypatch) -> CountingStep:
    """Training without a network: steps count, and validations find 0, 1, 2 and so on."""
    from short_runs import CountingStep, let_validations_find

    from nmt.training.validation import Validation

    step = CountingStep({})
    monkeypatch.setattr("nmt.training.trainer.TrainStep", step)
    monkeypatch.setattr(Validation, "alignment_image", lambda self: np.zeros((2, 2, 3), np.uint8))
    let_validations_find(monkeypatch, range(1000))
    return step


@pytest.fixture
def steps(corpus, tmp_path, counting) -> int:
    """Steps of an epoch."""
    from short_runs import config

    from nmt.training.trainer import train

    return train(config(corpus, tmp_path, "one epoch", passes=1)).steps


@pytest.fixture
def trainer(corpus, tmp_path) -> Any:
    """Makes a trainer with the real step, which has set up its run and not begun."""
    from short_runs import make_trainer

    return partial(make_trainer, corpus, tmp_path)


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PairsConfig:
    """300 pairs in three files a side; small blocks and shards."""
    from nmt.training.preparation.shards import blocks, packing

    monkeypatch.setattr(blocks, "ROWS", 40)
    monkeypatch.setattr(packing, "SHARD_PAIRS", 70)
    (tmp_path / "text").mkdir()
    for number in range(3):
        some = SOURCES[100 * number : 100 * number + 100]
        (tmp_path / f"text/{number}.en").write_text("".join(f"{line}\n" for line in some))
        (tmp_path / f"text/{number}.fr").write_text("".join(f"{line.upper()}\n" for line in some))
    return PairsConfig(source=str(tmp_path / "text/*.en"), target=str(tmp_path / "text/*.fr"))
