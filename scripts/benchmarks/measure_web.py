"""Time to the first translation, and words per second, of a web folder in Chromium.

    nmt export --model saved_models/demo --format web --output demo.web
    python scripts/benchmarks/measure_web.py demo.web

Each start is a new browser without a cache, and the page comes from a file server on this machine. The time to the
first translation begins when the address is opened, and ends when the page shows the translation of one sentence. A
second visit finds the files in the browser's cache.

Each sentence is a request to the model, as the page sends them. Words are those of the translations. Starts and
drawing do not count. The translations are compared with those of `nmt translate --model FOLDER`. It needs Chromium
and the extra `browser`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from nmt.text.lines import read_lines

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]

TRANSLATE = """async ([sentences, beam_size]) => {
    const { ask } = await import("./server.js");
    const found = [];
    const begin = performance.now();
    for (const text of sentences) found.push(await ask("v1/translate", { text, beam_size }));
    const seconds = (performance.now() - begin) / 1000;
    return [found.map(({ translations }) => translations[0].candidates[0].text), seconds];
}"""


def main() -> None:
    """Measures the folder, prints a line for each number, and writes them as JSON where --json says so."""
    arguments = parse()
    sentences = list(read_lines(str(arguments.source)))[: arguments.limit]
    with serving(arguments.folder) as address:
        starts = [first_translation(address, sentences[0]) for _ in range(arguments.repeats)]
        rates = speeds(address, arguments.folder, sentences)
    values = {
        "download_mib": downloaded(arguments.folder) / 2**20,
        "first_translation_s": statistics.median(first for first, _ in starts),
        "second_visit_s": statistics.median(second for _, second in starts),
        **rates,
    }
    for name, value in values.items():
        print(f"{name:24} {value:10.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder that nmt export --format web wrote")
    parser.add_argument("--source", type=Path, default=Path("data/demo/test.en"), help="sentences to translate")
    parser.add_argument("--limit", type=int, default=100, help="number of sentences (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=5, help="starts of the browser (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="file for the numbers")
    return parser.parse_args()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files, and writes no lines about it."""

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a file server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@contextmanager
def browsing() -> Iterator[Any]:
    """A browser with an empty cache."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=chromium, args=FLAGS)
        yield started
        started.close()


def first_translation(address: str, sentence: str) -> tuple[float, float]:
    """Seconds until the first translation, of a first and of a second visit."""
    with browsing() as started:
        context = started.new_context()
        return visit(context.new_page(), address, sentence), visit(context.new_page(), address, sentence)


def visit(page: Any, address: str, sentence: str) -> float:
    """Seconds from opening the page to a translation on it."""
    begin = time.perf_counter()
    page.goto(address)
    page.locator("#text").fill(sentence)
    page.locator(".result").first.wait_for(timeout=120_000)
    return time.perf_counter() - begin


def speeds(address: str, folder: Path, sentences: Sequence[str]) -> dict[str, float]:
    """Words per second and equal translations, by beam size."""
    import nmt

    translator = nmt.Translator.load(folder)
    values: dict[str, float] = {}
    with browsing() as started:
        page = started.new_page()
        visit(page, address, sentences[0])
        for beam in (1, 5):
            page.evaluate(TRANSLATE, [sentences[:10], beam])  # the browser compiles what runs often
            found, seconds = page.evaluate(TRANSLATE, [sentences, beam])
            search = replace(translator.config.search, beam_size=beam)
            expected = [one.text for one in translator.translate(sentences, search)]
            values[f"beam_{beam}_words_per_s"] = sum(len(text.split()) for text in found) / seconds
            values[f"beam_{beam}_ms_per_sentence"] = 1000 * seconds / len(sentences)
            values[f"beam_{beam}_equal_share"] = sum(map(str.__eq__, found, expected)) / len(sentences)
    return values


def downloaded(folder: Path) -> int:
    """Bytes that the page states."""
    unread = ("README.md", "config.json", "export.json", "manifest.json", "profile.json", "LICENSE")
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name not in unread)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.exit(run_script(main))
