"""The library that records changes of the disk, compiled once per process of pytest."""

from __future__ import annotations

from pathlib import Path

import disk
import pytest


@pytest.fixture(scope="session")
def library(tmp_path_factory) -> Path:
    built = disk.build(tmp_path_factory.mktemp("library"))
    if built is None:
        pytest.skip("there is no C compiler: install gcc or clang")
    return built
