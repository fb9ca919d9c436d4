"""The files of the page: its own, and below `view/` the files that draw sentences, with or without a server."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

from nmt.drawing.page import html_page

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
"""Media types by the end of a file's name."""


class PageFile(NamedTuple):
    """A file as a server sends it."""

    content: bytes
    media_type: str


def page_files() -> dict[str, PageFile]:
    """Every file by its path in an address; the page itself is index.html. There is nothing else to ask for."""
    files = {name: _read("nmt.web.page", name) for name in _names("nmt.web.page")}
    files |= {f"view/{name}": _read("nmt.drawing.page", name) for name in _names("nmt.drawing.page")}
    del files["view/page.html"]  # a template; view/empty.html is the page that it makes
    files["view/empty.html"] = PageFile(html_page([]).encode(), "text/html; charset=utf-8")
    return files


def _names(package: str) -> Iterator[str]:
    names = (entry.name for entry in resources.files(package).iterdir())
    return (name for name in sorted(names) if name.endswith(tuple(TYPES)))


def _read(package: str, name: str) -> PageFile:
    suffix = name[name.rindex(".") :]
    return PageFile(resources.files(package).joinpath(name).read_bytes(), f"{TYPES[suffix]}; charset=utf-8")
