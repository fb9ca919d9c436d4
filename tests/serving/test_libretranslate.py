"""The interface of LibreTranslate, through its own client and without one."""

from __future__ import annotations

import threading
import urllib.error
from pathlib import Path

import pytest
import uvicorn
from fastapi.testclient import TestClient
from libretranslatepy import LibreTranslateAPI
from small_server import LIMITS, Fake

from nmt.serving.access import Access
from nmt.serving.app import create_app
from nmt.serving.models import Models, ServedModel
from nmt.serving.server import bind


def make_models():
    sides = {"a": ("en", "fr"), "b": ("ru", "fr"), "c": ("en", "he"), "d": ("uk", "fr")}
    models = [ServedModel(name, Path(name), lambda _, two=two: Fake(*two)) for name, two in sides.items()]
    for model in models:
        model.load()
    return Models(models)


@pytest.fixture(scope="module")
def client():
    with TestClient(create_app(make_models(), LIMITS), base_url="http://localhost") as client:
        yield client


@pytest.fixture(scope="module")
def address():
    """A server that needs the key `secret`."""
    listener = bind("127.0.0.1", 0)
    app = create_app(make_models(), LIMITS, Access(tokens=("secret",)))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, args=[[listener]], daemon=True)
    port = listener.getsockname()[1]
    thread.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(60)


def test_its_client_works_unchanged(address):
    client = LibreTranslateAPI(address, api_key="secret")
    assert client.translate("a b", "en", "fr") == "A B"
    assert client.languages()[0] == {"code": "en", "name": "English", "targets": ["fr", "he"]}
    assert client.detect("привет") == [
        {"language": "ru", "confidence": 50.0},
        {"language": "uk", "confidence": 50.0},
    ]
    with pytest.raises(urllib.error.HTTPError) as error:
        LibreTranslateAPI(address).translate("a", "en", "fr")
    assert error.value.code == 401


@pytest.mark.parametrize("send", ["data", "json"])
def test_forms_and_json_are_taken(client, send):
    one = client.post("/translate", **{send: {"q": "a b", "source": "en", "target": "fr", "alternatives": 2}})
    assert one.json() == {"translatedText": "A B", "alternatives": ["A B!", "A B!!"]}
    several = client.post("/translate", **{send: {"q": ["a", "b"], "source": "auto", "target": "he", "api_key": "x"}})
    found = {"language": "en", "confidence": 100.0}
    assert several.json() == {"translatedText": ["A", "B"], "detectedLanguage": [found, found]}


@pytest.mark.parametrize(("form", "markup"), [("html", "html"), ("text", None)])
def test_html_is_markup_and_text_is_not(client, monkeypatch, form, markup):
    asked, answer = [], Fake.answer

    def watched(self, requests, *others):
        asked.extend(requests)
        return answer(self, requests, *others)

    monkeypatch.setattr(Fake, "answer", watched)
    client.post("/translate", data={"q": "<b>a</b>", "source": "en", "target": "fr", "format": form})
    # The programs of the page may be compiled meanwhile.
    assert {request.markup for request in asked if "<b>" in request.text} == {markup}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"source": "en", "target": "fr"}, 400, "missing q"),
        ({"q": "a", "source": "en"}, 400, "missing target"),
        (
            {"q": "a", "source": "en", "target": "de"},
            400,
            "de is not supported here: this server translates en to fr, ru to fr, en to he, uk to fr",
        ),
        ({"q": "a", "source": "ru", "target": "he"}, 400, "ru is not supported"),
        ({"q": "a", "source": "en", "target": "fr", "format": "pdf"}, 400, "format"),
        ({"q": "1 2", "source": "auto", "target": "fr"}, 400, "name it in source"),
        ({"q": "a" * 41, "source": "en", "target": "fr"}, 413, "the limit is 40"),
        ({"q": "a", "source": "en", "target": "fr", "alternatives": 9}, 422, "the limit is 4"),
    ],
)
def test_errors_have_its_shape(client, body, status, message):
    answer = client.post("/translate", data=body)
    assert answer.status_code == status and message in answer.json()["error"]


def test_the_refusal_explains_a_model_without_languages(capsys):
    model = ServedModel("mine", Path("mine"), lambda _: Fake("und-Latn", "fr"))
    model.load()
    assert "model mine is ready; it does not name both of its languages, by" in capsys.readouterr().err
    with TestClient(create_app(Models([model]), LIMITS), base_url="http://localhost") as client:
        refused = client.post("/translate", data={"q": "a", "source": "en", "target": "fr"})
    expected = "this server translates und-Latn to fr (und: the run does not name its languages)"
    assert refused.status_code == 400 and refused.json()["error"] == f"en is not supported here: {expected}"


def test_a_client_may_try_again_while_the_model_is_loaded():
    unready = Models([ServedModel("mine", Path("mine"), lambda _: Fake("en", "fr"))])
    refused = TestClient(create_app(unready, LIMITS), base_url="http://localhost").post(
        "/translate", data={"q": "a", "source": "en", "target": "fr"}
    )  # without the context of the client the application does not start, and loads nothing
    assert refused.status_code == 503 and refused.headers["retry-after"] == "5"
    assert refused.json() == {"error": "model mine is being loaded"}


@pytest.mark.parametrize("body", [b"[1]", b"{", b"[" * 10000, b'{"q": "\\ud800"}', b'{"q": 3}'])
def test_bodies_that_cannot_be_read_are_refused(client, body):
    answer = client.post("/detect", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400 and answer.json()["error"].startswith("Invalid request")


def test_clients_read_the_settings(client):
    settings = client.get("/frontend/settings").json()
    assert settings["charLimit"] == 40 and settings["keyRequired"] is False
    assert settings["language"]["target"] == {"code": "fr", "name": "French"}
    assert client.post("/detect", json={"q": "שלום"}).json() == [{"language": "he", "confidence": 100.0}]
    assert client.post("/detect", json={"q": "123"}).json() == []


def test_a_server_without_a_loaded_model_has_no_languages(models):
    settings = TestClient(create_app(models), base_url="http://localhost").get("/frontend/settings").json()
    assert settings["language"] == {side: {"code": "", "name": ""} for side in ("source", "target")}
