"""`--processes`: several processes write what one writes, and all of them end with their command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import commands
import copy_task
import pytest

from nmt.exporting.export import export_run
from nmt.run.directory import Run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(copier_run, tmp_path_factory):
    """A run, its export, 2,000 sentences of the copy task, and so many that a signal comes before their end."""
    directory = tmp_path_factory.mktemp("processes")
    export_run(Run.open(copier_run), directory / "copier.onnx", licence="CC0")
    (directory / "copier").symlink_to(copier_run)
    copy_task.write_lines(directory / "source", copy_task.sentences(2000, seed=9))
    copy_task.write_lines(directory / "long", copy_task.sentences(20_000, seed=9))
    return directory


def translate(place: Path, flags: str) -> subprocess.CompletedProcess[str]:
    found = commands.run(["-m", "nmt", "translate", "--model", *flags.split()], place)
    assert found.returncode == 0, found.stderr
    assert all(line.startswith("nmt: ") for line in found.stderr.splitlines()), found.stderr
    return found


@pytest.mark.parametrize(
    "flags",
    [
        "copier.onnx --source source --alignments {}.links --beam-size 2",
        "copier.onnx --source source --nbest 2 --beam-size 2",
        "copier.onnx --source source --method sample --seed 3",
        "copier --source source --precision float32 --beam-size 1",
    ],
)
def test_two_processes_write_the_text_of_one(place, flags):
    for name, more in (("one", ""), ("two", " --processes 2")):
        translate(place, f"{flags.format(name)} --output {name}{more}")
    assert (place / "two").read_bytes() == (place / "one").read_bytes()
    if "links" in flags:
        assert (place / "two.links").read_bytes() == (place / "one.links").read_bytes()


@pytest.mark.parametrize("command", ["distil --target source --closest chrf", "back-translate"])
def test_two_processes_make_the_pairs_of_one(place, command):
    for name, processes in (("one", 1), ("two", 2)):
        flags = f"--model copier.onnx --source source --output-source {name}.en --output-target {name}.de --beam-size 2"
        made = commands.run(["-m", "nmt", *command.split(), *flags.split(), "--processes", str(processes)], place)
        assert made.returncode == 0, made.stderr
    for side in ("en", "de"):
        assert (place / f"two.{side}").read_bytes() == (place / f"one.{side}").read_bytes()


def workers_of(parent: int) -> list[int]:
    """The worker processes of a command; its other child is a helper of Python that ends by itself."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = (path.parent / "cmdline").read_text()
        except OSError:
            continue
        if int(fields[1]) == parent and "spawn_main" in command:
            found.append(int(path.parent.name))
    return found


def begun(place: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A command that has written some lines, and its workers."""
    flags = "--model copier.onnx --source long --output cut --processes 2 --beam-size 5"
    (place / "cut").unlink(missing_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", "translate", *flags.split()],
        cwd=place,
        stderr=subprocess.PIPE,
        text=True,
        env=commands.environment(),
        start_new_session=True,
        # A shell starts a command in the background so that it ignores Ctrl-C, and its children inherit this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    part = place / ".cut.part"
    while process.poll() is None and not (part.exists() and part.stat().st_size):
        time.sleep(0.02)
    return process, workers_of(process.pid)


def gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_all_processes_end_together_and_the_text_is_resumed(place, name):
    process, workers = begun(place)
    assert len(workers) == 2
    if name == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does for Ctrl-C
    else:
        process.send_signal(signal.Signals[name])
    said = process.communicate()[1]
    if name != "SIGKILL":
        assert process.returncode == 130
        assert said.splitlines()[-1] == "nmt: interrupted" and "Traceback" not in said
    until = time.monotonic() + 20
    while not all(map(gone, workers)):
        assert time.monotonic() < until, "a worker outlived its command"
        time.sleep(0.05)
    flags = "copier.onnx --source long --beam-size 5"
    assert "continuing behind line " in translate(place, f"{flags} --output cut --processes 2 --resume").stderr
    translate(place, f"{flags} --output whole")
    assert (place / "cut").read_bytes() == (place / "whole").read_bytes()


def test_a_killed_worker_costs_nothing(place):
    process, workers = begun(place)
    os.kill(workers[0], signal.SIGKILL)
    said = process.communicate()[1]
    assert process.returncode == 0
    assert "a worker process was ended by signal SIGKILL" in said
    translate(place, "copier.onnx --source long --beam-size 5 --output whole")
    assert (place / "cut").read_bytes() == (place / "whole").read_bytes()
