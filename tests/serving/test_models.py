"""Models are loaded in the background, and again when their files are replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from small_server import Fake

from nmt.cli import main
from nmt.cli.serve import load_model
from nmt.errors import NmtError
from nmt.serving.app import create_app
from nmt.serving.engine import Engine
from nmt.serving.limits import Limits, RefusedError
from nmt.serving.models import Models, ServedModel, model_path, served_models


@pytest.fixture
def directory(tmp_path):
    """A run directory as far as the watch sees it."""
    (tmp_path / "best.npz").write_text("old")
    return tmp_path


def replace_file(directory, text):
    (directory / "new").write_text(text)
    os.replace(directory / "new", directory / "best.npz")


def test_a_server_is_ready_when_all_models_are_loaded(models, capsys):
    with TestClient(create_app(Models([])), base_url="http://localhost") as client:
        assert client.get("/readyz").status_code == 200
    models.start = lambda: None  # type: ignore[method-assign]
    with TestClient(create_app(models), base_url="http://localhost") as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/readyz").status_code == 503
        answer = client.post("/v1/translate", json={"text": "a"})
        assert answer.status_code == 503 and answer.headers["retry-after"]
        models["one"].load()
        assert client.get("/readyz").json() == {"ready": False, "models": {"one": "ready", "two": "loading"}}
        models["two"].load()
        assert client.get("/readyz").json()["ready"]
        assert capsys.readouterr().err == "nmt: model one is ready\nnmt: model two is ready\n"
        assert {client.head(path).status_code for path in ("/healthz", "/readyz", "/metrics")} == {200}


def test_a_model_that_cannot_be_loaded_says_so_without_its_directory(capsys, directory):
    def fail(_):
        raise NmtError(f"{directory}: no such run")

    model = ServedModel("one", directory, fail)
    model.load()
    assert model.state == "failed" and str(directory) in capsys.readouterr().err
    with pytest.raises(RefusedError) as refused:
        _ = model.engine
    assert refused.value.status == 503 and str(directory) not in str(refused.value)


def test_replaced_files_are_loaded_once_they_have_settled(directory, monkeypatch):
    model = ServedModel("one", directory, lambda _: Fake())
    model.load()
    first, compiled = model.engine, []
    monkeypatch.setattr(Engine, "warm_up_rest", lambda engine: compiled.append(engine))
    model.load_if_replaced()
    assert model.engine is first
    replace_file(directory, "new")
    model.load_if_replaced()
    assert model.engine is first  # they may still change
    model.load_if_replaced()
    assert model.engine is not first and model.state == "ready"
    assert compiled == [model.engine]


def test_files_that_cannot_be_loaded_leave_the_old_model(directory, capsys):
    def load(path):
        if (path / "best.npz").read_text() == "damaged":
            raise NmtError("damaged")
        return Fake()

    model = ServedModel("one", directory, load)
    model.load()
    first = model.engine
    replace_file(directory, "damaged")
    for _ in range(3):
        model.load_if_replaced()
    assert model.engine is first and model.state == "ready"
    assert capsys.readouterr().err.count("model one: damaged") == 1
    replace_file(directory, "good again")
    for _ in range(2):
        model.load_if_replaced()
    assert model.engine is not first


def test_a_directory_that_is_away_for_a_moment_is_looked_at_again(directory, monkeypatch):
    model = ServedModel("one", directory, lambda _: Fake())
    model.load()
    first = model.engine
    with monkeypatch.context() as patch:  # it goes away between two calls
        patch.setattr(type(directory), "is_dir", lambda _: True)
        os.rename(directory, directory.with_name("away"))
        model.load_if_replaced()
    os.rename(directory.with_name("away"), directory)
    replace_file(directory, "new")
    for _ in range(2):
        model.load_if_replaced()
    assert model.engine is not first


def test_models_are_named_after_their_directories_or_as_the_user_says():
    load = lambda _: Fake()  # noqa: E731
    assert list(served_models(["runs/a", "other=runs/b", "packs/c.nmt"], load, Limits())) == ["a", "other", "c"]
    assert model_path("other=runs/b") == "runs/b"
    with pytest.raises(NmtError, match="two models are named a: .*--model other=x/a"):
        served_models(["runs/a", "x/a"], load, Limits())


def test_an_aligner_makes_the_links_of_a_served_model(monkeypatch):
    class Made:
        """An aligner."""

        is_unfinished = False

    monkeypatch.setattr("nmt.cli.serve.load_run", lambda *_, **options: Fake())
    monkeypatch.setattr("nmt.aligning.aligner.Aligner.load", lambda directory: Made())
    for aligner, made in (("made", Made), ("none", type(None))):
        assert isinstance(load_model(Path("run"), aligner=aligner).aligner, made)


def test_an_aligner_that_cannot_be_loaded_is_refused_before_the_server_starts(tmp_path, capsys):
    (tmp_path / "run").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmt.translation.loading.config_of_run", lambda path: None)
        command = ["serve", "--model", str(tmp_path / "run"), "--port", "0", "--aligner", str(tmp_path / "no")]
        assert main(command) == 2
    assert str(tmp_path / "no") in capsys.readouterr().err
