"""The files of the page: its own, and below `view/` the files that draw sentences, with or without a server."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import resources
from typing import NamedTuple

from fastapi import FastAPI, Request, Response

from nmt.drawing.page import html_page

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


class PageFile(NamedTuple):
    """A file as the server sends it."""

    content: bytes
    media_type: str


def page_files() -> dict[str, PageFile]:
    """Every file by its path in an address; "" is the page itself. There is nothing else to ask for."""
    files = {name: _read("nmt.serving.page", name) for name in _names("nmt.serving.page")}
    files |= {f"view/{name}": _read("nmt.drawing.page", name) for name in _names("nmt.drawing.page")}
    del files["view/page.html"]  # a template; view/empty.html is the page that it makes
    files["view/empty.html"] = PageFile(html_page([]).encode(), "text/html; charset=utf-8")
    return files | {"": files["index.html"]}


def _names(package: str) -> list[str]:
    names = [entry.name for entry in resources.files(package).iterdir()]
    return sorted(name for name in names if name.endswith(tuple(_TYPES)))


def _read(package: str, name: str) -> PageFile:
    suffix = name[name.rindex(".") :]
    return PageFile(resources.files(package).joinpath(name).read_bytes(), f"{_TYPES[suffix]}; charset=utf-8")


def add_page(app: FastAPI) -> None:
    """Adds a route for each file. A browser asks for a file again each time, and gets it when it has changed."""
    for path, file in page_files().items():
        app.add_api_route(f"/{path}", _sender(file), methods=["GET", "HEAD"], include_in_schema=False)


def _sender(file: PageFile) -> Callable[[Request], Response]:
    tag = f'"{hashlib.sha256(file.content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}

    def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media_type)

    return send
