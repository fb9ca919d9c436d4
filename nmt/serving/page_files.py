"""The files of the page as routes of the server."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from fastapi import FastAPI, Request, Response

from nmt.web.files import PageFile, page_files


def add_page(app: FastAPI) -> None:
    """Adds a route for each file. A browser asks for a file again each time, and gets it when it has changed."""
    files = page_files()
    for path, file in {**files, "": files["index.html"]}.items():
        app.add_api_route(f"/{path}", _sender(file), methods=["GET", "HEAD"], include_in_schema=False)


def _sender(file: PageFile) -> Callable[[Request], Response]:
    tag = f'"{hashlib.sha256(file.content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "no-cache"}

    def send(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, headers=headers, media_type=file.media_type)

    return send
