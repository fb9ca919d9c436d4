"""The files of scripts/deploy name commands, flags and files that exist."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex

from commands import REPOSITORY

from nmt.cli.commands import parser_of

DEPLOY = REPOSITORY / "scripts" / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
INSTALL = "install --no-compile --no-deps"
MOST_MEBIBYTES = 250
"""Of the packages of the image."""


def flags_of(command: list[str]) -> dict[str, object]:
    """The flags of a command of nmt; a wrong flag ends the test."""
    assert command[0].endswith("/nmt")
    return vars(parser_of(command[1]).parse_args(command[2:]))


def in_dockerfile(instruction: str) -> list[str]:
    """The words of an instruction in JSON."""
    (found,) = re.findall(rf"^{instruction} (\[.*\])$", DOCKERFILE, re.MULTILINE)
    words: list[str] = json.loads(found)
    return words


def test_the_image_serves_the_model_that_is_mounted():
    flags = flags_of(in_dockerfile("ENTRYPOINT") + in_dockerfile("CMD"))
    assert flags["model"] == ["/model"] and ":/model:ro" in DOCKERFILE
    assert flags["host"] == "0.0.0.0" and f"EXPOSE {flags['port']}" in DOCKERFILE and f":{flags['port']} " in DOCKERFILE


def test_the_image_installs_as_the_documentation_and_the_check_of_the_runtime_do():
    page, check = ((REPOSITORY / name).read_text() for name in ("docs/how-to/export.md", "scripts/check_runtime.sh"))
    assert all(f"{INSTALL} " in text and "constraints-runtime.txt" in text for text in (DOCKERFILE, page, check))
    sent = re.findall(r"^!(\S+)$", (DEPLOY / "Dockerfile.dockerignore").read_text(), re.MULTILINE)
    assert {"nmt", "setup.cfg", "pyproject.toml", "constraints-runtime.txt"} <= set(sent)
    assert all((REPOSITORY / name).exists() for name in sent)


def test_the_packages_of_the_image_are_small():
    """In place of an image, which cannot be built everywhere: the sizes of the installed files."""
    lines = (REPOSITORY / "constraints-runtime.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    packages = [importlib.metadata.distribution(name) for name in pinned]
    paths = {package.locate_file(file) for package in packages for file in package.files or () if file.suffix != ".pyc"}
    size = sum(path.stat().st_size for path in paths if path.is_file())
    assert len(paths) > 1000 and size < MOST_MEBIBYTES * 2**20


def test_the_unit_of_systemd_starts_a_server():
    (line,) = re.findall("^ExecStart=(.+)$", (DEPLOY / "nmt-serve.service").read_text(), re.MULTILINE)
    assert flags_of(shlex.split(line))["model"] == ["/var/lib/nmt/model"]
