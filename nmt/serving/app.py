"""The application: routes, errors, and the files of the page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException

from nmt.errors import NmtError
from nmt.serving import libretranslate, v1
from nmt.serving.access import Access
from nmt.serving.gate import Gate, refusal
from nmt.serving.limits import Limits, RefusedError, error_body
from nmt.serving.metrics import Metrics, Observer
from nmt.serving.models import Models
from nmt.serving.page_files import add_page
from nmt.serving.unreadable import problem_of
from nmt.version import __version__


def create_app(
    models: Models, limits: Limits | None = None, access: Access | None = None, log: Callable[[str], None] | None = None
) -> FastAPI:
    """The application over some models.

    Args:
        models: loaded when the application starts.
        limits: of requests.
        access: who may ask; by default everybody who can reach this machine by its address or as localhost.
        log: writes a line about each request; None: nothing is written.
    """
    limits, access = limits or Limits(), access or Access()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        models.start()
        measuring = asyncio.create_task(metrics.keep_current())
        yield
        measuring.cancel()
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
    metrics = Metrics(models)
    app.include_router(v1.make_routes(models, limits))
    app.include_router(libretranslate.make_routes(models, limits, access))
    _add_health(app, models, metrics)
    _add_errors(app)
    add_page(app)
    app.add_middleware(Gate, limits=limits, access=access)
    if access.origins:  # outside the gate: a page may read why it is refused
        app.add_middleware(
            CORSMiddleware,
            allow_origins=access.origins,
            allow_methods=["*"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["Retry-After"],
        )
    app.add_middleware(Observer, metrics=metrics, log=log, paths=frozenset(app.openapi()["paths"]))
    return app


def _add_health(app: FastAPI, models: Models, metrics: Metrics) -> None:
    """Routes for a supervisor."""

    def get(path: str, **options: Any) -> Callable[[Any], Any]:
        """A route that answers GET, and HEAD for probes that read the status alone."""

        def add(function: Any) -> Any:
            app.add_api_route(path, function, methods=["HEAD"], include_in_schema=False)
            return app.get(path, **options)(function)

        return add

    @get("/healthz")
    async def is_alive() -> Response:
        """Whether the process answers."""
        return v1.answer({"status": "ok"})

    @get("/readyz")
    async def is_ready() -> Response:
        """Whether every model is loaded: 200, or 503."""
        states = {model.name: model.state for model in models.values()}
        return v1.answer({"ready": models.ready, "models": states}, 200 if models.ready else 503)

    @get("/metrics", response_class=PlainTextResponse)
    async def measure() -> Response:
        """Measurements in the format of Prometheus."""
        return Response(metrics.text(), media_type="text/plain; version=0.0.4")


def _add_errors(app: FastAPI) -> None:
    """Errors as one line of JSON."""

    @app.exception_handler(NmtError)
    async def refuse(_: Request, error: NmtError) -> Response:
        return refusal(error if isinstance(error, RefusedError) else RefusedError(422, str(error)))

    @app.exception_handler(RequestValidationError)
    async def unreadable(request: Request, error: RequestValidationError) -> Response:
        body = request.scope["route"].body_field
        fields = body.field_info.annotation.model_fields if body else ()
        return v1.answer(error_body(problem_of(error.errors(), fields=fields)), 422)

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> Response:
        return v1.answer(error_body(str(error.detail)), error.status_code, dict(error.headers or {}))
