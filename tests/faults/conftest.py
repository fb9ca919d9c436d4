"""The library that records changes of the disk, and the workshop of the campaigns, once per process of pytest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import disk
import pytest
from campaigns import Workshop


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    built = disk.build(tmp_path_factory.mktemp("library"))
    if built is None:
        pytest.skip("there is no C compiler: install gcc or clang")
    return built


@pytest.fixture(scope="session")
def workshop(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("workshop"))
    yield made
    made.close()
