"""Load on `nmt serve`: throughput and time per request for 1, 4, 16 and 64 clients, beside the same sentences through a
`Translator`.

Clients and server share the machine. Each client sends one sentence, waits for the answer, and sends the next one. The
table has the processor time of each request, in the clients and in the library or server, and the memory of the server
after each row. With many requests it also has the memory during a row:

    python scripts/benchmarks/serve_load.py --model saved_models/demo --source data/demo/test.en --requests 2000
    python scripts/benchmarks/serve_load.py --model saved_models/demo --source data/demo/test.en --requests 100000 \\
        --clients 16 --no-library

With --compare it also compares the answers with the translations of the library, alignments included.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, cycle, islice
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from nmt.errors import NmtError
from nmt.text.lines import read_lines
from scripts.common.running import run_script

TOGETHER = 16
"""Sentences of the library's batches."""
READY_SECONDS = 300
LOOKS = 20
"""Looks at the memory of the server during a row of `MANY` requests or more."""
MANY = 5000
TIE = 1e-4
"""Nats between two translations that rounding may swap."""


class Row(NamedTuple):
    """A measurement."""

    name: str
    seconds: list[float]
    """Of each request."""
    elapsed: float
    used: float
    """Processor time of the library or the server, in seconds."""
    by_clients: float = 0.0
    """Processor time of the clients, in seconds."""
    memory: int = 0
    """MiB of the server."""

    @property
    def speed(self) -> float:
        """Requests per second."""
        return len(self.seconds) / self.elapsed

    def percentile(self, share: int) -> float:
        """Milliseconds within which this share of the requests is answered, in percent."""
        return 1000 * float(np.percentile(self.seconds, share))

    def __str__(self) -> str:
        times = [self.percentile(share) for share in (50, 95, 99)]
        times += [1000 * used / len(self.seconds) for used in (self.used, self.by_clients)]
        return f"{self.name:24} {self.speed:8.1f} {' '.join(f'{time:8.1f}' for time in times)} {self.memory:8d}"


HEADER = " ".join(
    [" " * 24, *(f"{name:>8}" for name in ("per s", "p50 ms", "p95 ms", "p99 ms", "cpu ms", "client", "MiB"))]
)


def main() -> None:
    arguments = _arguments()
    sentences = [line for line in read_lines(arguments.source) if line.strip()]
    if not sentences:
        raise NmtError(f"{arguments.source}: has no sentence")
    drawn = list(islice(cycle(sentences), arguments.requests))
    print(HEADER)
    alone, together = _library(arguments.model, drawn) if arguments.library else (None, None)
    answers: list[Any] = [None] * len(drawn) if arguments.compare else []
    with _server(arguments.model) as (port, process):
        for clients in (1, 8):  # warms up
            _ask(port, drawn[:64], clients)
        for clients in arguments.clients:
            row = _row(port, process, drawn, clients, answers)
            print(row, flush=True)
            if clients == 1 and alone:
                print(f"  p95 is {row.percentile(95) - alone.percentile(95):.1f} ms above the library's")
            if clients == TOGETHER and together:
                print(f"  {100 * row.speed / together.speed:.0f} % of the library's speed in batches of {TOGETHER}")
            if arguments.compare:
                _compare(arguments.model, drawn, answers)


def _compare(model: str, sentences: Sequence[str], answers: Sequence[Any]) -> None:
    """Prints how many answers equal the library's, and the sentences whose answers differ."""
    from nmt import Translator

    same, ties, others = 0, 0, []
    for found, expected in zip(answers, Translator.load(model).translate(sentences), strict=True):
        own, near = expected.alignment, abs(found["log_probability"] - expected.log_probability) <= TIE
        equal = near and found["text"] == expected.text and found["alignment"]["links"] == own.to_json()["links"]
        if equal and np.allclose(found["alignment"]["weights"], own.weights, rtol=0, atol=2 * TIE):
            same += 1
        elif near and not equal:
            ties += 1
        else:
            others.append(f"  {expected.source}: {found['text']} instead of {expected.text}")
    print(f"  {same:,} answers equal the library's, {ties:,} differ at ties within {TIE:g} nats", *others, sep="\n")


def _row(port: int, process: psutil.Process, sentences: Sequence[str], clients: int, answers: list[Any]) -> Row:
    """The measurement of some clients."""

    def look(place: int) -> None:
        print(f"  {place:8d} requests: {process.memory_info().rss >> 20} MiB", flush=True)

    def used() -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    started, by_clients, by_server = time.perf_counter(), time.process_time(), used()
    seconds = _ask(port, sentences, clients, look if len(sentences) >= MANY else None, answers)
    elapsed = time.perf_counter() - started
    spent = used() - by_server, time.process_time() - by_clients
    return Row(f"server, {clients} clients", seconds, elapsed, *spent, process.memory_info().rss >> 20)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, metavar="DIR", help="run directory")
    parser.add_argument("--source", required=True, metavar="FILE", help="sentences, one per line")
    parser.add_argument("--requests", type=int, default=1000, metavar="N", help="sentences of each row (default: 1000)")
    parser.add_argument(
        "--clients", type=int, nargs="+", default=[1, 4, 16, 64], metavar="N", help="clients of the rows"
    )
    parser.add_argument("--compare", action="store_true", help="compare the answers with the library's translations")
    parser.add_argument(
        "--no-library", dest="library", action="store_false", help="leave out the sentences through a translator"
    )
    return parser.parse_args()


def _library(model: str, sentences: Sequence[str]) -> tuple[Row, Row]:
    """The same sentences through a translator, one by one and in batches."""
    from nmt import Translator

    translator = Translator.load(model)
    rows = []
    for size in (1, TOGETHER):
        list(translator.translate(sentences[:size]))  # warms up
        seconds, started, used = [], time.perf_counter(), time.process_time()
        for first in range(0, len(sentences), size):
            begun = time.perf_counter()
            batch = sentences[first : first + size]
            list(translator.translate(batch))
            seconds += [time.perf_counter() - begun] * len(batch)
        elapsed, spent = time.perf_counter() - started, time.process_time() - used
        rows.append(Row(f"library, batches of {size}", seconds, elapsed, spent))
        print(rows[-1], flush=True)
    return rows[0], rows[1]


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


def _ask(
    port: int,
    sentences: Sequence[str],
    clients: int,
    look: Callable[[int], None] | None = None,
    answers: list[Any] | None = None,
) -> list[float]:
    """The seconds of each request, when some clients share the sentences.

    Args:
        look: called `LOOKS` times with the number of requests.
        answers: if it has a place for each sentence, it gets the best translations with their alignments.
    """
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
            if look and place % (len(sentences) // LOOKS) == 0:
                look(place)
            begun = time.perf_counter()
            body = json.dumps({"text": sentences[place], **({"alignment": True} if answers else {})})
            connection.request("POST", "/v1/translate", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            seconds[place] = time.perf_counter() - begun
            if answers and answer.status == 200:
                answers[place] = json.loads(text)["translations"][0]["candidates"][0]
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
