"""Checks of the machine and the installation. They work without Keras and TensorFlow, whose import may be the trouble.

Each check gives a `Finding`: a fact, and advice where something can be better.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nmt.backend.machine import processors
from nmt.errors import install_command
from nmt.version import __version__

PACKAGES = ("keras", "tensorflow", "sentencepiece", "numpy", "sacrebleu", "matplotlib")
"""The installed packages whose versions matter."""

LEAST_MEMORY, LEAST_DISK = 2 * 2**30, 2**30
"""Bytes of free memory that a small training needs, and of free disk for a few small runs."""

LETTERS = {
    "Latin": "aé",
    "Cyrillic": "я",
    "Greek": "λ",
    "Arabic": "س",
    "Hebrew": "ש",
    "Devanagari": "ह",
    "Thai": "ก",
    "Chinese": "汉",
    "Japanese": "あ",
    "Korean": "한",
}
"""A character or two of the most common scripts."""

IMPORT_SECONDS = 300
"""Time that the import of TensorFlow may take; on a slow disk it takes a minute."""

_LOAD_TENSORFLOW = """
import json, os
import tensorflow as tf
gpus = [tf.config.experimental.get_device_details(gpu).get("device_name", gpu.name)
        for gpu in tf.config.list_physical_devices("GPU")]
print(json.dumps({"version": tf.__version__, "cuda": tf.test.is_built_with_cuda(), "gpus": gpus}))
"""


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    fact: str
    advice: str = ""
    """What to do about it; empty: nothing."""
    grade: Literal["ok", "note", "problem"] = "ok"
    """`note` for something that can be better, `problem` for something that keeps nmt from working."""


def findings(directory: Path) -> Iterator[Finding]:
    """All checks, one after the other; the import of TensorFlow takes seconds.

    Args:
        directory: where runs are written.
    """
    loaded, trouble = _load_tensorflow()
    yield _python()
    yield from _packages()
    yield _tensorflow(loaded, trouble)
    yield _processor()
    yield _threads()
    yield _memory()
    yield _disk(directory)
    yield _fonts()
    yield _gpu(loaded)


def versions() -> str:
    """The versions that matter for a report of a problem, in one line."""
    packages = (f"{name} {_version(name) or 'missing'}" for name in ("keras", "tensorflow", "sentencepiece"))
    return f"nmt {__version__}, Python {platform.python_version()}, {', '.join(packages)}"


def _version(package: str) -> str:
    """The version of an installed package; "" if it is missing. The package is not imported."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _python() -> Finding:
    fact = f"{platform.python_version()} on {platform.system()} {platform.machine()}, {sys.executable}"
    if sys.version_info >= (3, 14):
        return Finding("Python", fact, "nmt is tested with Python 3.11 to 3.13", "note")
    return Finding("Python", fact)


def _packages() -> Iterator[Finding]:
    found = {name: _version(name) for name in PACKAGES}
    missing = [name for name, version in found.items() if not version]
    fact = ", ".join(f"{name} {version or 'missing'}" for name, version in found.items())
    advice = f"install them: {install_command()}" if missing else ""
    yield Finding("packages", f"nmt {__version__}, {fact}", advice, "problem" if missing else "ok")


def _load_tensorflow() -> tuple[dict[str, Any], str]:
    """What TensorFlow reports in a process of its own, or the reason why it cannot be loaded."""
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", _LOAD_TENSORFLOW]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=IMPORT_SECONDS)
    except (subprocess.TimeoutExpired, OSError) as error:
        return {}, str(error)
    if ended.returncode == 0:
        return json.loads(ended.stdout.splitlines()[-1]), ""
    if ended.returncode < 0:
        return {}, signal.Signals(-ended.returncode).name
    return {}, (ended.stderr.strip().splitlines() or ["no message"])[-1]


def _tensorflow(loaded: dict[str, Any], trouble: str) -> Finding:
    if loaded:
        return Finding("TensorFlow", f"{loaded['version']} can be loaded")
    advice = f"install it again: {sys.executable} -m pip install --force-reinstall tensorflow"
    if trouble == "SIGILL":
        advice = "this processor lacks instructions (AVX) that TensorFlow's packages use: take another machine"
    elif not _version("tensorflow"):
        advice = f"install it: {install_command()}"
    elif trouble in ("SIGABRT", "SIGKILL") or "memory" in trouble.lower():
        advice = "give the process more memory: TensorFlow needs about 2 GB of address space (ulimit -v)"
    return Finding("TensorFlow", f"cannot be loaded: {trouble}", advice, "problem")


