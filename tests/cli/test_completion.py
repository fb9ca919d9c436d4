"""Completion of command lines by the shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import commands
import pytest

from nmt.cli import main


def completed(line: str, directory: Path) -> list[str]:
    """The words that the shell would offer behind a line. No heavy library may be loaded."""
    given = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    given |= {"_ARGCOMPLETE_STDOUT_FILENAME": str(directory / "words")}
    program = [sys.executable, "-X", "importtime", "-m", "nmt"]
    environment = commands.environment() | given
    ended = subprocess.run(program, cwd=directory, env=environment, capture_output=True, text=True)
    imported = {row.split("|")[-1].strip() for row in ended.stderr.splitlines()}
    assert "argcomplete" in imported and not imported & {"keras", "tensorflow", "numpy"}
    return (directory / "words").read_text().split()


def test_commands_flags_choices_and_directories_are_completed_without_heavy_libraries(tmp_path):
    os.mkdir(tmp_path / "saved_models")
    (tmp_path / "saved.txt").write_text("")
    assert completed("nmt tr", tmp_path) == ["train", "translate"]
    assert completed("nmt translate --averaging prob", tmp_path) == ["probability"]
    assert completed("nmt train --model.cell ", tmp_path) == ["gru", "lstm"]
    assert "--training.schedule.decay" in completed("nmt train --training.sch", tmp_path)
    assert completed("nmt info sav", tmp_path) == ["saved.txt", "saved_models/"]  # a pack is a file


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_code_for_a_shell_names_the_command(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "nmt" in capsys.readouterr().out
    assert main(["completion", "bsh"]) == 2
    assert "SHELL is 'bsh': expected one of bash, zsh, fish; did you mean bash?" in capsys.readouterr().err
