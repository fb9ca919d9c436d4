"""The files of scripts/deploy name commands, flags and files that exist."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex

import pytest
from commands import REPOSITORY

from nmt.cli.commands import parser_of
from nmt.serving.access import Access
from nmt.serving.limits import Limits, RefusedError

DEPLOY = REPOSITORY / "scripts" / "deploy"
PROXY = (DEPLOY / "nginx.conf").read_text()
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


def unit_line(field: str) -> str:
    """The only value of a field of the unit."""
    (value,) = re.findall(f"^{field}=(.+)$", (DEPLOY / "nmt-serve.service").read_text(), re.MULTILINE)
    return str(value)


def directive(name: str) -> str:
    """The only value of a directive of nginx.conf."""
    (value,) = re.findall(rf"^ *{name} +(.+);$", PROXY, re.MULTILINE)
    return str(value)


def seconds(value: str) -> int:
    """A time such as 20s."""
    assert value.endswith("s")
    return int(value[:-1])


UNIT = flags_of(shlex.split(unit_line("ExecStart")))
"""The flags of the unit's server."""


def test_the_unit_of_systemd_starts_a_server():
    assert UNIT["model"] == ["/var/lib/nmt/model"]
    assert int(unit_line("TimeoutStopSec")) == 2 * int(str(UNIT["drain_seconds"]))


def test_the_server_of_the_unit_answers_to_the_name_that_the_proxy_sends():
    name = directive("server_name")
    assert UNIT["allow_host"] == [name] and directive("proxy_set_header Host") == "$host"
    assert directive("proxy_pass") == f"http://{UNIT['host']}:{UNIT['port']}"
    access = Access(tuple(UNIT["allow_host"]))  # type: ignore[arg-type]
    access.check_host(name)
    with pytest.raises(RefusedError):
        access.check_host("other.example.org")


def test_the_command_of_the_unit_may_have_a_file_of_tokens():
    unit = (DEPLOY / "nmt-serve.service").read_text()
    (flag, path) = re.search(r"add (--token-file) (\S+) to the command", unit).groups()
    assert flags_of([*shlex.split(unit_line("ExecStart")), flag, path])["token_file"] == path
    assert f"#LoadCredential={path.removeprefix('%d/')}:" in unit  # systemd puts this credential into %d


def test_the_limits_of_the_proxy_are_not_below_those_of_the_server():
    """Otherwise nginx would refuse requests that the server takes, in a page of HTML."""
    limits, body = Limits(), directive("client_max_body_size")
    assert body.endswith("m") and limits.body <= int(body[:-1]) * 2**20 < 2 * limits.body
    assert seconds(directive("client_body_timeout")) >= limits.body_seconds
    assert seconds(directive("proxy_read_timeout")) > limits.seconds


def test_a_client_that_the_proxy_refuses_learns_when_to_try_again():
    assert directive("limit_req_status") == "429" and directive("error_page") == "429 @too_many"
    found = re.search(r"location @too_many \{\n(.*?)\}\n", PROXY, re.DOTALL)
    assert found and re.search(r"add_header Retry-After [1-9]\d* always;", found[1])
    (body,) = re.findall(r"return 429 '(.+)';", found[1])
    assert json.loads(body)["error"]
