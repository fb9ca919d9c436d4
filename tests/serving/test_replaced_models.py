"""The files of a served model are replaced again and again while clients ask: every request is answered."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest
from commands import REPOSITORY
from server_process import PATIENCE, Server, running

import nmt

SAVED = REPOSITORY / "tests" / "exporting" / "version_1"
EXPORTS = [SAVED / "recurrent-float32", SAVED / "lstm-coverage-float32"]
TEXT, REPLACEMENTS = "ba be bo", 10


class Client(threading.Thread):
    """Asks until it is stopped; an answer that is no translation ends it with an error."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self.server, self.stopped = server, False
        self.found: list[str] = []
        self.errors: list[Exception] = []

    def run(self) -> None:
        try:
            while not self.stopped:
                answer = self.server.post("/v1/translate", {"text": TEXT})
                self.found.append(answer["translations"][0]["candidates"][0]["text"])
        except Exception as error:
            self.errors.append(error)


def replace_directory(model: Path, export: Path, number: int) -> None:
    """Puts a copy of an export in place of a model. For a moment there is neither."""
    new, old = (model.with_name(f"{which}-{number}") for which in ("new", "old"))
    shutil.copytree(export, new)
    os.rename(model, old)
    os.rename(new, model)
    shutil.rmtree(old)


@pytest.mark.slow
def test_ten_replacements_under_load_lose_no_request(tmp_path):
    texts = [nmt.Translator.load(export).translate_one(TEXT).text for export in EXPORTS]
    assert texts[0] != texts[1]
    model = shutil.copytree(EXPORTS[0], tmp_path / "model")
    with running([], tmp_path, program="nmt", models={"model": model}) as server:
        clients = [Client(server) for _ in range(4)]
        for client in clients:
            client.start()
        for number in range(1, REPLACEMENTS + 1):
            replace_directory(model, EXPORTS[number % 2], number)
            end = time.monotonic() + PATIENCE
            while any(client.found[-1:] != [texts[number % 2]] for client in clients):  # the new model answers all
                assert time.monotonic() < end and all(client.is_alive() for client in clients)
                time.sleep(0.05)
        for client in clients:
            client.stopped = True
        for client in clients:
            client.join(PATIENCE)
        assert [client.errors for client in clients] == [[]] * len(clients)
        assert {text for client in clients for text in client.found} == set(texts)
        answered = server.post("/v1/translate", {"text": TEXT})
        assert answered["translations"][0]["candidates"][0]["text"] == texts[0]
