"""Settings and fixtures of several rooms. Keras is imported where it is used: tests of text alone stay quick."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from nmt.config import AttentionConfig, DropoutConfig, ModelConfig

pytest_plugins = ["crashed_processes"]

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Tests run a process a processor: an operation has one thread, and no batch is parted (which takes longer to compile).
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")


def pytest_collection_finish() -> None:
    """Has TensorFlow compile as it is told, without rewriting: that would take a third of the time, and what tests
    compile runs a few times. Commands in processes of their own compile as users have them."""
    if tensorflow := sys.modules.get("tensorflow"):
        tensorflow.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


# A busy machine fails no test: neither an example nor the drawing of examples has a limit of time.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--minutes", type=float, metavar="N", help="skip the tests that would begin after N minutes")
    parser.addoption("--turn", type=int, metavar="N", help="run the first half of the files if N is odd, or the second")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out one half of the files with --turn: all slow tests take longer than one run of `.ci/run` may."""
    turn = config.getoption("--turn")
    if turn is None or not items:
        return
    paths = [item.path for item in items]
    middle = paths.index(paths[len(paths) // 2])
    first, second = items[:middle], items[middle:]
    items[:], left = (first, second) if turn % 2 else (second, first)
    config.hook.pytest_deselected(items=left)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Keeps a run of many slow tests within its time."""
    minutes = item.config.getoption("--minutes")
    if minutes is not None and time.monotonic() - STARTED > 60 * minutes:
        pytest.skip(f"{minutes:g} minutes are over")


PIECES = 12
"""Vocabulary of the tiny model: four special symbols and eight pieces."""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    """Writes lines into a file of that name, and gives its path."""

    def write_lines(name: str, *lines: str) -> str:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return str(path)

    return write_lines


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser, for the tests of a file."""
    from browsing import chromium

    with chromium() as started:
        yield started


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full when a file is brought onto it; the error of the system names no file."""

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)


@pytest.fixture(scope="session")
def scramble() -> Callable[..., None]:
    """Draws every weight of a layer anew, biases too, so large that no two inputs look alike to it."""

    def draw(layer: Any, seed: int = 0, scale: float = 0.7) -> None:
        random = np.random.default_rng(seed)
        for variable in layer.trainable_variables:
            variable.assign(random.normal(0.0, scale, variable.shape))

    return draw


@pytest.fixture(scope="session")
def make_model(scramble: Callable[..., None]) -> Callable[..., Any]:
    """Builds a tiny model without dropout, or with what `changes` to its configuration say."""

    def make(
        seed: int = 0,
        dtype: str = "float32",
        sizes: tuple[int, int] = (PIECES, PIECES),
        dropout: DropoutConfig | None = None,
        **changes: Any,
    ) -> Any:
        from nmt.network.model import Seq2Seq

        silent = DropoutConfig(embedding=0, encoder=0, state=0, context=0, readout=0, residual=0)
        settings = {"units": 8, "embedding": 6, "dropout": dropout or silent, **changes}
        settings.setdefault("attention", AttentionConfig(units=5))
        model = Seq2Seq(ModelConfig(**settings), *sizes, seed=seed, dtype=dtype)
        model.build()
        scramble(model, seed)
        return model

    return make


@pytest.fixture(scope="session")
def model(make_model: Callable[..., Any]) -> Any:
    """The tiny model; tests leave its weights alone."""
    return make_model()


@pytest.fixture(scope="session")
def copier_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the copy task that is trained enough to be confident of its pieces; tests leave it alone."""
    import copy_task

    import nmt

    directory = tmp_path_factory.mktemp("copier")
    copy_task.write_corpus(directory, train=1200, validation=10)
    config = copy_task.config(
        directory,
        vocabulary={"normalization": "nmt_nfkc"},  # removes characters that nobody sees
        training={"passes": 8, "batch_tokens": 200},
    )
    return nmt.train(config).directory


@pytest.fixture(scope="session")
def make_run(make_model: Callable[..., Any]) -> Callable[..., Path]:
    """Writes a run of the tiny model, with weights that nobody has trained, over a vocabulary of words."""

    def make(directory: Path, **changes: Any) -> Path:
        from nmt.config import RunConfig, VocabularyConfig
        from nmt.network.weights import variables_to_arrays
        from nmt.run.directory import Run
        from nmt.text.tokenizer import Tokenizer

        words = Tokenizer.train(
            ["ba be bi bo bu ka ke ki"] * 3, VocabularyConfig(type="word", size=PIECES, normalization="identity")
        )
        model = make_model(sizes=(words.size, words.size), **changes)
        run = Run.create(directory, RunConfig(name=directory.name, model=model.config), words, words)
        run.save_weights(variables_to_arrays(model.trainable_variables))
        return directory

    return make
