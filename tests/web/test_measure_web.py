"""The measurements of a web folder in a browser."""

from __future__ import annotations

import json

import commands
import pytest
from browsing import CHROMIUM


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: apt-get install chromium")
def test_the_script_measures_a_folder(demo_folder, tmp_path):
    pytest.importorskip("playwright.sync_api", reason="needs the extra `browser`: pip install -e .[browser]")
    options = f"{demo_folder} --source {commands.REPOSITORY}/data/demo/test.en --limit 3 --repeats 1 --json out.json"
    printed = commands.script("benchmarks/measure_web", options, tmp_path).stdout
    values = json.loads((tmp_path / "out.json").read_text())
    assert all(name in printed and value > 0 for name, value in values.items())
    assert values["beam_5_equal_share"] == 1
    assert values["download_mib"] == pytest.approx(14, abs=1)
