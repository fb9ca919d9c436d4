"""The place of ONNX Runtime for browsers."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from nmt.errors import NmtError
from nmt.web.runtime import runtime_files, usual_place


def test_the_usual_place_is_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert usual_place().parent == Path("/home/ann/.cache/nmt")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert usual_place().parent == Path("/caches/nmt")


def test_a_user_without_a_home_meets_a_message_that_names_the_option(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A container may run as a user id without an entry in passwd, and without HOME."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(NmtError, match="--runtime"):
        runtime_files(usual_place())
