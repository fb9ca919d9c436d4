"""The Python example of the README."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from commands import REPOSITORY, forked


@pytest.mark.slow
def test_the_python_example_runs(tmp_path: Path) -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    demo = tmp_path / "data" / "demo"
    shutil.copytree(REPOSITORY / "data" / "demo", demo)
    for side in ("en", "fr"):  # a quarter of the demo's pairs
        lines = (demo / f"train.{side}").read_text(encoding="utf-8").splitlines(keepends=True)[:5000]
        (demo / f"train.{side}").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "example.py").write_text(example, encoding="utf-8")
    result = forked(["example.py"], tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) == 3
    assert all(re.fullmatch(r"\S.* -\d+\.\d+( \d+-\d+)+", line) for line in lines[:2]), lines
    falls = json.loads(lines[2])
    assert [len(row) for row in falls] == [6] * 6
    assert any(map(any, falls))
    assert (tmp_path / "saved_models" / "quick" / "best.npz").exists()
