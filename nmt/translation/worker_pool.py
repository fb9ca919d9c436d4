"""Worker processes that load a translator each and answer chunks of requests.

The parent sends chunks to the workers through pipes and yields their answers in order. A worker that ends unexpectedly
is replaced, and its chunks are sent again. Workers are spawned, so that no thread or lock of the parent is copied.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from nmt.errors import NmtError
from nmt.progress import counted
from nmt.progress import report as say
from nmt.translation.inference.protocol import Report
from nmt.translation.result import Translation
from nmt.translation.worker import Answered, Chunk, Failed, Load, Loaded, Message, Progressed, work

AHEAD = 2
"""Chunks that a worker holds: one that it answers, and one that waits."""


@dataclass
class _Worker:
    """A process with the chunks that it holds, by their number."""

    process: BaseProcess
    pipe: Connection
    chunks: dict[int, Chunk] = field(default_factory=dict)
    loaded: bool = False


class WorkerPool:
    """A fixed number of worker processes; see the module.

    Args:
        load: see `Load`.
        processes: number of workers.
    """

    def __init__(self, load: Load, processes: int) -> None:
        self._load, self._processes = load, processes
        self._workers: list[_Worker] = []
        self._next = 0
        self._deaths: dict[int, int] = {}
        self._fingerprint = ""

    def start(self) -> None:
        """Starts the workers, which load their models."""
        self._workers = [self._started() for _ in range(self._processes)]

    def stop(self) -> None:
        """Ends the workers at once, whatever they compute."""
        for worker in self._workers:
            worker.pipe.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
        self._workers = []

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the workers' inference; waits until a worker has loaded its model.

        Raises:
            NmtError: the model cannot be loaded.
        """
        while not self._fingerprint:
            for message in self._messages():
                assert not isinstance(message, Answered)
        return self._fingerprint

    def answers(self, chunks: Iterable[Chunk], report: Report) -> Iterator[list[list[Translation]]]:
        """Yields the answers to each chunk, in order. An error is raised in the place of its chunk.

        Args:
            chunks: may be a stream; at most `AHEAD` for each worker are read ahead.
            report: called with the number of translated sentences.

        Raises:
            Exception: of reading the chunks, or of answering them.
        """
        stream, found = iter(chunks), dict[int, Answered | Failed]()
        turn, ended = self._next, False
        while True:
            while not ended and self._next - turn < AHEAD * self._processes:
                ended = self._send_next(stream, found)
            if turn in found:
                result = found.pop(turn)
                turn += 1
                if isinstance(result, Failed):
                    raise result.error
                yield result.answers
            elif turn == self._next:
                return
            else:
                for message in self._messages():
                    if isinstance(message, Progressed):
                        report(message.sentences)
                    elif isinstance(message, Answered | Failed) and message.number is not None:
                        found[message.number] = message

    def _send_next(self, stream: Iterator[Chunk], found: dict[int, Answered | Failed]) -> bool:
        """Sends the next chunk to the worker that holds the fewest; returns whether there was none.

        An error of reading is found in the place of the chunk, so that the chunks before it are answered first.
        """
        try:
            chunk = next(stream, None)
        except Exception as error:
            found[self._next] = Failed(self._next, error)
            self._next += 1
            return True
        if chunk is not None:
            self._send(min(self._workers, key=lambda worker: len(worker.chunks)), self._next, chunk)
            self._next += 1
        return chunk is None

    def _send(self, worker: _Worker, number: int, chunk: Chunk) -> None:
        worker.chunks[number] = chunk
        with contextlib.suppress(OSError):  # it has ended, which `_messages` finds
            worker.pipe.send((number, chunk))

    def _messages(self) -> Iterator[Message]:
        """Waits for messages of the workers and replaces workers that have ended.

        Raises:
            Exception: a model cannot be loaded.
            NmtError: a worker ended while it loaded the model, or a chunk ended two workers.
        """
        ready = wait([worker.pipe for worker in self._workers])
        for worker in [worker for worker in self._workers if worker.pipe in ready]:
            try:
                message: Message = worker.pipe.recv()
            except (EOFError, OSError):
                self._replace(worker)
                continue
            if isinstance(message, Loaded):
                worker.loaded, self._fingerprint = True, message.fingerprint
            elif isinstance(message, Failed) and message.number is None:
                raise message.error
            elif isinstance(message, Answered | Failed) and message.number is not None:
                del worker.chunks[message.number]
            yield message

    def _replace(self, worker: _Worker) -> None:
        """Starts a worker in place of one that has ended, and sends it the same chunks."""
        worker.pipe.close()
        worker.process.join()
        how = _how_it_ended(worker.process)
        if not worker.loaded:
            raise NmtError(f"a worker process {how} while it loaded the model: try fewer --processes")
        first = min(worker.chunks, default=-1)  # the chunk that it computed
        self._deaths[first] = self._deaths.get(first, 0) + 1
        if first >= 0 and self._deaths[first] > 1:
            raise NmtError(
                f"two worker processes {how.replace('was ', 'were ')} at the same sentences: try fewer --processes, or "
                "smaller batches (--batch-tokens)"
            )
        lines = sum(len(chunk.requests) for chunk in worker.chunks.values())
        say(f"a worker process {how}: a new one translates its {counted(lines, 'line')} again")
        new = self._workers[self._workers.index(worker)] = self._started()
        for number, chunk in worker.chunks.items():
            self._send(new, number, chunk)

    def _started(self) -> _Worker:
        """A new worker. Ctrl-C, which a terminal sends to all processes, is left to the parent."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        arguments = theirs, self._load, self._processes
        process = context.Process(target=work, args=arguments, name="nmt worker", daemon=True)
        resource_tracker.ensure_running()  # its start would unblock the signal
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # the process inherits the mask
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
        return _Worker(process, ours)


def _how_it_ended(process: BaseProcess) -> str:
    code = process.exitcode or 0
    if code >= 0:
        return f"ended with exit code {code}"
    name = signal.Signals(-code).name
    memory = ", as a system without free memory does" if -code == signal.SIGKILL else ""
    return f"was ended by signal {name}{memory}"
