"""The site builds without a warning, its links lead somewhere, and its reference is complete."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from commands import REPOSITORY, environment

import nmt
from documentation.check_links import faults
from nmt.cli.commands import COMMANDS
from nmt.config import RunConfig
from nmt.config.fields import settings_of


@pytest.mark.slow
@pytest.mark.skipif(not importlib.util.find_spec("sphinx"), reason="needs the extra docs")
def test_the_site_builds_without_a_warning_and_loads_nothing_from_outside(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "docs"]
    built = subprocess.run([*command, tmp_path], cwd=REPOSITORY, env=environment(), capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert list(faults(tmp_path)) == []
    text = {
        name: (tmp_path / "reference" / f"{name}.html").read_text() for name in ("cli", "configuration", "python-api")
    }
    assert [name for name in COMMANDS if f">nmt {name}<" not in text["cli"]] == []
    assert [one.name for one in settings_of(RunConfig) if f">{one.name}<" not in text["configuration"]] == []
    assert [name for name in nmt.__all__ if f'id="nmt.{name}"' not in text["python-api"]] == []


def test_links_to_nothing_and_addresses_outside_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="#top">x</a><a href="b.html#there">x</a><a href="https://example.org/">x</a>'
        '<a href="b.html#gone">x</a><a href="c.html">x</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<h1 id="there">B</h1>')
    assert list(faults(tmp_path)) == [
        "a.html: loads https://example.org/x.js from outside",
        "a.html: b.html#gone names no heading of b.html",
        "a.html: c.html leads nowhere",
    ]
