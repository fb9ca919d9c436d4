"""Commands with few files, little memory, no home, a read-only run, or a clock that was set back."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nmt.files.locking import locked

ROOT = Path(__file__).parents[2]
HOUR = 3600

pytestmark = pytest.mark.slow


def shell(script: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in which `$nmt` is the command."""
    command = f"{shlex.quote(sys.executable)} -m nmt"
    environment = {**os.environ, "nmt": command, "PYTHONPATH": str(ROOT), **variables}
    return subprocess.run(["bash", "-c", script], cwd=directory, env=environment, capture_output=True, text=True)


def isolated(script: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a script that may mount file systems of its own."""
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("the system gives no mount namespace")
    return shell(f"unshare -rm bash -c {shlex.quote(script)}", directory)


@pytest.fixture
def desk(playground: Path, tmp_path: Path) -> Path:
    """A directory with a run, five of its sentences and their translations."""
    shutil.copytree(playground / "runs/copy", tmp_path / "run")
    shutil.copy(playground / "config.yaml", tmp_path)
    lines = (playground / "validation.source").read_text().splitlines()[:5]
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in lines))
    whole = shell("$nmt translate --model run --source lines", tmp_path)
    assert whole.returncode == 0, whole.stderr
    (tmp_path / "expected").write_text(whole.stdout)
    return tmp_path


TRANSLATE = "$nmt translate --model run --source lines"
TRAIN = "$nmt train --config config.yaml --directory . --name small --training.passes 1"
ALIGN = "$nmt align --model run --source lines --target expected --output aligned --limit 2 --format html"
FEW = [
    "ulimit -n 64; {}",
    "unset HOME; {}",
    "HOME=/missing TMPDIR=/missing XDG_CACHE_HOME=/missing {}",
    "LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {}",
]
"""Few files, no home, no directories for temporary files, no UTF-8."""


@pytest.mark.parametrize("script", FEW)
def test_commands_need_few_resources(script: str, desk: Path) -> None:
    found = shell(script.format(TRANSLATE), desk)
    assert found.returncode == 0, found.stderr
    assert found.stdout == (desk / "expected").read_text()
    aligned = shell(script.format(ALIGN), desk)
    assert aligned.returncode == 0 and any((desk / "aligned").iterdir()), aligned.stderr
    trained = shell(script.format(TRAIN), desk)
    assert trained.returncode == 0, trained.stderr
    assert shell("$nmt verify small", desk).returncode == 0


def test_no_directory_for_temporary_files_can_be_written(desk: Path) -> None:
    """Neither /tmp, /var/tmp nor the working directory; a training writes into a directory of its own."""
    places = [str(desk), "/tmp", "/var/tmp"]
    unwritable = " && ".join(f"mount --bind {place} {place} && mount -o remount,ro,bind {place}" for place in places)
    (desk / "runs").mkdir()
    unwritable += f" && cd {desk} && ! (touch /tmp/file || touch /var/tmp/file || touch file) 2> /dev/null"
    unwritable += " && mount -t tmpfs none runs"
    found = isolated(f"{unwritable} && {TRANSLATE}", desk)
    assert found.returncode == 0 and found.stdout == (desk / "expected").read_text(), found.stderr
    train = TRAIN.replace("--directory .", "--directory runs")
    trained = isolated(f"{unwritable} && {train} && $nmt verify runs/small", desk)
    assert trained.returncode == 0, trained.stderr


@pytest.mark.parametrize("command", [TRANSLATE, ALIGN, TRAIN])
@pytest.mark.parametrize("kib", [1_000_000, 2_000_000, 4_000_000])
def test_little_memory_is_enough_or_one_line(kib: int, command: str, desk: Path) -> None:
    found = shell(f"ulimit -v {kib}; {command}", desk)
    if kib == 1_000_000 or found.returncode:
        assert found.returncode == 2 and not found.stdout, found
        *_, line = found.stderr.splitlines()
        assert line.startswith("nmt: error: not enough memory") and "ulimit -v" in line
    assert "Traceback" not in found.stderr
    if kib == 4_000_000:
        assert found.returncode == 0, found.stderr


def test_a_read_only_run_translates_and_refuses_to_train(desk: Path) -> None:
    mount = "mount --bind run run && mount -o remount,ro,bind run"
    found = isolated(f"{mount} && {TRANSLATE}", desk)
    assert found.returncode == 0 and found.stdout == (desk / "expected").read_text(), found.stderr
    settings = "--config config.yaml --directory . --name run --training.passes 99"
    refused = isolated(f"{mount} && $nmt train {settings}", desk)
    assert refused.returncode == 2
    assert refused.stderr == "nmt: error: run is not writable: give another --directory\n"


def test_a_full_shared_memory_does_not_matter(desk: Path) -> None:
    fill = "mount -t tmpfs -o size=4k none /dev/shm && head -c 4096 /dev/zero > /dev/shm/full"
    found = isolated(f"{fill} && {TRANSLATE} --processes 2", desk)
    assert found.returncode == 0 and found.stdout == (desk / "expected").read_text(), found.stderr


def test_a_file_that_may_not_grow_is_named(desk: Path) -> None:
    trained = shell("ulimit -f 8; $nmt train --config config.yaml --directory . --name small", desk)
    assert trained.returncode == 2
    assert "File too large" in trained.stderr.splitlines()[-1]


SET_BACK = """
import time
from pathlib import Path

now = time.time
time.time = lambda: now() - 3600
"""
"""Begins a program whose clock was set back after the files around it were written."""


def run_set_back(program: str, directory: Path) -> str:
    (directory / "program.py").write_text(SET_BACK + program)
    done = shell(f"{shlex.quote(sys.executable)} program.py", directory, TMPDIR=str(directory))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def places(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A directory that a process fills, and another one whose process has been killed; their names are chosen later."""
    for name in ("filled", "left"):
        (tmp_path / name).mkdir()
    with locked(tmp_path / "filled", None):
        yield tmp_path / "filled", tmp_path / "left"


def test_the_cache_works_with_a_clock_that_was_set_back(places: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    for place in places:
        place.rename(tmp_path / "cache" / f"{place.name}.part")
    program = """
from nmt.training.preparation.cache import Cache

cache = Cache(Path("cache"), limit=1)
print(*(cache.fetch({"key": 1}, lambda part: (part / "text").write_text("new"), Path(to)) for to in ("a", "b")))
"""
    assert run_set_back(program, tmp_path) == "False True\n"
    assert (tmp_path / "a/text").read_text() == (tmp_path / "b/text").read_text() == "new"
    assert [path.name for path in (tmp_path / "cache").glob("*.part")] == ["filled.part"]


def test_directories_are_complete_with_a_clock_that_was_set_back(places: tuple[Path, Path], tmp_path: Path) -> None:
    """The directory of the killed process goes when the clock has passed its time."""
    for place, mark in zip(places, "12", strict=True):
        place.rename(tmp_path / f".export.{mark * 8}.part")
        earlier = time.time() - HOUR / 2
        os.utime(tmp_path / f".export.{mark * 8}.part", (earlier, earlier))
    program = """
from nmt.errors import NmtError
from nmt.files.atomic_writing import complete_directory

with complete_directory(Path("export"), NmtError) as part:
    (part / "text").write_text("new")
"""
    run_set_back(program, tmp_path)
    assert (tmp_path / "export/text").read_text() == "new"
    assert len(list(tmp_path.glob(".export.*.part"))) == 2
    shutil.rmtree(tmp_path / "export")
    run_set_back(f"time.time = now{program}", tmp_path)
    assert [path.name for path in tmp_path.glob(".export.*.part")] == [".export.11111111.part"]


def test_measurements_are_shared_with_a_clock_that_was_set_back(places: tuple[Path, Path], tmp_path: Path) -> None:
    for place in places:
        place.rename(tmp_path / f"nmt-metrics-{place.name}")
        earlier = time.time() - HOUR / 2
        os.utime(tmp_path / f"nmt-metrics-{place.name}", (earlier, earlier))
    program = """
import os
from nmt.serving.metrics import DIRECTORY, shared_measurements

with shared_measurements():
    print(len(list(Path().glob("nmt-metrics-*"))), Path(os.environ[DIRECTORY]).is_dir())
"""
    assert run_set_back(program, tmp_path) == "3 True\n"
    assert run_set_back(f"time.time = now{program}", tmp_path) == "2 True\n"
    assert [path.name for path in tmp_path.glob("nmt-metrics-*")] == ["nmt-metrics-filled"]


def test_a_clock_that_was_set_back_loses_nothing(desk: Path) -> None:
    """The files of the run are then newer than the present."""
    for path in (desk / "run").rglob("*"):
        later = path.stat().st_mtime + HOUR
        os.utime(path, (later, later))
    again = "--config config.yaml --directory . --name run --training.passes 13"
    trained = shell(f"$nmt train {again}", desk)
    assert trained.returncode == 0 and "resuming from step" in trained.stderr, trained.stderr
    assert shell(TRANSLATE, desk).returncode == 0
