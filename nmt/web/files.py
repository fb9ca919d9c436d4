"""The files of the page: its own, and below `view/` the files that draw sentences.

A server sends them as they are. A static folder has other files beside them, which stand in for the server.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from string import Template
from typing import NamedTuple

from nmt.drawing.page import html_page

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
"""Media types by the end of a file's name."""

_INDEX = "index.html"


class PageFile(NamedTuple):
    """A file as a server sends it."""

    content: bytes
    media_type: str


def page_files() -> dict[str, PageFile]:
    """Every file of the server's page by its path in an address. There is nothing else to ask for."""
    files = {name: PageFile(content, _type(name)) for name, content in _shared_files().items()}
    scripts = "Its scripts come from this server alone."
    page = _filled(files[_INDEX].content, policy="", loading="", about="", scripts=scripts)
    return {**files, _INDEX: PageFile(page, _type(_INDEX))}


_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; "
    "style-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
)
"""The policy of a folder: all comes from the place of the page, and WebAssembly may be compiled."""

_LOADING = """<p id="unstarted">The page has not started. It needs a browser of 2024 or newer, and a file server:
run <code>python3 -m http.server --bind 127.0.0.1 8000</code> in its folder, and open
<code>http://127.0.0.1:8000/</code></p>
<p id="loading" class="quiet" hidden><span>Loading the model</span>
<progress aria-label="model loaded" max="1" value="0"></progress></p>
"""

_ABOUT = "The model runs in this browser, and no text leaves it. The page loads $download MiB once: $parts."


def folder_files(sizes: dict[str, int]) -> dict[str, bytes]:
    """The files of a page that is a static folder, by their paths in it, but for the model and ONNX Runtime.

    Args:
        sizes: bytes of the other files that the page loads, by a name for readers.
    """
    files = _shared_files() | dict(_texts("nmt.web.offline"))
    files |= {f"engine/{name}": content for name, content in _texts("nmt.web.engine")}
    sizes = {**sizes, "page": sum(map(len, files.values()))}
    parts = ", ".join(f"{size / 2**20:.1f} {name}" for name, size in sizes.items())
    about = Template(_ABOUT).substitute(download=f"{sum(sizes.values()) / 2**20:.1f}", parts=parts)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    about = f'<p class="quiet">{about}</p>\n'
    scripts = "Its scripts come from this folder alone."
    page = _filled(files[_INDEX], policy=policy, loading=_LOADING, about=about, scripts=scripts)
    return {**files, _INDEX: page}


def _shared_files() -> dict[str, bytes]:
    """The files of both kinds of page; index.html has places to fill in."""
    files = dict(_texts("nmt.web.page"))
    files |= {f"view/{name}": content for name, content in _texts("nmt.drawing.page")}
    for template in ("frame.html", "page.html"):  # view/empty.html is the page that they make
        del files[f"view/{template}"]
    return files | {"view/empty.html": html_page([]).encode()}


def _filled(page: bytes, **parts: str) -> bytes:
    return Template(page.decode()).substitute(parts).encode()


def _texts(package: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(resources.files(package).iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(tuple(TYPES)):
            yield entry.name, entry.read_bytes()


def _type(name: str) -> str:
    return f"{TYPES[name[name.rindex('.') :]]}; charset=utf-8"
