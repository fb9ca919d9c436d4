"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fake_translator
import pytest
from fastapi.testclient import TestClient
from small_server import LIMITS, Fake

from nmt.explaining import erasure
from nmt.serving.app import create_app
from nmt.serving.models import Models, ServedModel


def make_models() -> Models:
    return Models([ServedModel("one", Path("one"), lambda _: Fake()), ServedModel("two", Path("2"), lambda _: Fake())])


@pytest.fixture
def models() -> Models:
    """Two models, which are not loaded."""
    return make_models()


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A client of a server with the limits of `LIMITS`, whose two models are loaded."""
    models = make_models()
    for model in models.values():
        model.load()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(erasure, "erase", fake_translator.erase)
        with TestClient(create_app(models, LIMITS), base_url="http://localhost") as client:
            yield client
