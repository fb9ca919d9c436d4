"""Fixtures of the documentation's tests: the directory in which the blocks of a page run."""

from __future__ import annotations

import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import REPOSITORY

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

PAIRS = 3000
"""The training pairs of the demo corpus that blocks see."""


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a short training text and a trained run saved_models/demo."""
    directory = tmp_path_factory.mktemp("checkout")
    for path in REPOSITORY.iterdir():
        if path.name not in ("data", "saved_models", "build", ".git", ".venv"):
            (directory / path.name).symlink_to(path)
    (directory / "data").mkdir()
    for path in (REPOSITORY / "data").iterdir():
        if path.name != "demo":
            (directory / "data" / path.name).symlink_to(path)
    shutil.copytree(REPOSITORY / "data" / "demo", directory / "data" / "demo")
    for path in (directory / "data" / "demo").glob("train.*"):
        with path.open(encoding="utf-8") as file:
            lines = [line for line, _ in zip(file, range(PAIRS), strict=False)]
        path.write_text("".join(lines), encoding="utf-8")
    with tarfile.open(Path(__file__).parent / "demo_run.tar.xz") as archive:
        archive.extractall(directory / "saved_models", filter="data")
    return directory


@pytest.fixture
def desk(checkout: Path, tmp_path: Path) -> Callable[[], Path]:
    """Makes the directory of a page: links into the checkout, and a copy of the trained run."""

    def make() -> Path:
        for path in checkout.iterdir():
            if path.name != "saved_models":
                (tmp_path / path.name).symlink_to(path)
        shutil.copytree(checkout / "saved_models", tmp_path / "saved_models")
        return tmp_path

    return make
