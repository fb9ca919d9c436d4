"""Limits of the server, and the errors that name them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from nmt.config.checks import require_positive
from nmt.config.fields import setting
from nmt.errors import NmtError

T = TypeVar("T")


@dataclass(frozen=True)
class Limits:
    """Limits of one request and of the queue."""

    characters: int = setting(10_000, "Characters of one text.")
    texts: int = setting(100, "Texts of one request that is answered at once.")
    lines: int = setting(20_000, "Texts of one request whose answer is a stream.")
    beam_size: int = setting(16, "Hypotheses of the beam.")
    phrases: int = setting(20, "Phrases, terms and entries of the lexicon of one request.")
    erasures: int = setting(
        200, "Words of a sentence that is explained, and of its translation: each source word costs a forward pass."
    )
    alignment_cells: int = setting(
        1_000_000,
        "Source words times target words, summed over the alignments of one answer, or of a line of a stream.",
    )
    body: int = setting(4_000_000, "Bytes of the body of a request.")
    body_seconds: float = setting(20.0, "Seconds in which a client sends a request.")
    seconds: float = setting(60.0, "Seconds until a request is answered.")
    queue: int = setting(1000, "Unfinished sentences of each model.")

    def __post_init__(self) -> None:
        require_positive(self, *(field.name for field in dataclasses.fields(self)))


class RefusedError(NmtError):
    """A request that the server refuses.

    Args:
        status: of the HTTP answer.
        message: one line.
        limit: the name of the limit that the request exceeds.
        value: the limit.
        retry_after: seconds after which another attempt makes sense.
    """

    def __init__(
        self, status: int, message: str, limit: str = "", value: float = 0, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.limit, self.value, self.retry_after = status, limit, value, retry_after

    def to_json(self) -> dict[str, object]:
        """The body of the HTTP answer."""
        return error_body(str(self), self.limit, self.value)


MISTAKE = RefusedError(500, "the server made a mistake: its log has the cause")
"""The answer to a request that meets an unexpected error."""


def error_body(message: str, limit: str = "", value: float = 0) -> dict[str, object]:
    """The body of an answer to a refused request."""
    line = " ".join(message.split()).encode(errors="backslashreplace").decode()  # quoted names may have surrogates
    return {"error": line, "limit": limit, "value": value} if limit else {"error": line}


def over_limit(status: int, found: str, limit: str, value: float) -> RefusedError:
    """The error of a request beyond a limit; `found` says what the request has."""
    return RefusedError(status, f"{found}: the limit is {value:,}", limit, value)


async def patiently(compute: Callable[[], Awaitable[T]]) -> T:
    """The result of a computation, as soon as the queue has places for it."""
    while True:
        try:
            return await compute()
        except RefusedError as error:
            if error.status != 429:
                raise
            await asyncio.sleep(error.retry_after or 1)
