"""Version 1 of the interface."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from nmt.errors import NmtError
from nmt.explaining.erasure import Erasure
from nmt.serving import messages
from nmt.serving.answers import check_alignments, explanation, score, translated_text
from nmt.serving.engine import Engine
from nmt.serving.limits import MISTAKE, Limits, RefusedError, error_body, over_limit, patiently
from nmt.serving.models import Models
from nmt.serving.requests import checked_targets, checked_texts, translation_requests, without_words
from nmt.text.markup import plain_text
from nmt.translation.result import Translation

T = TypeVar("T")
Found = list[tuple[int, list[Translation]]]
"""The translations of some texts of a request, each with the place of its text."""

STREAMED_TOGETHER, STREAMED_AHEAD = 32, 2
"""Lines of a stream that are computed together, and how often so many are in the queue."""
SMALL = 500
"""Characters of a request that is read, and whose answer is written, without a thread."""
CLIENT_GONE = 499
"""Status of a request whose client went away; only the metrics show it."""

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": messages.ErrorAnswer, "description": description}
    for status, description in (
        (400, "The body is not UTF-8."),
        (401, "A token is missing or wrong."),
        (403, "A page of another origin asks."),
        (404, "No model has this name."),
        (408, "The body did not arrive in time."),
        (413, "A limit of the size is exceeded."),
        (415, "The body has another type than JSON."),
        (421, "The header Host names another host."),
        (422, "The body is not JSON, or the request cannot be read or answered."),
        (429, "The queue is full."),
        (500, "The server made a mistake; its log has the cause."),
        (503, "The model is being loaded, or the server ends."),
        (504, "The answer took too long."),
    )
}


def make_routes(models: Models, limits: Limits) -> APIRouter:
    """The routes below /v1."""
    routes = APIRouter(prefix="/v1", responses=REFUSALS)

    @routes.get("/models", response_model=messages.ModelsAnswer)
    async def list_models() -> Response:
        """The models of this server, the first one answers by default, and the limits of requests."""
        described = [model.describe().model_dump() for model in models.values()]
        return answer({"models": described, "limits": asdict(limits)})

    stream = {"application/x-ndjson": {"schema": {"type": "string"}}}

    @routes.post("/translate", response_model=messages.TranslateAnswer, responses={200: {"content": stream}})
    async def translate(body: messages.TranslateRequest, request: Request) -> Response:
        """Translations of each text; with `target`, given translations are scored and aligned instead."""
        model = models.named(body.model)
        texts = checked_texts(body.text, limits, limits.lines if body.stream else None)
        make = partial(TranslationTask, body, texts, model.engine, limits)
        task = make() if is_small(texts) else await asyncio.to_thread(make)
        if body.stream:
            return StreamingResponse(_lines(task, limits), media_type="application/x-ndjson")
        found = task.find(range(len(texts)))
        return await reply(
            request, found, lambda found: {"model": model.name, "translations": task.describe(found)}, texts, limits
        )

    @routes.post("/align", response_model=messages.TranslateAnswer)
    async def align(body: messages.PairRequest, request: Request) -> Response:
        """Given translations with the attention and the links between their words."""
        engine, texts = models.named(body.model).engine, checked_texts(body.text, limits)
        name, words = models.named(body.model).name, engine.translator.run.source.words

        def described(pairs: list[Translation]) -> dict[str, Any]:
            check_alignments(pairs, limits)
            found = [translated_text(text, words(text), [pair], True) for text, pair in zip(texts, pairs, strict=True)]
            return {"model": name, "translations": found}

        return await reply(request, _aligned(body, texts, engine, limits), described, texts, limits)

    @routes.post("/score", response_model=messages.ScoreAnswer)
    async def score_pairs(body: messages.PairRequest, request: Request) -> Response:
        """Log-probabilities of given translations."""
        engine, texts = models.named(body.model).engine, checked_texts(body.text, limits)
        name, pairs = models.named(body.model).name, _aligned(body, texts, engine, limits)
        return await reply(
            request, pairs, lambda pairs: {"model": name, "scores": [score(pair) for pair in pairs]}, texts, limits
        )

    @routes.post("/explain", response_model=messages.ExplainAnswer)
    async def explain(body: messages.ExplainRequest, request: Request) -> Response:
        """The nats that each target word loses when a source word is erased."""
        model = models.named(body.model)
        found = _erased(body, model.engine, limits)
        return await reply(request, found, lambda found: explanation(model.name, *found), [body.text], limits)

    return routes


class TranslationTask:
    """A request to translate.

    Args:
        body: the request.
        texts: its texts.
        engine: answers it.
        limits: of the server.
        whole: whether texts of several sentences are translated as one.

    Raises:
        RefusedError: a limit is exceeded.
        NmtError: fields that contradict each other.
    """

    def __init__(
        self, body: messages.TranslateRequest, texts: list[str], engine: Engine, limits: Limits, whole: bool = False
    ) -> None:
        self._engine, self._limits = engine, limits
        self._words, self._markup = engine.translator.run.source.words, body.markup
        if body.markup and (body.erase or body.target is not None):
            raise RefusedError(422, "markup is for translating: leave out erase and target")
        self._alignment, self._given = body.alignment, texts
        self._texts = [without_words(text, self._words(text), body.erase) for text in texts] if body.erase else texts
        self._targets = None
        if body.target is not None:
            listed = body.prefix or body.phrases or body.terms or body.terms_required
            if listed or body.n_best > 1 or body.beam_size or body.copy_unknown or body.lexicon:
                raise RefusedError(422, "target is given, so nothing is searched: leave out the fields of a search")
            self._targets = checked_targets(body.target, texts, limits)
        self._requests = translation_requests(body, self._texts, engine.translator, limits)
        if whole:
            self._requests = [
                replace(one, search=replace(one.search, split_sentences="never")) for one in self._requests
            ]

    def __len__(self) -> int:
        return len(self._texts)

    def _words_of(self, place: int, translations: list[Translation]) -> list[str]:
        """The words of a text, those that links count if there are links; without its markup."""
        if self._markup and self._alignment:
            return list(translations[0].alignment.source)
        return self._words(plain_text(self._given[place], self._markup) if self._markup else self._given[place])

    async def find(self, places: Sequence[int]) -> Found:
        """The translations of some of the texts."""
        if self._targets is None:
            found = await self._engine.translate([self._requests[place] for place in places])
        else:
            pairs = await self._engine.align([(self._texts[place], self._targets[place]) for place in places])
            found = [[pair] for pair in pairs]
        return list(zip(places, found, strict=True))

    def describe(self, found: Found) -> list[dict[str, Any]]:
        """The answers for some of the texts, from their translations.

        Raises:
            RefusedError: the alignments have too many cells.
        """
        if self._alignment:
            check_alignments(chain.from_iterable(translations for _, translations in found), self._limits)
        return [
            translated_text(self._texts[place], self._words_of(place, translations), translations, self._alignment)
            for place, translations in found
        ]

    def line(self, place: int, translations: list[Translation]) -> str:
        """The answer for one text as a line of a stream; see `describe`."""
        (values,) = self.describe([(place, translations)])
        return as_json(values) + "\n"


async def _lines(task: TranslationTask, limits: Limits) -> AsyncIterator[str]:
    """The answer of each text as a line of JSON; an error is the last line.

    While some lines are sent, the next ones are computed. A full queue is waited for. Lines are written one at a time,
    because alignments take much more memory as JSON.
    """
    together = min(STREAMED_TOGETHER, max(1, limits.queue // STREAMED_AHEAD))
    parts = [range(first, min(first + together, len(task))) for first in range(0, len(task), together)]
    running: deque[asyncio.Task[Found]] = deque()
    try:
        while parts or running:
            while parts and len(running) < STREAMED_AHEAD:
                running.append(asyncio.create_task(_with_patience(task, parts.pop(0), limits)))
            found = await running[0]
            running.popleft()
            for place, translations in found:
                yield await asyncio.to_thread(task.line, place, translations)
    except NmtError as error:
        body = error.to_json() if isinstance(error, RefusedError) else error_body(str(error))
        yield as_json(body) + "\n"
    except Exception:
        yield as_json(MISTAKE.to_json()) + "\n"
        raise  # for the log
    finally:
        for part in running:
            part.cancel()


async def _with_patience(task: TranslationTask, places: Sequence[int], limits: Limits) -> Found:
    """The translations of some texts of a stream, as soon as the queue has places for them."""
    try:
        async with asyncio.timeout(limits.seconds):
            return await patiently(partial(task.find, places))
    except TimeoutError:
        raise too_slow(limits) from None


async def _aligned(body: messages.PairRequest, texts: list[str], engine: Engine, limits: Limits) -> list[Translation]:
    """The aligned pairs of a request."""
    targets = checked_targets(body.target, texts, limits)
    return await engine.align(list(zip(texts, targets, strict=True)))


async def _erased(body: messages.ExplainRequest, engine: Engine, limits: Limits) -> tuple[Translation, Erasure]:
    """The pair of a request with its erasure."""
    (text,) = checked_texts(body.text, limits)
    vocabularies = engine.translator.run
    for name, sentence, vocabulary in (
        ("text", text, vocabularies.source),
        ("target", body.target or "", vocabularies.target),
    ):
        if (words := len(vocabulary.words(sentence))) > limits.erasures:
            raise over_limit(413, f"the {name} has {words:,} words", "erasures", limits.erasures)
    wanted = messages.TranslateRequest(text=text, target=body.target)
    ((_, (pair,)),) = await TranslationTask(wanted, [text], engine, limits, whole=True).find([0])
    return pair, await engine.erase(pair, body.method)


async def answered(request: Request, work: Coroutine[Any, Any, T], limits: Limits) -> T:
    """The result of a computation, which ends if the client goes away.

    Raises:
        RefusedError: the client went away, or the computation takes too long.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait([task, gone], timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise RefusedError(CLIENT_GONE, "the client went away") if gone.done() else too_slow(limits)
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    """Returns when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def too_slow(limits: Limits) -> RefusedError:
    """The error of a request that takes too long."""
    return over_limit(504, f"the answer took longer than {limits.seconds:g} seconds", "seconds", limits.seconds)


def answer(values: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON. The values fit the description, so nothing checks them again."""
    return Response(as_json(values), status, headers, "application/json")


async def reply(
    request: Request,
    work: Coroutine[Any, Any, T],
    values: Callable[[T], dict[str, Any]],
    texts: Sequence[str],
    limits: Limits,
) -> Response:
    """The answer in JSON to a request, whose time ends when the answer is written.

    A thread writes the answer if the texts are long, so that other clients do not wait for it.

    Args:
        work: computes the result.
        values: makes the answer from the result.
        texts: of the request.

    Raises:
        RefusedError: see `answered`.
    """

    async def written() -> str:
        found = await work
        if is_small(texts):
            return as_json(values(found))
        return await asyncio.to_thread(lambda: as_json(values(found)))

    return Response(await answered(request, written(), limits), media_type="application/json")


def is_small(texts: Sequence[str]) -> bool:
    """Whether work on the texts of a request is too short to be worth a thread."""
    return sum(map(len, texts)) <= SMALL


def as_json(values: Any) -> str:
    """Values as one line of JSON."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
