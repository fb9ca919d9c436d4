"""TensorFlow's start-up messages are kept away, and nothing else is; matplotlib is not loaded for nothing."""

from __future__ import annotations

import gc
import os
import sys
from types import SimpleNamespace

import pytest

from nmt.cli import quiet
from nmt.cli.quiet import quiet_start


@pytest.fixture(autouse=True)
def level(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")


def tensorflow(monkeypatch, gpus: list[str]) -> None:
    devices = SimpleNamespace(list_physical_devices=lambda kind: os.write(2, b"looking for devices\n") and gpus)
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=devices))


def test_start_is_silent_and_what_comes_after_is_not(monkeypatch, capfd):
    tensorflow(monkeypatch, [])
    with quiet_start():
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() ...\n")
    os.write(2, b"after\n")
    print("more", file=sys.stderr)
    assert capfd.readouterr().err == "after\nmore\n"


def test_everything_shows_when_the_user_says_so(monkeypatch, capfd):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    with quiet_start():
        os.write(2, b"oneDNN custom operations are on\n")
    assert capfd.readouterr().err == "oneDNN custom operations are on\n"


def test_what_was_said_before_an_error_shows(capfd):
    with pytest.raises(ImportError, match="no such library"), quiet_start():
        os.write(2, b"cannot open libtensorflow.so\n")
        raise ImportError("no such library")
    assert capfd.readouterr().err == "cannot open libtensorflow.so\n"


def test_matplotlib_cannot_be_imported_meanwhile(monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib", raising=False)
    with pytest.raises(ModuleNotFoundError), quiet_start():
        import matplotlib  # noqa: F401
    assert "matplotlib" not in sys.modules


def test_garbage_is_collected_afterwards_as_before(monkeypatch):
    assert gc.isenabled()
    with quiet_start():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with quiet_start():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_loaded_already_stays(monkeypatch):
    loaded = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "matplotlib", loaded)
    with quiet_start():
        import matplotlib
    assert matplotlib is loaded is sys.modules["matplotlib"]


@pytest.mark.parametrize(("gpus", "said"), [([], "nmt: TensorFlow does not find the GPU"), (["GPU:0"], "")])
def test_gpu_that_is_not_found_is_said(gpus, said, monkeypatch, capfd, tmp_path):
    monkeypatch.setattr(quiet, "_GPU_DEVICE", tmp_path)
    tensorflow(monkeypatch, gpus)
    with quiet_start():
        pass
    assert capfd.readouterr().err.startswith(said)
    assert bool(said) == (gpus == [])
