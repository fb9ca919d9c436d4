"""Version 1 of the interface."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from nmt.errors import NmtError
from nmt.serving import messages
from nmt.serving.answers import explanation, score, translated_text
from nmt.serving.engine import Engine
from nmt.serving.limits import Limits, RefusedError, error_body, over_limit
from nmt.serving.models import Models, ServedModel
from nmt.serving.requests import checked_targets, checked_texts, translation_requests, without_words
from nmt.translation.result import Translation

STREAMED_TOGETHER = 32
"""Lines of a stream that are computed together."""

REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": messages.ErrorAnswer, "description": description}
    for status, description in (
        (404, "No model has this name."),
        (413, "A limit of the size is exceeded."),
        (422, "The request cannot be read or answered."),
        (429, "The queue is full."),
        (503, "The model is being loaded."),
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

    @routes.post("/translate", response_model=messages.TranslateAnswer)
    async def translate(body: messages.TranslateRequest) -> Response:
        """Translations of each text; with `target`, given translations are scored and aligned instead."""
        model = models.named(body.model)
        texts = checked_texts(body.text, limits, limits.lines if body.stream else None)
        task = TranslationTask(body, texts, model, limits)
        if body.stream:
            return StreamingResponse(_lines(task), media_type="application/x-ndjson")
        found = await task.translate(range(len(texts)))
        return answer({"model": model.name, "translations": found})

    @routes.post("/align", response_model=messages.TranslateAnswer)
    async def align(body: messages.PairRequest) -> Response:
        """Given translations with the attention and the links between their words."""
        model, texts, pairs = await _aligned(body, models, limits)
        words = model.translator.run.source.words
        found = [
            translated_text(text, words(text), [pair], alignment=True) for text, pair in zip(texts, pairs, strict=True)
        ]
        return answer({"model": model.name, "translations": found})

    @routes.post("/score", response_model=messages.ScoreAnswer)
    async def score_pairs(body: messages.PairRequest) -> Response:
        """Log-probabilities of given translations."""
        model, _, pairs = await _aligned(body, models, limits)
        return answer({"model": model.name, "scores": [score(pair) for pair in pairs]})

    @routes.post("/explain", response_model=messages.ExplainAnswer)
    async def explain(body: messages.ExplainRequest) -> Response:
        """The nats that each target word loses when a source word is erased."""
        model = models.named(body.model)
        (text,) = checked_texts(body.text, limits)
        words = len(model.translator.run.source.words(text))
        if words > limits.erasures:
            raise over_limit(413, f"the text has {words:,} words", "erasures", limits.erasures)
        task = TranslationTask(
            messages.TranslateRequest(text=text, target=body.target), [text], model, limits, whole=True
        )
        ((pair,),) = await task.find([0])
        found = await task.engine.erase(pair, body.method)
        return answer(explanation(model.name, pair, found))

    return routes


class TranslationTask:
    """A request to translate.

    Args:
        body: the request.
        texts: its texts.
        model: answers it.
        limits: of the server.
        whole: whether texts of several sentences are translated as one.

    Raises:
        RefusedError: a limit is exceeded, or the model is not loaded.
        NmtError: fields that contradict each other.
    """

    def __init__(
        self, body: messages.TranslateRequest, texts: list[str], model: ServedModel, limits: Limits, whole: bool = False
    ) -> None:
        translator = model.translator
        self._cut = translator.run.source.words
        self._alignment, self._given = body.alignment, texts
        self._texts = [without_words(text, self._cut(text), body.erase) for text in texts] if body.erase else texts
        self.engine = Engine(translator)
        self._targets = None
        if body.target is not None:
            if body.prefix or body.phrases or body.terms or body.n_best > 1 or body.beam_size:
                raise RefusedError(422, "target is given, so nothing is searched: leave out the fields of a search")
            self._targets = checked_targets(body.target, texts, limits)
        self._requests = translation_requests(body, self._texts, translator, limits)
        if whole:
            self._requests = [
                replace(one, search=replace(one.search, split_sentences="never")) for one in self._requests
            ]

    def __len__(self) -> int:
        return len(self._texts)

    async def find(self, places: Sequence[int]) -> list[list[Translation]]:
        """The translations of some of the texts."""
        if self._targets is None:
            return await self.engine.translate([self._requests[place] for place in places])
        pairs = await self.engine.align([(self._texts[place], self._targets[place]) for place in places])
        return [[pair] for pair in pairs]

    async def translate(self, places: Sequence[int]) -> list[dict[str, Any]]:
        """The answers for some of the texts."""
        found = await self.find(places)
        return [
            translated_text(self._texts[place], self._cut(self._given[place]), translations, self._alignment)
            for place, translations in zip(places, found, strict=True)
        ]


async def _lines(task: TranslationTask) -> AsyncIterator[str]:
    """The answer of each text as a line of JSON; an error is the last line."""
    try:
        for first in range(0, len(task), STREAMED_TOGETHER):
            places = range(first, min(first + STREAMED_TOGETHER, len(task)))
            for found in await task.translate(places):
                yield as_json(found) + "\n"
    except NmtError as error:
        body = error.to_json() if isinstance(error, RefusedError) else error_body(str(error))
        yield as_json(body) + "\n"


async def _aligned(
    body: messages.PairRequest, models: Models, limits: Limits
) -> tuple[ServedModel, list[str], list[Translation]]:
    """The model, the texts and the aligned pairs of a request."""
    model = models.named(body.model)
    texts = checked_texts(body.text, limits)
    targets = checked_targets(body.target, texts, limits)
    pairs = await Engine(model.translator).align(list(zip(texts, targets, strict=True)))
    return model, texts, pairs


def answer(values: dict[str, Any], status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON. The values fit the description, so nothing checks them again."""
    return Response(as_json(values), status, headers, "application/json")


def as_json(values: dict[str, Any]) -> str:
    """One line of JSON."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
