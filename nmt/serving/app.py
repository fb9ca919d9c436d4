"""The application: routes, errors, and the files of the page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from nmt.errors import NmtError
from nmt.serving import v1
from nmt.serving.limits import Limits, RefusedError, error_body
from nmt.serving.models import Models
from nmt.serving.page_files import add_page
from nmt.version import __version__


def create_app(models: Models, limits: Limits | None = None) -> FastAPI:
    """The application over some models.

    Args:
        models: loaded when the application starts.
        limits: of requests.
    """
    limits = limits or Limits()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        models.start()
        yield
        models.stop()

    app = FastAPI(
        title="nmt",
        version=__version__,
        description="Translations with their attention, alignments and scores.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        lifespan=lifespan,
    )
    app.include_router(v1.make_routes(models, limits))
    _add_health(app, models)
    _add_errors(app)
    add_page(app)
    return app


def _add_health(app: FastAPI, models: Models) -> None:
    """Routes for a supervisor."""

    @app.get("/healthz")
    async def is_alive() -> Response:
        """Whether the process answers."""
        return v1.answer({"status": "ok"})

    @app.get("/readyz")
    async def is_ready() -> Response:
        """Whether every model is loaded: 200, or 503."""
        states = {model.name: model.state for model in models.values()}
        return v1.answer({"ready": models.ready, "models": states}, 200 if models.ready else 503)


def _add_errors(app: FastAPI) -> None:
    """Errors as one line of JSON."""

    @app.exception_handler(NmtError)
    async def refuse(_: Request, error: NmtError) -> Response:
        if not isinstance(error, RefusedError):
            return v1.answer(error_body(str(error)), 422)
        headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
        return v1.answer(error.to_json(), error.status, headers)

    @app.exception_handler(RequestValidationError)
    async def unreadable(_: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return v1.answer(error_body(f"{where}: {first['msg']}"), 422)

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> Response:
        return v1.answer(error_body(str(error.detail)), error.status_code, dict(error.headers or {}))
