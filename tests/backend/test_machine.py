"""Threads, memory and programs of TensorFlow on this machine, and the memory of the process."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import tensorflow as tf

from nmt.backend.machine import (
    AT_ONCE,
    batches_at_once,
    configure_runtime,
    free_memory,
    peak_memory,
    processors,
    require_memory,
)

WITHOUT_GPU = {"CUDA_VISIBLE_DEVICES": "-1"}
"""Environment that hides GPUs."""


@pytest.mark.slow
@pytest.mark.parametrize("begun", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_batches_run_at_once_if_operations_share_the_processors(begun: bool) -> None:
    """In a process of its own: TensorFlow fixes its threads at its first computation."""
    program = f"""
import os, keras
from nmt.backend.machine import batches_at_once, configure_runtime
if {begun}:
    keras.ops.ones(1)
print(batches_at_once())
configure_runtime()
print(batches_at_once())
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", **WITHOUT_GPU, "TF_NUM_INTRAOP_THREADS": ""}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    before, after = map(int, ran.stdout.split())
    assert before == 1
    assert (after == 1) == (begun or processors() == 1)
    assert after <= AT_ONCE


@pytest.mark.slow
@pytest.mark.parametrize("configured", [False, True])
def test_tensorflow_uses_an_allocator_of_its_own(configured: bool) -> None:
    """TensorFlow's allocator obeys the limit of the user; the C library's does not. In a process of its own."""
    program = f"""
import tensorflow as tf
from nmt.backend.machine import configure_runtime
if {configured}:
    configure_runtime()
try:
    tf.zeros([64, 2**20])
    print("fits")
except tf.errors.ResourceExhaustedError:
    print("does not fit")
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", **WITHOUT_GPU, "TF_CPU_BFC_MEM_LIMIT_IN_MB": "100"}
    environment.pop("TF_CPU_ALLOCATOR_USE_BFC", None)  # other tests have configured this process
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert ran.stdout.strip() == ("does not fit" if configured else "fits")


@pytest.mark.slow
@pytest.mark.parametrize("configured", [False, True])
def test_onednn_keeps_the_program_of_each_shape(configured: bool) -> None:
    """With more shapes than oneDNN keeps by default, in the order in which it drops them. Its log has each miss."""
    program = f"""
import tensorflow as tf
from nmt.backend.machine import configure_runtime
if {configured}:
    configure_runtime()
rows, kernel = tf.ones([1100, 8], "bfloat16"), tf.ones([8, 8], "bfloat16")
for _ in range(2):
    print("begin", flush=True)
    for count in range(1, 1101):
        tf.matmul(rows[:count], kernel)
"""
    environment = {**os.environ, "KERAS_BACKEND": "tensorflow", **WITHOUT_GPU, "ONEDNN_VERBOSE": "profile_create"}
    environment.pop("ONEDNN_PRIMITIVE_CACHE_CAPACITY", None)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    _, first, second = ran.stdout.split("begin")
    if "cache_miss" not in first:
        pytest.skip("oneDNN does not multiply bfloat16 for this TensorFlow")
    assert ("cache_miss" in second) != configured


def test_beside_a_gpu_threads_stay_and_batches_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    shared: list[int] = []
    monkeypatch.delenv("TF_NUM_INTRAOP_THREADS", raising=False)
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", shared.append)
    monkeypatch.setattr(tf.config.threading, "get_intra_op_parallelism_threads", lambda: 1)
    monkeypatch.setattr("nmt.backend.machine.processors", lambda: 4)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [kind])
    configure_runtime()
    assert (shared, batches_at_once()) == ([], 1)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: [])
    configure_runtime()
    assert (shared, batches_at_once()) == ([1], 4)


def test_memory_is_in_mebibytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with TensorFlow holds hundreds of MiB."""
    assert 100 < peak_memory() < 1_000_000
    monkeypatch.setattr("resource.getrusage", lambda who: SimpleNamespace(ru_maxrss=300 << 20))
    monkeypatch.setattr("sys.platform", "linux")
    assert peak_memory() == 300 << 10  # from KiB
    monkeypatch.setattr("sys.platform", "darwin")
    assert peak_memory() == 300  # from bytes


def test_more_memory_than_there_is_is_refused() -> None:
    free = free_memory()
    assert 2**20 < free < 2**50
    require_memory(free // 2)
    with pytest.raises(MemoryError, match="MiB are needed, and .* MiB are free"):
        require_memory(2**60)


@pytest.mark.parametrize("taken", [0, 2**30])
def test_free_memory_lies_within_the_address_space(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with 3 GiB, of which it has taken some, on a machine with 2 GiB of free memory."""
    reported = {"MemAvailable:": 2 * 2**30, "VmSize:": taken}
    monkeypatch.setattr("nmt.backend.machine._reported", lambda path, name: reported[name])
    monkeypatch.setattr("resource.getrlimit", lambda kind: (3 * 2**30, -1))
    assert free_memory() == 2 * 2**30
    reported["MemAvailable:"] = 9 * 2**30
    assert free_memory() == 3 * 2**30 - taken
