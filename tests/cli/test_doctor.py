"""`nmt doctor`: findings about the machine and the installation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import commands
import pytest

from nmt import diagnosis
from nmt.diagnosis import Finding


def finding(name: str, directory: Path = Path()) -> Finding:
    return next(found for found in diagnosis.findings(directory) if found.name == name)


@pytest.fixture(autouse=True)
def loaded(monkeypatch) -> dict:
    """A working TensorFlow; its real import takes seconds."""
    found = {"version": "2.99", "cuda": False, "gpus": []}
    monkeypatch.setattr(diagnosis, "_load_tensorflow", lambda: (found, ""))
    return found


@pytest.fixture
def system(monkeypatch):
    """Replaces files of the system by texts; all others are missing."""

    def install(**texts: str) -> None:
        monkeypatch.setattr(diagnosis, "_read", lambda path: texts.get(path.name.replace(".", "_"), ""))

    install()
    return install


@pytest.mark.parametrize(
    ("trouble", "advice"),
    [
        ("SIGILL", "this processor lacks instructions (AVX)"),
        ("SIGABRT", "give the process more memory"),
        ("MemoryError", "give the process more memory"),
        ("ImportError: libfoo.so", "install it again"),
    ],
)
def test_a_tensorflow_that_cannot_be_loaded_is_a_problem(monkeypatch, trouble, advice):
    monkeypatch.setattr(diagnosis, "_load_tensorflow", lambda: ({}, trouble))
    found = finding("TensorFlow")
    assert found.grade == "problem" and trouble in found.fact and advice in found.advice
    assert finding("GPU").grade == "ok"


def test_the_command_works_and_fails_where_tensorflow_cannot_be_imported(tmp_path):
    (tmp_path / "tensorflow").mkdir()
    (tmp_path / "tensorflow" / "__init__.py").write_text("raise ImportError('libfoo.so.1: cannot open it')")
    path = f"import os, sys; os.environ['PYTHONPATH'] = {str(tmp_path)!r} + os.pathsep + os.environ['PYTHONPATH']"
    ended = commands.run(["-c", f"{path}; from nmt.cli import main; sys.exit(main(['doctor']))"], tmp_path)
    assert ended.returncode == 1 and ended.stderr == ""
    assert "PROBLEM  TensorFlow  cannot be loaded: ImportError: libfoo.so.1: cannot open it\n" in ended.stdout
    assert f"-> install it again: {sys.executable} -m pip install" in ended.stdout
    assert ended.stdout.endswith("\n1 problem found\n")


@pytest.mark.parametrize(
    ("flags", "grade", "words"),
    [
        ("fpu avx avx2 avx512f avx512_bf16", "ok", "AVX-512, AVX512-BF16; bfloat16"),
        ("fpu avx avx2", "ok", "AVX, AVX2; no bfloat16"),
        ("fpu", "problem", "no AVX"),
    ],
)
def test_the_instructions_of_the_processor(system, monkeypatch, flags, grade, words):
    monkeypatch.setattr(diagnosis.platform, "machine", lambda: "x86_64")
    system(cpuinfo=f"processor\t: 0\nmodel name\t: Fast\nflags\t\t: {flags}\n")
    found = finding("processor")
    assert found.grade == grade and found.fact.startswith("Fast: ") and words in found.fact


def test_little_memory_and_limits_of_a_container(system, monkeypatch):
    kilobytes = 8 * 2**20
    system(meminfo=f"MemTotal: {kilobytes} kB\nMemAvailable: {kilobytes} kB\n")
    assert finding("memory") == Finding("memory", "8.0 of 8.0 GiB free")
    system(meminfo=f"MemTotal: {kilobytes} kB\nMemAvailable: {kilobytes} kB\n", memory_max=str(2**30))
    found = finding("memory")
    assert found.grade == "note" and "this process may use 1.0 GiB" in found.fact and "batch_tokens" in found.advice
    monkeypatch.setattr(diagnosis.os, "sched_getaffinity", lambda _: range(4), raising=False)
    system(cpu_max="150000 100000")
    assert "the container may use 1.5 processors" in finding("threads").advice
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "1")
    system()
    assert "TF_NUM_INTRAOP_THREADS=1" in finding("threads").fact


def test_a_full_disk_and_a_directory_that_does_not_exist_yet(tmp_path, monkeypatch):
    assert finding("disk", tmp_path / "new" / "runs").grade == "ok"
    monkeypatch.setattr(diagnosis, "LEAST_DISK", 2**80)
    assert "nmt runs shows their sizes" in finding("disk", tmp_path).advice


def test_a_directory_that_cannot_be_used_is_a_problem(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    for directory in (tmp_path / "file", tmp_path / "file" / "runs"):
        found = finding("disk", directory)
        assert found.grade == "problem" and found.fact == f"{tmp_path / 'file'} is a file"
        assert "--directory" in found.advice

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    for closed in ("exists", "stat"):  # as below a directory that the user may not enter
        monkeypatch.setattr(Path, closed, refuse)
    found = finding("disk", tmp_path / "closed" / "runs")
    assert found.grade == "problem" and "Permission denied" in found.fact and "--directory" in found.advice


def test_a_gpu_that_tensorflow_does_not_find(monkeypatch, loaded):
    monkeypatch.setattr(diagnosis.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    assert "built for CUDA" in finding("GPU").advice
    loaded["cuda"] = True
    assert "tensorflow[and-cuda]" in finding("GPU").advice
    loaded["gpus"] = ["NVIDIA H200"]
    assert finding("GPU") == Finding("GPU", "NVIDIA H200")


def test_scripts_without_a_font_are_named_with_the_packages(monkeypatch):
    missing = {diagnosis.LETTERS["Thai"]: ["fonts-noto-core"], diagnosis.LETTERS["Korean"]: ["fonts-noto-cjk"]}
    monkeypatch.setattr("nmt.drawing.fonts.scripts_without_font", lambda text: ([], missing.get(text, [])))
    found = finding("fonts")
    assert found.fact.endswith("Devanagari, Chinese, Japanese") and found.grade == "note"
    assert found.advice.startswith("for Thai, Korean install fonts")
    assert found.advice.endswith("apt-get install fonts-noto-cjk fonts-noto-core")


def test_too_little_address_space_is_refused_before_tensorflow_aborts(tmp_path):
    command = f"ulimit -v 1500000; exec {sys.executable} -m nmt train"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, env=commands.environment()
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        "nmt: error: not enough memory: this process may use 1,464 MiB of address space, and TensorFlow needs at least "
        "2,300: raise the limit (ulimit -v)\n"
    )
