"""How commands import TensorFlow and Keras: without their start-up messages, and without what they need not."""

from __future__ import annotations

import gc
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def quiet_start() -> Iterator[None]:
    """For the imports of a command, and nothing else: quiet, and as short as can be.

    Keras imports matplotlib where it is installed, for galleries of images that nothing here draws: whoever draws
    imports it afterwards. TensorFlow imports JAX where it is installed, for a converter that nothing here calls. And
    what an import makes stays, so that there is no garbage to look for meanwhile.
    """
    unused = ["matplotlib", "jax"] if _keras_backend() == "tensorflow" else ["matplotlib"]
    with _without(*unused), _uncollected(), _quiet():
        yield


def _keras_backend() -> str:
    """What Keras will run on, by its own rule: it cannot be asked before it is imported."""
    if named := os.environ.get("KERAS_BACKEND"):
        return named
    home = os.path.expanduser("~")  # Path.home() raises where a user has none
    usual = os.path.join(home if os.access(home, os.W_OK) else "/tmp", ".keras")
    settings = Path(os.environ.get("KERAS_HOME", usual), "keras.json")
    try:
        return str(json.loads(settings.read_text(encoding="utf-8"))["backend"])
    except (OSError, ValueError, LookupError, TypeError):
        return "tensorflow"


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Modules that are not loaded yet cannot be imported meanwhile."""
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
    """No garbage is collected meanwhile."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def _quiet() -> Iterator[None]:
    """What is written to file descriptor 2 while TensorFlow is imported and looks for its devices is dropped.

    No setting of TensorFlow's own silences it: it is written before its logging begins. TF_CPP_MIN_LOG_LEVEL=0 shows
    it. It is also shown where an error comes through (an interruption is none), and a GPU that is there but not found
    is said.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0":
        yield
        return
    with tempfile.TemporaryFile() as written:
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
    """False where the system has an NVIDIA GPU and TensorFlow, if it is loaded, none."""
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is None or bool(tensorflow.config.list_physical_devices("GPU")) or not _GPU_DEVICE.exists()


_GPU_DEVICE = Path("/dev/nvidiactl")
