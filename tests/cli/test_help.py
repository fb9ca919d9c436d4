"""The help of the commands, also where nmt is installed without its sources."""

from __future__ import annotations

import compileall
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nmt.cli import main
from nmt.cli.commands import COMMANDS, module
from nmt.cli.train import ALL, COMMON
from nmt.config import RunConfig, SearchConfig
from nmt.config.fields import settings_of
from nmt.config.parser import Parser

PACKAGE = Path(__file__).parents[2] / "nmt"


@pytest.fixture(scope="module")
def without_sources(tmp_path_factory) -> Path:
    """A directory with nmt as compiled files alone."""
    directory = tmp_path_factory.mktemp("installed")
    shutil.copytree(PACKAGE, directory / "nmt", ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(directory / "nmt", legacy=True, quiet=1)
    for source in (directory / "nmt").rglob("*.py"):
        source.unlink()
    return directory


def shown(*command: str, directory: Path) -> str:
    """The words that a command prints, with nmt from a directory."""
    program = "import sys, nmt.cli; assert nmt.cli.__file__.endswith('.pyc'); sys.exit(nmt.cli.main(sys.argv[1:]))"
    environment = os.environ | {"PYTHONPATH": str(directory), "COLUMNS": "2000"}
    result = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, cwd=directory, env=environment
    )
    assert result.returncode == 0, result.stderr
    return " ".join(result.stdout.split())


@pytest.mark.slow
def test_help_needs_no_source_files(without_sources):
    texts = {setting.name: " ".join(setting.help.split()).removesuffix(".") for setting in settings_of(RunConfig)}
    short = shown("train", "--help", directory=without_sources)
    assert all(texts[name] in short for name in COMMON)
    assert all(text in shown("train", "--help-all", directory=without_sources) for text in texts.values())
    search = shown("translate", "--help", directory=without_sources)
    assert all(setting.help.removesuffix(".") in search for setting in settings_of(SearchConfig))


def test_settings_are_printed_without_source_files(without_sources):
    assert "beam_size: 5" in shown("train", "--print_config", directory=without_sources)


def test_help_of_train_shows_the_common_settings_and_where_all_are(capsys):
    assert set(COMMON) <= ALL
    assert 20 <= len(COMMON) <= 32
    with pytest.raises(SystemExit) as end:
        main(["train", "--help"])
    assert end.value.code == 0
    printed = capsys.readouterr().out
    flags = {line.split()[0].replace("[no-]", "") for line in printed.splitlines() if line.startswith("  -")}
    assert {name for name in ALL if f"--{name}" in flags} == set(COMMON)
    assert "--help-all" in printed
    assert "configuration file" not in printed.lower()


def test_help_all_of_train_shows_every_setting_once(capsys):
    with pytest.raises(SystemExit) as end:
        main(["train", "--help-all"])
    assert end.value.code == 0
    flags = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  -")]
    for setting in settings_of(RunConfig):
        flag = f"--[no-]{setting.name}" if setting.type is bool else f"--{setting.name}"
        assert flags.count(flag) == 1, flag


def test_the_usage_has_the_needed_flags_alone(capsys):
    with pytest.raises(SystemExit):
        main(["translate", "--help"])
    printed = capsys.readouterr().out
    assert printed.startswith("usage: nmt translate --model DIR [OPTION ...]\n\n")
    assert "  --no-repeat-ngram N " in printed and "--[no-]copy-unknown " in printed
    with pytest.raises(SystemExit):
        main(["info", "--help"])
    assert capsys.readouterr().out.startswith("usage: nmt info [OPTION ...] RUN\n\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_of_every_command_can_be_pasted(command, capsys):
    """The help ends with it, in one line, and its flags are the command's."""
    example = module(command).EXAMPLE
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert capsys.readouterr().out.endswith(f"\nexample:\n  {example}\n")
    program, chosen, *flags = shlex.split(example.removeprefix('eval "$(').removesuffix(')"'))
    assert (program, chosen) == ("nmt", command)
    parser = Parser(prog="nmt")
    module(command).add_flags(parser)
    parser.parse_args(flags)  # refuses unknown and missing flags


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_its_flags(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    printed = "".join(capsys.readouterr().out.split())
    assert "".join(module(command).DESCRIPTION.split()) in printed
    assert "==SUPPRESS==" not in printed
