"""A server behind nginx, with the flags and the file of scripts/deploy."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from commands import REPOSITORY
from server_process import running

DEPLOY = REPOSITORY / "scripts" / "deploy"
PROXY, NAME = (DEPLOY / "nginx.conf").read_text(), "translate.example.org"
NGINX = shutil.which("nginx")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light"),
]


def test_the_unit_and_the_proxy_together_answer(tmp_path):
    (command,) = re.findall("^ExecStart=(.+)$", (DEPLOY / "nmt-serve.service").read_text(), re.MULTILINE)
    words = shlex.split(command)
    with running(words[words.index("--allow-host") :], tmp_path) as server, proxied(server.port, tmp_path) as port:

        def ask(host: str = NAME) -> tuple[int, str, dict[str, Any]]:
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            body, kind = json.dumps({"text": "a b"}), {"Host": host, "Content-Type": "application/json"}
            connection.request("POST", "/v1/translate", body, kind)
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Retry-After", ""), json.load(answer)

        status, _, answer = ask()
        assert status == 200 and answer["model"] == "run"
        assert ask("other.example.org")[0] == 421
        with ThreadPoolExecutor(20) as threads:
            statuses = list(threads.map(lambda _: ask(), range(200)))
        refused = [found for found in statuses if found[0] == 429]
        assert refused and {found[0] for found in statuses} == {200, 429}
        assert all(after == "2" and answer["error"] for _, after, answer in refused)


@contextmanager
def proxied(port: int, place: Path) -> Iterator[int]:
    """The port of nginx with the file of the checkout, without TLS, in front of a server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    text = PROXY
    for old, new in (("443 ssl", f"127.0.0.1:{own}"), (":8000", f":{port}")):
        assert old in text
        text = text.replace(old, new)
    text = re.sub(r"^ *ssl_certificate.*\n", "", text, flags=re.MULTILINE)
    (place / "server.conf").write_text(text)
    folders = "".join(
        f"{kind}_temp_path {place}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (place / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; error_log {place}/error.log; pid {place}/pid; events {{}}\n"
        f"http {{ access_log off; {folders} include {place}/server.conf; }}\n"
    )
    process = subprocess.Popen([NGINX, "-p", str(place), "-c", str(place / "nginx.conf")])
    try:
        end = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", own)):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield own
    finally:
        process.terminate()
        process.wait(30)
