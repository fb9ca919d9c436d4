"""Translators for worker processes: they write capitals, and some sentences slow, stop or kill the process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import fake_translator

from nmt.errors import NmtError


class Translator(fake_translator.Translator):
    inference = SimpleNamespace(batches_at_once=1, fingerprint="weights")

    def answer(self, requests, linking=None, report=None):
        for request in requests:
            word, _, rest = request.text.partition(" ")
            if word == "slow":
                time.sleep(0.3)
            if word == "die" and not Path(rest).exists():  # once
                Path(rest).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if word == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if report:
                report(1)
            yield next(super().answer([request]))


def load() -> Translator:
    return Translator()


def load_badly() -> Translator:
    raise NmtError("the model is damaged: fetch it again")


def die() -> Translator:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError
