"""The page of `nmt serve` in a real browser, on a server with a translator that writes words in capitals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import fake_translator
import uvicorn
from browsing import TranslatingPage
from small_server import Fake

from nmt.errors import NmtError
from nmt.serving.app import create_app
from nmt.serving.limits import Limits
from nmt.serving.models import Models
from nmt.serving.server import bind
from nmt.translation.result import Translation

HEBREW = {"the": "ה", "book": "ספר", "new": "חדש"}


class Paged(Fake):
    """The n-th translation of a text has its last word n - 1 times more. `ending` is behind each translation."""

    def __init__(self, ending: str = "") -> None:
        super().__init__()
        self.ending = ending.split()

    def answer(self, requests: Iterable[Any], *_: Any, **__: Any) -> Iterator[list[Translation]]:
        for request in requests:
            if "wrong" in request.text:
                raise NmtError("a text that cannot be translated")
            words = [HEBREW.get(word, word.upper()) for word in request.text.split()]
            words += self.ending
            words[: len(request.prefix.split())] = request.prefix.split()
            yield [
                replace(one, log_probability=-1.5 - n, score=-1.0 - n)
                for n in range(request.candidates)
                for one in [fake_translator.make_pair(request.text, " ".join(words + words[-1:] * n), truncated=False)]
            ]


@contextmanager
def serving(models: Models, limits: Limits | None = None) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    listener = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(models, limits), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server.should_exit = True
    thread.join(30)


class Opened(TranslatingPage):
    """The page of a server."""

    def word(self, text: str) -> Any:
        return self.page.locator("article .word").filter(has=self.page.locator(f'.text:text-is("{text}")')).first

    def saved(self, act: Callable[[], None]) -> tuple[str, bytes]:
        """Name and content of the file that `act` downloads."""
        with self.page.expect_download() as download:
            act()
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def drop(opened: Opened, name: str, text: str, raw: list[int] | None = None) -> None:
    """Drops a file on the page."""
    opened.page.evaluate(
        """([name, text, raw]) => {
            const files = new DataTransfer();
            files.items.add(new File([raw ? new Uint8Array(raw) : text], name));
            const options = {dataTransfer: files, bubbles: true, cancelable: true};
            for (const kind of ["dragenter", "dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(kind, options));
        }""",
        [name, text, raw],
    )