def _processor() -> Finding:
    about = _read(Path("/proc/cpuinfo"))
    if not about:
        return Finding("processor", platform.processor() or platform.machine())
    lines = dict(line.split(":", 1) for line in about.splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in lines.items()}
    flags = fields.get("flags", "").split()
    known = {"avx": "AVX", "avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "AVX512-BF16", "amx_bf16": "AMX"}
    found = ", ".join(name for flag, name in known.items() if flag in flags) or "no AVX"
    fact = f"{fields.get('model name', platform.machine())}: {found}"
    if "avx512_bf16" in flags or "amx_bf16" in flags:
        return Finding("processor", f"{fact}; bfloat16, which --training.precision auto uses where it is faster")
    if platform.machine() == "x86_64" and "avx" not in flags:
        return Finding("processor", fact, "TensorFlow's packages need AVX: take another machine", "problem")
    return Finding("processor", f"{fact}; no bfloat16: --training.precision auto computes in float32")


def _threads() -> Finding:
    usable = processors()
    names = ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS")
    given = [f"{name}={os.environ[name]}" for name in names if os.environ.get(name)]
    fact = ", ".join([f"{usable} of {os.cpu_count()} processors usable", *given])
    quota = _read(Path("/sys/fs/cgroup/cpu.max")).split()
    if len(quota) == 2 and quota[0].isdecimal() and int(quota[0]) / int(quota[1]) < usable - 0.5:
        share = int(quota[0]) / int(quota[1])
        advice = f"the container may use {share:.1f} processors: give it more, or limit the processors (taskset)"
        return Finding("threads", fact, advice, "note")
    if given:
        return Finding("threads", fact, "unset these variables, so that nmt chooses the number of threads", "note")
    return Finding("threads", fact)


def _memory() -> Finding:
    numbers = {line.split(":")[0]: line.split()[1] for line in _read(Path("/proc/meminfo")).splitlines() if ":" in line}
    if not {"MemTotal", "MemAvailable"} <= set(numbers):
        return Finding("memory", "the system does not say")
    total, free = (int(numbers[name]) * 1024 for name in ("MemTotal", "MemAvailable"))
    limits = [limit for limit in (_cgroup_memory(), _address_space()) if limit is not None]
    usable = min([free, *limits])
    fact = f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free"
    if limits and usable < free:
        fact += f", and this process may use {usable / 2**30:.1f} GiB"
    if usable < LEAST_MEMORY:
        advice = "end other programs, raise the limit (ulimit -v, container), or train with a smaller batch_tokens"
        return Finding("memory", fact, advice, "note")
    return Finding("memory", fact)


def _cgroup_memory() -> int | None:
    """Bytes that the container may use; None without a limit."""
    text = _read(Path("/sys/fs/cgroup/memory.max")).strip()
    return int(text) if text.isdecimal() else None


def _address_space() -> int | None:
    """Bytes of address space that this process may use (ulimit -v); None without a limit."""
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def _disk(directory: Path) -> Finding:
    try:
        place = next(place for place in (directory, *directory.parents) if place.exists())
        free = shutil.disk_usage(place).free
    except OSError as error:
        advice = "give --directory, or let this user enter the directories above it"
        return Finding("disk", f"{directory} cannot be reached: {error.strerror}", advice, "problem")
    if not place.is_dir():
        return Finding("disk", f"{place} is a file", "give --directory the path of a directory", "problem")
    fact = f"{free / 2**30:.1f} GiB free for {directory}"
    if not os.access(place, os.W_OK | os.X_OK):
        advice = f"{place} cannot be written: give --directory, or change its permissions"
        return Finding("disk", fact, advice, "problem")
    if free < LEAST_DISK:
        advice = "delete old runs (nmt runs shows their sizes) or their cache, saved_models/.cache"
        return Finding("disk", fact, advice, "note")
    return Finding("disk", fact)


def _fonts() -> Finding:
    try:
        from nmt.drawing.fonts import scripts_without_font

        missing = {script: scripts_without_font(letters)[1] for script, letters in LETTERS.items()}
    except ImportError as error:
        return Finding("fonts", f"cannot be listed: {error}", "install matplotlib and fonttools", "problem")
    fact = f"drawings can show {', '.join(script for script, packages in missing.items() if not packages)}"
    packages = sorted({package for needed in missing.values() for package in needed})
    if not packages:
        return Finding("fonts", fact)
    scripts = ", ".join(script for script, needed in missing.items() if needed)
    advice = f"for {scripts} install fonts, on Debian or Ubuntu with apt-get install {' '.join(packages)}"
    return Finding("fonts", fact, advice, "note")


def _gpu(loaded: dict[str, Any]) -> Finding:
    if gpus := loaded.get("gpus"):
        return Finding("GPU", ", ".join(gpus))
    if not (Path("/proc/driver/nvidia").exists() or shutil.which("nvidia-smi")):
        return Finding("GPU", "none; nmt computes on the processor")
    if not loaded:
        return Finding("GPU", "there is an NVIDIA driver; TensorFlow must be loaded to use it")
    advice = f"install the libraries for it: {sys.executable} -m pip install 'tensorflow[and-cuda]'"
    if not loaded["cuda"]:
        advice = "install a TensorFlow that was built for CUDA: pip install tensorflow, in place of tensorflow-cpu"
    return Finding("GPU", "there is an NVIDIA driver, but TensorFlow finds no GPU", advice, "note")


def _read(path: Path) -> str:
    """The text of a file of the system; "" if there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
