"""How commands import TensorFlow and Keras: without their start-up messages, and without what they need not."""

from __future__ import annotations

import gc
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
    imports it afterwards. And what an import makes stays, so that there is no garbage to look for meanwhile.
    """
    with _without("matplotlib"), _uncollected(), _quiet():
        yield


@contextmanager
def _without(name: str) -> Iterator[None]:
    """A module that is not loaded yet cannot be imported meanwhile."""
    modules: dict[str, Any] = sys.modules
    hidden = name not in modules
    if hidden:
        modules[name] = None
    try:
        yield
    finally:
        if hidden:
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
    it. It is also shown when an exception comes through, and a GPU that is there but not found is said.
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0":
        yield
        return
    with tempfile.TemporaryFile() as written:
        try:
            with _redirected(written.fileno()):
                yield
                found = _gpu_found()
        except BaseException:
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
