"""Imports of TensorFlow and Keras without their start-up messages and without unused libraries."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from nmt.cli.out_of_memory import LEAST_ADDRESS_SPACE, require_address_space
from nmt.files.temporary_directory import some_temporary_directory


@contextmanager
def quiet_start(address_space: int = LEAST_ADDRESS_SPACE) -> Iterator[None]:
    """Makes the imports of a command quiet and fast.

    Keras imports matplotlib if it is installed, for image galleries that nmt never draws; commands that draw import it
    later. TensorFlow imports JAX if it is installed, for a converter that nmt never calls. Imported objects stay
    alive, so the garbage collector is off meanwhile.

    Args:
        address_space: bytes that the command needs.

    Raises:
        NmtError: the process has too little address space for TensorFlow.
    """
    require_address_space(address_space)
    unused = ["matplotlib", "jax"] if _keras_backend() == "tensorflow" else ["matplotlib"]
    with _without(*unused), _uncollected(), _quiet(), some_temporary_directory():
        yield


def _keras_backend() -> str:
    """The backend that Keras will choose, found by Keras's own rule without importing Keras."""
    if named := os.environ.get("KERAS_BACKEND"):
        return named
    home = os.path.expanduser("~")  # Path.home() raises for users without a home
    usual = os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
    settings = Path(os.environ.get("KERAS_HOME", usual), "keras.json")
    try:
        return str(json.loads(settings.read_text(encoding="utf-8"))["backend"])
    except (OSError, ValueError, LookupError, TypeError):
        return "tensorflow"


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Prevents the import of these modules unless they are loaded already."""
    modules: dict[str, Any] = sys.modules
    hidden = [name for name in names if name not in modules]
    modules.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del modules[name]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Switches the garbage collector off meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _quiet() -> Iterator[None]:
    """Drops the messages that TensorFlow writes to file descriptor 2 while it is imported and looks for devices.

    TensorFlow writes them before its logging starts, so no setting of TensorFlow silences them.
    TF_CPP_MIN_LOG_LEVEL=0 shows them, and so does an error. A line reports a GPU that TensorFlow does not find.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0":
        yield
        return
    with _temporary_file() as written:
        try:
            with _redirected(written.fileno()):
                yield
                found = _gpu_found()
        except Exception:
            written.seek(0)
            sys.stderr.write(written.read().decode(errors="replace"))
            raise
    if not found:
        print(
            "nmt: TensorFlow does not find the GPU of this machine; TF_CPP_MIN_LOG_LEVEL=0 shows why", file=sys.stderr
        )


def _temporary_file() -> BinaryIO:
    """A file that vanishes when it is closed; the null device if no directory for such files can be written."""
    try:
        return cast(BinaryIO, tempfile.TemporaryFile())
    except OSError:
        return open(os.devnull, "r+b")


@contextmanager
def _redirected(descriptor: int) -> Iterator[None]:
    sys.stderr.flush()
    standard_error = os.dup(2)
    os.dup2(descriptor, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(standard_error, 2)
        os.close(standard_error)


def _gpu_found() -> bool:
    """False if the system has an NVIDIA GPU and TensorFlow is loaded without finding it."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is None or bool(tensorflow.config.list_physical_devices("GPU")) or not _GPU_DEVICE.exists()


_GPU_DEVICE = Path("/dev/nvidiactl")
