"""Fixtures of the page's tests."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from commands import REPOSITORY
from web_folders import require_runtime

from nmt.exporting.export import export_run
from nmt.run.directory import Run
from nmt.web.runtime import usual_place


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run that has learned the demo corpus; tests leave it alone."""
    directory = tmp_path_factory.mktemp("runs")
    with tarfile.open(REPOSITORY / "tests" / "documentation" / "demo_run.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory / "demo"


@pytest.fixture(scope="session")
def demo_folder(demo_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A web folder of the demo run, in float32."""
    require_runtime()
    output = tmp_path_factory.mktemp("web") / "demo.web"
    export_run(Run.open(demo_run), output, "web", runtime=usual_place())
    return output
