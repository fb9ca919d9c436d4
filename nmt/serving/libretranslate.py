"""The interface of LibreTranslate, so that its clients work: /translate, /languages, /detect, /frontend/settings.

Bodies are forms or JSON. A language is one of a loaded model; its code is its tag.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, ValidationError

from nmt.serving.access import Access, bearer
from nmt.serving.limits import Limits, RefusedError
from nmt.serving.messages import Unicode
from nmt.serving.models import LOADING_SECONDS, Models, ServedModel
from nmt.serving.requests import as_texts, checked_texts, search_of
from nmt.serving.unreadable import problem_of
from nmt.serving.v1 import answer, answered, as_json
from nmt.text.languages import Language, english_name, guess_language, main_script, script_counts
from nmt.text.markup import MarkupKind
from nmt.translation.request import TranslationRequest


class Asked(BaseModel):
    """The parameters of a request. Unknown ones are ignored, as LibreTranslate does."""

    q: Unicode | list[Unicode] = ""
    source: Unicode = "auto"
    target: Unicode = ""
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0)
    api_key: Unicode = ""


def make_routes(models: Models, limits: Limits, access: Access) -> APIRouter:
    """The routes of LibreTranslate."""
    routes = APIRouter(include_in_schema=False)

    async def read(request: Request) -> Asked:
        """The parameters of a request that has the token, if one is needed."""
        asked = await _parameters(request)
        access.check_token(asked.api_key or bearer(request.headers))
        return asked

    @routes.api_route("/languages", methods=["GET", "POST"])
    async def languages(request: Request) -> Response:
        """Each source language with the languages that it is translated to."""
        await read(request)
        pairs = [(source, target) for _, source, target in _pairs(models)]
        found = [
            _language(code) | {"targets": sorted({target for source, target in pairs if source == code})}
            for code in dict.fromkeys(source for source, _ in pairs)
        ]
        return _list(found)

    @routes.post("/detect")
    async def detect(request: Request) -> Response:
        """The languages of the models that the text can be in, by its script."""
        asked = await read(request)
        (text,) = checked_texts(_given(asked)[:1], limits)
        return _list(_detected(text, {code for _, *pair in _pairs(models) for code in pair}))

    @routes.get("/frontend/settings")
    async def settings() -> Response:
        """The settings that clients read."""
        _, source, target = next(_pairs(models), (None, "", ""))
        return answer(
            {
                "apiKeys": bool(access.tokens),
                "keyRequired": bool(access.tokens),
                "charLimit": limits.characters,
                "filesTranslation": False,
                "supportedFilesFormat": [],
                "suggestions": False,
                "frontendTimeout": 500,
                "language": {"source": _language(source), "target": _language(target)},
            }
        )

    @routes.post("/translate")
    async def translate(request: Request) -> Response:
        """The translation of a text, or of each text of a list."""
        asked = await read(request)
        texts = checked_texts(_given(asked), limits)
        model, detected = _model(asked, texts, models)

        found = await answered(request, _translated(texts, asked, model, limits), limits)
        return answer(_answer(asked, found, detected))

    return routes


async def _parameters(request: Request) -> Asked:
    """The parameters in the address, a form or JSON.

    Raises:
        RefusedError: they cannot be read.
    """
    values: dict[str, Any] = dict(request.query_params)
    try:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json":
            given = json.loads(await request.body() or b"{}")
            if not isinstance(given, dict):
                raise ValueError("expected an object")
            values |= given
        else:
            form = await request.form()
            several = [value for value in form.getlist("q") if isinstance(value, str)]
            values |= {name: value for name, value in form.items() if isinstance(value, str)}
            values |= {"q": several} if len(several) > 1 else {}
        return Asked.model_validate(values)
    except ValidationError as error:
        raise RefusedError(400, f"Invalid request: {problem_of(error.errors(), body=False)}") from None
    except (ValueError, RecursionError):
        raise RefusedError(400, "Invalid request: the body cannot be read") from None


def _language(tag: str) -> dict[str, Any]:
    """The tag of a language and its name in English; both are empty while no model is loaded."""
    return {"code": tag, "name": english_name(Language.of(tag)) if tag else ""}


def _given(asked: Asked) -> list[str]:
    """The texts of a request.

    Raises:
        RefusedError: there are none.
    """
    if not asked.q:
        raise RefusedError(400, "Invalid request: missing q parameter")
    return as_texts(asked.q)


def _pairs(models: Models) -> Any:
    """The loaded models, each with the tags of its source and its target."""
    for model in models.values():
        described = model.describe()
        if described.source and described.target:
            yield model, described.source.tag, described.target.tag


def _model(asked: Asked, texts: list[str], models: Models) -> tuple[ServedModel, dict[str, Any] | None]:
    """The model of a request, and the detected language if there is none in the request.

    Raises:
        RefusedError: no model translates between these languages.
    """
    if not asked.target:
        raise RefusedError(400, "Invalid request: missing target parameter")
    pairs = [(model, source) for model, source, target in _pairs(models) if _same(target, asked.target)]
    if not pairs:
        raise _unsupported(asked.target, models)
    detected = None
    wanted = asked.source
    if wanted == "auto":
        found = _detected(texts[0], {source for _, source in pairs})
        if not found and len(pairs) > 1:
            raise RefusedError(400, "the language of the text is not a source language: name it in source")
        detected = found[0] if found else {"language": pairs[0][1], "confidence": 0.0}
        wanted = detected["language"]
    for model, source in pairs:
        if _same(source, wanted):
            return model, detected
    raise _unsupported(wanted, models)


def _unsupported(tag: str, models: Models) -> RefusedError:
    """The refusal of a language. While a model is loaded, its languages are unknown, and the client may try again.

    BCP 47 calls an unknown language "und".
    """
    for model in models.values():
        if model.state == "loading":
            return RefusedError(503, f"model {model.name} is being loaded", retry_after=LOADING_SECONDS)
    directions = ", ".join(f"{source} to {target}" for _, source, target in _pairs(models))
    tags = [tag for _, *pair in _pairs(models) for tag in pair]
    unnamed = " (und: the run does not name its languages)" * any(Language.of(tag).code == "und" for tag in tags)
    return RefusedError(
        400, f"{tag[:50]} is not supported here: this server translates {directions or 'nothing'}{unnamed}"
    )


def _same(tag: str, wanted: str) -> bool:
    """Whether a tag is the language that a client names, with or without script and region."""
    return tag.lower() == wanted.lower() or (tag != "und" and Language.of(tag).code == wanted.lower())


def _detected(text: str, tags: set[str]) -> list[dict[str, Any]]:
    """The languages of these that a text can be in by its script; languages of one script are equally probable."""
    guess, script = guess_language([text]), main_script(script_counts([text]))
    known = {tag: Language.of(tag) for tag in sorted(tags)}
    fitting = [tag for tag, language in known.items() if language.code == guess.code != "und"]
    fitting = fitting or [tag for tag, language in known.items() if script and language.script == script]
    return [{"language": tag, "confidence": round(100 / len(fitting), 1)} for tag in fitting]


async def _translated(texts: list[str], asked: Asked, model: ServedModel, limits: Limits) -> list[list[str]]:
    """The translation of each text, and the alternatives."""
    engine, count = model.engine, asked.alternatives + 1
    search = search_of(engine.translator.config.search, limits, n_best=count)
    markup: MarkupKind | None = "html" if asked.format == "html" else None
    requests = [
        TranslationRequest(text, search, nbest=count, markup=markup, aligned=False, sentence_id=place)
        for place, text in enumerate(texts)
    ]
    return [[one.text for one in found] for found in await engine.translate(requests)]


def _answer(asked: Asked, found: list[list[str]], detected: dict[str, Any] | None) -> dict[str, Any]:
    """The answer to a request: texts if a list was given, else a text."""
    several = not isinstance(asked.q, str)
    best, others = [texts[0] for texts in found], [texts[1:] for texts in found]
    values: dict[str, Any] = {"translatedText": best if several else best[0]}
    if asked.alternatives:
        values["alternatives"] = others if several else others[0]
    if detected:
        values["detectedLanguage"] = [detected] * len(best) if several else detected
    return values


def _list(values: list[dict[str, Any]]) -> Response:
    return Response(as_json(values), media_type="application/json")
