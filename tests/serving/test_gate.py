"""Requests that may not be answered are refused before anything reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from small_server import LIMITS, Fake

from nmt.errors import NmtError
from nmt.serving.access import Access, read_host, read_origin, read_tokens
from nmt.serving.app import create_app
from nmt.serving.models import Models, ServedModel


@pytest.fixture(scope="module")
def guarded():
    """A client of a server with a name, a token and a friendly origin; it logs into `client.log`."""
    models = Models([ServedModel("one", Path("one"), lambda _: Fake())])
    models["one"].load()
    log: list[str] = []
    access = Access(("nmt.example",), ("https://friend.example",), ("secret", "other"))
    with TestClient(create_app(models, LIMITS, access, log.append), base_url="http://nmt.example") as client:
        client.log = log
        yield client


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:8000", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("10.1.2.3:8000", 200), ("evil.example", 421)]
    + [("localhost.evil.example", 421), ("", 421), ("127.0.0.1.evil.example", 421), ("nmt.example", 421)],
)
def test_only_known_hosts_are_answered(client, host, status):
    assert client.get("/v1/models", headers={"Host": host}).status_code == status


def test_a_name_of_the_server_and_its_tokens_open_the_interface(guarded):
    assert guarded.get("/healthz").status_code == 200 and guarded.get("/").status_code == 200
    for path in ("/v1/models", "/metrics", "/v1/openapi.json"):
        refused = guarded.get(path)
        assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
        assert guarded.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert guarded.get(path, headers={"Authorization": "Bearer other"}).status_code == 200


def test_pages_of_other_origins_are_refused_unless_they_are_named(guarded):
    def post(**headers):
        return guarded.post("/v1/translate", json={"text": "a"}, headers={"Authorization": "Bearer secret", **headers})

    assert post(Origin="http://nmt.example").status_code == 200
    assert post(Origin="https://evil.example").status_code == 403
    assert post(Origin="null").status_code == 403
    assert post(Origin="http://[::1").status_code == 403 and post(Origin="http://[x]").status_code == 403
    friend = post(Origin="https://friend.example")
    assert (friend.status_code, friend.headers["access-control-allow-origin"]) == (200, "https://friend.example")
    stranger = guarded.post("/v1/translate", json={"text": "a"}, headers={"Origin": "https://friend.example"})
    assert stranger.status_code == 401  # and the page may read why
    assert stranger.headers["access-control-allow-origin"] == "https://friend.example"
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    assert guarded.options("/v1/translate", headers={"Origin": "https://friend.example", **asked}).status_code == 200
    assert guarded.options("/v1/translate", headers={"Origin": "https://evil.example", **asked}).status_code == 400


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("https://friend.example", "https://friend.example"),
        ("https://Friend.example/", "https://friend.example"),
        ("https://friend.example:443", "https://friend.example"),
        ("http://friend.example:8080", "http://friend.example:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("moz-extension://0f-1a", "moz-extension://0f-1a"),
    ],
)
def test_an_origin_is_read_as_browsers_send_it(given, sent):
    assert read_origin(given) == sent


@pytest.mark.parametrize(
    "given", ["*", "null", "friend.example", "https://", "https://a.example/page", "http://a:b", ""]
)
def test_what_is_no_origin_is_refused(given):
    with pytest.raises(NmtError, match="expected the origin of a page, such as https://example.org"):
        read_origin(given)


@pytest.mark.parametrize("given", ["NMT.example", "nmt.example:8000"])
def test_a_name_of_the_server_is_known_without_its_port(given):
    Access((read_host(given),)).check_host("nmt.example:80")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("my_host-1", "my_host-1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("[2001:DB8::1]:80", "2001:db8::1"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_a_name_of_the_server_is_read_as_requests_name_it(given, name):
    assert read_host(given) == name


@pytest.mark.parametrize(
    "given",
    [
        "https://example.org",
        "example.org/",
        "a b.example",
        " ",
        "",
        ":80",
        "*",
        "*.example",
        "me@a.example",
        "a.example:b",
    ]
    + ["[::1", "[]", "[x]", "b\u00fccher.example", "a.example\n"],
)
def test_what_is_no_name_of_a_server_is_refused(given):
    with pytest.raises(NmtError, match="expected a name of this server, such as translate.example.org"):
        read_host(given)


def test_no_other_origin_is_allowed_by_default(client):
    answer = client.get("/v1/models", headers={"Origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/v1/models", "/healthz", "/none", "/v1/translate"])
def test_every_answer_forbids_scripts_of_others(client, path):
    answer = client.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/openapi.json", "/../setup.cfg", "/%2e%2e/app.py", "/app.py"])
def test_there_are_no_other_pages_or_files(client, path):
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data"])
def test_version_1_takes_json_alone(client, kind):
    answer = client.post("/v1/translate", content='{"text": "a"}', headers={"Content-Type": kind})
    assert answer.status_code == 415 and "application/json" in answer.json()["error"]
    assert client.post("/v1/score", content="{}").status_code == 415


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"text": "a\\u0000b"}', 200),
        ('{"text": "\\ud800"}', 422),
        ('{"text": "a", "prefix": "\\udfff"}', 422),
        ('{"text": "a", "lexicon": {"\\ud800": "b"}, "copy_unknown": true}', 422),
        ('{"text": "' + "a" * LIMITS.body + '"}', 413),
        (DEEP, 400),
        ('{"text": ' + DEEP, 400),
        (b'{"text": "\xff"}', 400),
        ("", 422),
        ("null", 422),
        ('{"text": NaN}', 422),
        ('{"text": "a", "beam_size": 1e999}', 422),
        ('{"text": "a", "beam_size": ' + "9" * 5000 + "}", 400),
        ('{"text": "a", "n_best": -1}', 422),
        ('{"text": {"a": 1}}', 422),
        ('{"text": []}', 422),
        ('{"text": "a", "\\ud800": 1}', 422),
        ('{"text": "a", "text": "b"}', 200),
        ('\ufeff{"text": "a"}', 200),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_bodies_have_an_answer_in_one_line(client, body, status):
    content = body.encode() if isinstance(body, str) else body
    answer = client.post("/v1/translate", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code == status, answer.text[:200]
    if status != 200:
        error = answer.json()["error"]
        assert error and "\n" not in error and len(error) < 300
    else:
        json.loads(answer.text)


def test_a_large_body_is_refused_with_its_limit_in_digits(client):
    answer = client.post("/v1/score", content=b" " * 200_001, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413 and "the limit is 200,000" in answer.json()["error"]


def test_the_log_and_the_metrics_count_requests_and_hold_no_text(guarded):
    bearer = {"Authorization": "Bearer secret"}
    guarded.log.clear()
    guarded.post("/v1/translate", json={"text": "private"}, headers=bearer)
    guarded.get("/v1/none%0aforged?q=private", headers=bearer)
    guarded.post("/v1/translate", content="private", headers=bearer | {"Content-Type": "text/plain"})
    measured = guarded.get("/metrics", headers=bearer).text
    assert 'nmt_requests_total{route="/v1/translate",status="200"} ' in measured
    assert 'nmt_requests_total{route="/v1/translate",status="415"} ' in measured
    assert 'nmt_model_ready{model="one"} 1.0' in measured and "nmt_batch_sentences" in measured
    assert len(guarded.log) == 4 and " POST /v1/translate 200 " in guarded.log[0]
    assert "%0a" in guarded.log[1] and "\n" not in "".join(guarded.log)
    assert "private" not in measured + "".join(guarded.log)


def test_a_file_of_tokens_has_one_on_each_line(tmp_path):
    path = tmp_path / "tokens"
    path.write_text("one\n\n two \n")
    assert read_tokens(str(path)) == ("one", "two")
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert read_tokens(str(path)) == ("one", "two")
    for text in ("schl\u00fcssel", "two words"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(NmtError, match="headers cannot carry"):
            read_tokens(str(path))
    path.write_text("\n")
    with pytest.raises(NmtError, match="has no token"):
        read_tokens(str(path))
    with pytest.raises(NmtError, match="No such file"):
        read_tokens(str(tmp_path / "none"))
