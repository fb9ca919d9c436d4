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
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A web folder, in float32, of a small run that has learned the demo corpus."""
    require_runtime()
    directory = tmp_path_factory.mktemp("web")
    with tarfile.open(REPOSITORY / "tests" / "documentation" / "demo_run.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    export_run(Run.open(directory / "demo"), directory / "demo.web", "web", runtime=usual_place())
    return directory / "demo.web"
