"""`scripts/check_runtime.sh` makes an environment without TensorFlow, and uses an export there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import REPOSITORY, environment

EXPORT = REPOSITORY / "tests" / "exporting" / "version_1" / "recurrent-float32"


@pytest.mark.slow
def test_every_command_of_an_export_runs_in_the_small_environment(tmp_path: Path) -> None:
    probe = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(tmp_path),
        "packaging==26.3",
    ]
    if subprocess.run(probe, capture_output=True, timeout=120).returncode:
        pytest.skip("needs the package index")
    variables = environment() | {"PYTHON": sys.executable, "TMPDIR": str(tmp_path)}
    found = subprocess.run(
        ["bash", str(REPOSITORY / "scripts" / "check_runtime.sh"), str(EXPORT), "ba be bo"],
        capture_output=True,
        text=True,
        env=variables,
        timeout=1200,
    )
    assert found.returncode == 0, found.stdout + found.stderr[-3000:]
    translated, served, size = found.stdout.splitlines()[-3:]
    assert translated.removeprefix("translated: ") == served.removeprefix("served: ") != ""
    assert int(re.fullmatch(r"(\d+) MiB of packages", size)[1]) <= 250  # type: ignore[index]
    assert not [name for name in os.listdir(tmp_path) if name.startswith("tmp.")]
