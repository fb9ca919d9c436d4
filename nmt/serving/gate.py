"""The gate in front of the routes: it checks a request's host, token and body before anything reads the request."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nmt.serving.access import Access, bearer
from nmt.serving.limits import MISTAKE, Limits, RefusedError, over_limit

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every answer: the page runs only the scripts of this server, and asks only this server."""

DROPPED = 10
"""Bodies of the largest size that are read and dropped behind the answer to a larger body."""

ENDING = RefusedError(503, "the server is ending", retry_after=2)
"""The answer to a request that is not finished when the server ends."""


class Gate:
    """Passes on the requests that may be answered, with their whole body.

    Args:
        app: answers them.
        limits: of the body.
        access: who may ask.
    """

    def __init__(self, app: ASGIApp, limits: Limits, access: Access) -> None:
        self._app, self._limits, self._access = app, limits, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/v1/"):
                    headers.setdefault("Cache-Control", "no-cache")
                else:
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        body = Body(receive)
        try:
            self._check(scope, Headers(scope=scope))
            whole = await self._whole_body(Headers(scope=scope), body)
        except RefusedError as error:
            large = error.status == 413
            answered = self._end_behind_body(send_with_headers, body) if large else send_with_headers
            await refusal(error)(scope, receive, answered)
        else:
            try:
                await self._app(scope, whole, send_with_headers)
            except asyncio.CancelledError:  # the server ends, and the request has had its seconds
                if not started:
                    await refusal(ENDING)(scope, receive, send_with_headers)
            except Exception:
                if not started:
                    await refusal(MISTAKE)(scope, receive, send_with_headers)
                raise  # for the log

    def _check(self, scope: Scope, headers: Headers) -> None:
        """Checks everything but the body.

        Raises:
            RefusedError: the request may not be answered.
        """
        path, host = scope["path"], headers.get("host", "")
        self._access.check_host(host)
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            self._access.check_origin(headers.get("origin", ""), host)
        if scope["method"] == "OPTIONS":
            return
        if path.startswith("/v1/") or path == "/metrics":
            self._access.check_token(bearer(headers))
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if scope["method"] == "POST" and path.startswith("/v1/") and kind != "application/json":
            raise RefusedError(415, "expected JSON: send Content-Type: application/json")

    async def _whole_body(self, headers: Headers, body: Body) -> Receive:
        """Reads the body, within its limits of size and time; the result hands it on.

        Raises:
            RefusedError: the body is too large or too slow.
        """
        limits = self._limits
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared[:20]) > limits.body:
            raise over_limit(413, f"the body has {int(declared[:20]):,} bytes", "body", limits.body)
        read = bytearray()
        try:
            async with asyncio.timeout(limits.body_seconds):
                while body.more:
                    read += await body.part()
                    if len(read) > limits.body:
                        raise over_limit(413, "the body is too large", "body", limits.body)
        except TimeoutError:
            seconds = limits.body_seconds
            found = f"the body has not arrived within {seconds:g} seconds"
            raise over_limit(408, found, "body_seconds", seconds) from None
        first: list[Message] = [{"type": "http.request", "body": bytes(read), "more_body": False}]

        async def hand_on() -> Message:
            return first.pop() if first else await body.receive()

        return hand_on

    def _end_behind_body(self, send: Send, body: Body) -> Send:
        """Sends an answer at once, and its end when the body has come, within limits of size and time.

        A connection that ends before is reset, and a client that sends all of its body first never reads the answer.
        """

        async def send_answer(message: Message) -> None:
            last = message["type"] == "http.response.body"
            await send({**message, "more_body": True} if last else message)
            if last:
                left = DROPPED * self._limits.body
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._limits.body_seconds):
                        while body.more and left > 0:
                            left -= len(await body.part())
                await send({"type": "http.response.body"})

        return send_answer


class Body:
    """The body of a request, in the parts that arrive.

    Args:
        receive: of the request.
    """

    def __init__(self, receive: Receive) -> None:
        self.receive = receive
        self.more = True
        """Whether another part may arrive."""

    async def part(self) -> bytes:
        """The next part."""
        message = await self.receive()
        self.more = message.get("more_body", False)  # not if the client went away
        found: bytes = message.get("body", b"")
        return found


def refusal(error: RefusedError) -> JSONResponse:
    """The answer to a refused request."""
    headers: dict[str, Any] = {}
    if error.retry_after:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.status in (408, 413):
        headers["Connection"] = "close"
    return JSONResponse(error.to_json(), error.status, headers)
