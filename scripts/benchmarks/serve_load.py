"""Load on `nmt serve`: throughput and time per request for 1, 4, 16 and 64 clients, beside the same sentences through a
`Translator`.

Clients and server share the machine. Each client sends one sentence, waits for the answer, and sends the next one. The
table has the processor time of the clients, and the memory of the server behind each row.

    python scripts/benchmarks/serve_load.py --model saved_models/demo --source data/demo/test.en --requests 2000
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, cycle, islice
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from nmt.errors import NmtError
from nmt.text.lines import read_lines
from scripts.common.running import run_script

TOGETHER = 16
"""Sentences of the library's batches."""
READY_SECONDS = 300


class Row(NamedTuple):
    """A measurement."""

    name: str
    seconds: list[float]
    """Of each request."""
    elapsed: float
    client_seconds: float = 0.0
    """Processor time of the clients."""
    memory: int = 0
    """MiB of the server."""

    def __str__(self) -> str:
        p50, p95, p99 = 1000 * np.percentile(self.seconds, [50, 95, 99])
        speed = len(self.seconds) / self.elapsed
        return (
            f"{self.name:24} {speed:8.1f} {p50:8.1f} {p95:8.1f} {p99:8.1f} {self.client_seconds:8.1f} {self.memory:8d}"
        )


HEADER = f"{'':24} {'per s':>8} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8} {'client s':>8} {'MiB':>8}"


def main() -> None:
    arguments = _arguments()
    sentences = [line for line in read_lines(arguments.source) if line.strip()]
    if not sentences:
        raise NmtError(f"{arguments.source}: has no sentence")
    drawn = list(islice(cycle(sentences), arguments.requests))
    print(HEADER)
    for row in _library(arguments.model, drawn):
        print(row, flush=True)
    with _server(arguments.model) as (port, process):
        _ask(port, drawn[:64], 8)  # warms up
        for clients in arguments.clients:
            started, used = time.perf_counter(), time.process_time()
            seconds = _ask(port, drawn, clients)
            elapsed, spent = time.perf_counter() - started, time.process_time() - used
            memory = process.memory_info().rss >> 20
            print(Row(f"server, {clients} clients", seconds, elapsed, spent, memory), flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="DIR", help="run directory")
    parser.add_argument("--source", required=True, metavar="FILE", help="sentences, one per line")
    parser.add_argument("--requests", type=int, default=1000, metavar="N", help="sentences of each row (default: 1000)")
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N", help="clients of the rows"
    )
    return parser.parse_args()


def _library(model: str, sentences: Sequence[str]) -> Iterator[Row]:
    """The same sentences through a translator, one by one and in batches."""
    from nmt import Translator

    translator = Translator.load(model)
    list(translator.translate(sentences[:TOGETHER]))
    list(translator.translate(sentences[:1]))
    for size in (1, TOGETHER):
        seconds, started = [], time.perf_counter()
        for first in range(0, len(sentences), size):
            begun = time.perf_counter()
            batch = sentences[first : first + size]
            list(translator.translate(batch))
            seconds += [time.perf_counter() - begun] * len(batch)
        yield Row(f"library, batches of {size}", seconds, time.perf_counter() - started)


@contextmanager
def _server(model: str) -> Iterator[tuple[int, psutil.Process]]:
    """A server that is ready: its port and its process."""
    flags = ["--model", model, "--port", "0", "--precision", "float32", "--max-queue", "100000"]
    process = subprocess.Popen([sys.executable, "-m", "nmt", "serve", *flags], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        line = process.stderr.readline()
        if "http://" not in line:
            raise NmtError(f"the server did not start: {line}{process.stderr.read()}")
        port = int(line.rstrip("/\n").rpartition(":")[2])
        end = time.monotonic() + READY_SECONDS
        while _status(port) != 200:
            if time.monotonic() > end:
                raise NmtError("the server is not ready")
            time.sleep(0.2)
        yield port, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _status(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/readyz")
    return connection.getresponse().status


def _ask(port: int, sentences: Sequence[str], clients: int) -> list[float]:
    """The seconds of each request, when some clients share the sentences."""
    places, lock = count(), Lock()
    seconds = [0.0] * len(sentences)
    failures: list[str] = []

    def ask() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while True:
            with lock:
                place = next(places)
            if place >= len(sentences):
                return
            begun = time.perf_counter()
            body = json.dumps({"text": sentences[place]})
            connection.request("POST", "/v1/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            seconds[place] = time.perf_counter() - begun
            if answer.status != 200:
                failures.append(text.decode())
                return

    threads = [Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise NmtError(f"the server refused a request: {failures[0]}")
    return seconds


if __name__ == "__main__":
    sys.exit(run_script(main))
