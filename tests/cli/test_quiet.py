"""The imports of commands: silent, without matplotlib and JAX unless they are used."""

from __future__ import annotations

import gc
import importlib
import os
import pwd
import sys
import tempfile
from types import SimpleNamespace

import pytest

from nmt.cli import quiet
from nmt.cli.out_of_memory import TRAINING_ADDRESS_SPACE
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError


@pytest.fixture(autouse=True)
def level(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")


def tensorflow(monkeypatch, gpus: list[str]) -> None:
    devices = SimpleNamespace(list_physical_devices=lambda kind: os.write(2, b"looking for devices\n") and gpus)
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(config=devices))


def test_only_the_start_is_silent(monkeypatch, capfd):
    tensorflow(monkeypatch, [])
    with quiet_start():
        os.write(2, b"WARNING: All log messages before absl::InitializeLog() ...\n")
    os.write(2, b"after\n")
    print("more", file=sys.stderr)
    assert capfd.readouterr().err == "after\nmore\n"


def test_the_log_level_of_the_user_shows_all_messages(monkeypatch, capfd):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    with quiet_start():
        os.write(2, b"oneDNN custom operations are on\n")
    assert capfd.readouterr().err == "oneDNN custom operations are on\n"


def test_messages_before_an_error_are_shown(capfd):
    with pytest.raises(ImportError, match="no such library"), quiet_start():
        os.write(2, b"cannot open libtensorflow.so\n")
        raise ImportError("no such library")
    assert capfd.readouterr().err == "cannot open libtensorflow.so\n"


def test_a_machine_without_a_directory_for_temporary_files_can_start(monkeypatch, capfd):
    with monkeypatch.context() as patched:  # pytest needs the directory between the phases of a test
        patched.setattr("tempfile.tempdir", "/nonexistent")
        with quiet_start():
            os.write(2, b"looking for devices\n")
        with pytest.raises(ImportError, match="a library"), quiet_start():
            raise ImportError("a library")
    assert capfd.readouterr().err == ""


def test_an_interruption_shows_nothing(capfd):
    with pytest.raises(KeyboardInterrupt), quiet_start():
        os.write(2, b"oneDNN custom operations are on\n")
        raise KeyboardInterrupt
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("name", ["matplotlib", "jax"])
def test_unused_libraries_cannot_be_imported_meanwhile(name, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(ModuleNotFoundError), quiet_start():
        importlib.import_module(name)
    assert name not in sys.modules


@pytest.mark.parametrize(
    ("named", "written", "hidden"),
    [
        ("", "", True),
        ("", '{"backend": "tensorflow"}', True),
        ("", '{"backend": "jax"}', False),
        ("jax", '{"backend": "tensorflow"}', False),
        ("tensorflow", '{"backend": "jax"}', True),
        ("", "[]", True),
        ("", "not JSON", True),
    ],
)
def test_jax_is_hidden_unless_keras_runs_on_it(named, written, hidden, monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_BACKEND", named)
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    if written:
        (tmp_path / "keras.json").write_text(written, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    with quiet_start():
        assert ("jax" in sys.modules) == hidden


def test_the_garbage_collector_is_restored(monkeypatch):
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


def test_loaded_libraries_stay(monkeypatch):
    loaded = SimpleNamespace()
    monkeypatch.setitem(sys.modules, "matplotlib", loaded)
    with quiet_start():
        import matplotlib
    assert matplotlib is loaded is sys.modules["matplotlib"]


@pytest.mark.parametrize(("gpus", "said"), [([], "nmt: TensorFlow does not find the GPU"), (["GPU:0"], "")])
def test_a_gpu_that_tensorflow_misses_is_reported(gpus, said, monkeypatch, capfd, tmp_path):
    monkeypatch.setattr(quiet, "_GPU_DEVICE", tmp_path)
    tensorflow(monkeypatch, gpus)
    with quiet_start():
        pass
    assert capfd.readouterr().err.startswith(said)
    assert bool(said) == (gpus == [])


def test_a_user_without_a_home_can_start(monkeypatch):
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    monkeypatch.delenv("KERAS_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)

    def unknown(number):
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with quiet_start():
        pass


def test_libraries_are_imported_where_no_temporary_directory_can_be_written(monkeypatch):
    """TensorFlow asks for its name. The files of nmt itself fail there as before."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/missing"])
    with quiet_start():
        assert tempfile.gettempdir()
    with pytest.raises(FileNotFoundError):
        tempfile.gettempdir()


def test_a_training_needs_more_address_space(monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda kind: (TRAINING_ADDRESS_SPACE - 1, -1))
    with quiet_start():
        pass
    with pytest.raises(NmtError, match="at least 2,300: raise the limit"), quiet_start(TRAINING_ADDRESS_SPACE):
        pass
