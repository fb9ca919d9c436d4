"""Fixtures of the server's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import fake_translator
import pytest
from fastapi.testclient import TestClient
from served_page import Opened, Paged, serving
from small_server import LIMITS, Fake

from nmt.explaining import erasure
from nmt.serving.app import create_app
from nmt.serving.limits import Limits
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


@pytest.fixture(scope="module")
def page_address() -> Iterator[str]:
    """The address of a running server with three models, the last one adds a word."""
    patch = pytest.MonkeyPatch()
    patch.setattr(erasure, "erase", fake_translator.erase)
    loads = {"one": lambda _: Paged(), "two": lambda _: Paged(), "three": lambda _: Paged("END")}
    models = Models([ServedModel(name, Path(name), load) for name, load in loads.items()])
    with serving(models, Limits(texts=20, beam_size=4)) as address:
        yield address
    patch.undo()


@pytest.fixture
def show_at(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens the page; after the test it must have asked its server alone, and reported no problem."""
    made: list[tuple[Opened, str]] = []

    def open_page(address: str, fragment: str = "", **settings: Any) -> Opened:
        opened = Opened.watched(browser, 20_000, **settings)
        opened.page.goto(address + fragment)
        opened.until("document.getElementById('direction').textContent !== ''")
        made.append((opened, address))
        return opened

    yield open_page
    for opened, address in made:
        assert opened.problems == []
        assert all(url.startswith((address, "data:", "blob:")) for url in opened.requests)
        opened.page.context.close()


@pytest.fixture
def show(show_at: Callable[..., Opened], page_address: str) -> Callable[..., Opened]:
    """Opens the page of the server with capitals."""
    return partial(show_at, page_address)
