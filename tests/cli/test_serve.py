"""Mistakes in the command line of `nmt serve`."""

from __future__ import annotations

import sys

import pytest

from nmt.cli import main


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model", "none"], "none: no such run directory"),
        (["--model", "{run}"], "not a run directory"),
        (["--model", "{run}", "--max-characters", "0"], "--max-characters is 0: expected more than 0"),
        (
            ["--model", "{run}", "--allow-host", "https://example.org"],
            "--allow-host https://example.org: expected a name",
        ),
        (["--model", "{run}", "--token-file", "none"], "none: cannot be read: No such file"),
    ],
)
def test_mistakes_are_one_line(tmp_path, capsys, flags, message):
    (tmp_path / "run").mkdir()
    assert main(["serve", *(flag.format(run=tmp_path / "run") for flag in flags)]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_missing_packages_are_named(monkeypatch, capsys):
    monkeypatch.delattr("nmt.serving.server", raising=False)
    monkeypatch.setitem(sys.modules, "nmt.serving.server", None)  # importing it fails, as without its packages
    assert main(["serve", "--model", "run"]) == 2
    assert capsys.readouterr().err.endswith("-m pip install --constraint constraints.txt -e '.[serve]'\n")
