"""A worker process: it loads a translator and answers the chunks that its parent sends through a pipe."""

from __future__ import annotations

import os
import queue
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from nmt.alignment.hard_links import Linking
from nmt.backend.machine import share_processors
from nmt.errors import NmtError
from nmt.translation.request import TranslationRequest
from nmt.translation.result import Translation
from nmt.translation.translator import Translator

Load = Callable[[], Translator]
"""Loads the translator of a worker. The worker imports it by its name: a function of a module, or a `functools.partial`
of one."""


class Chunk(NamedTuple):
    """Requests that are answered together."""

    requests: list[TranslationRequest]
    linking: Linking


class Loaded(NamedTuple):
    """A message: the model is loaded."""

    fingerprint: str


class Progressed(NamedTuple):
    """A message: some sentences of a chunk are translated."""

    sentences: int


class Answered(NamedTuple):
    """A message: the answers to the requests of a chunk."""

    number: int
    answers: list[list[Translation]]


class Failed(NamedTuple):
    """A message: a chunk, or the loading of the model (None), failed."""

    number: int | None
    error: Exception


Message = Loaded | Progressed | Answered | Failed


def work(pipe: Connection, load: Load, processes: int) -> None:
    """The main function of a worker: answers chunks until the parent closes the pipe or ends.

    Args:
        pipe: to the parent.
        load: see `Load`.
        processes: number of workers, which share the processors.
    """
    share_processors(processes)
    waiting: queue.SimpleQueue[tuple[int, Chunk]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(pipe, waiting), name="chunks", daemon=True).start()
    lock = threading.Lock()

    def send(message: Message) -> None:
        with lock:  # batches that are computed side by side report their progress
            pipe.send(message)

    try:
        translator = load()
        send(Loaded(translator.inference.fingerprint))
    except Exception as error:
        send(Failed(None, _sendable(error)))
        return
    while True:
        number, chunk = waiting.get()
        try:
            found = translator.answer(chunk.requests, chunk.linking, lambda sentences: send(Progressed(sentences)))
            send(Answered(number, [list(translations) for translations in found]))
        except Exception as error:
            send(Failed(number, _sendable(error)))


def _receive(pipe: Connection, waiting: queue.SimpleQueue[tuple[int, Chunk]]) -> None:
    """Takes chunks from the pipe, so that the parent never waits. The process ends with the pipe, even amid a chunk."""
    try:
        while True:
            waiting.put(pipe.recv())
    except (EOFError, OSError):
        os._exit(0)


def _sendable(error: Exception) -> Exception:
    """The error as one that the parent can make again from its text."""
    if isinstance(error, NmtError):
        return NmtError(str(error))
    if isinstance(error, OSError | MemoryError | ModuleNotFoundError):
        return error
    return RuntimeError(f"a worker process failed:\n{''.join(traceback.format_exception(error))}")
