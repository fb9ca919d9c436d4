"""Commands with few files, little memory, no home, a read-only run, or a clock that was set back."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    "script",
    [
        f"ulimit -n 64; {TRANSLATE}",
        f"unset HOME; {TRANSLATE}",
        f"HOME=/missing TMPDIR=/missing XDG_CACHE_HOME=/missing {TRANSLATE}",
        f"LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 {TRANSLATE}",
    ],
)
def test_translations_need_few_resources(script: str, desk: Path) -> None:
    found = shell(script, desk)
    assert found.returncode == 0, found.stderr
    assert found.stdout == (desk / "expected").read_text()


def test_too_little_memory_is_one_line(desk: Path) -> None:
    found = shell(f"ulimit -v 1000000; {TRANSLATE}", desk)
    assert found.returncode == 2 and not found.stdout
    (line,) = found.stderr.splitlines()
    assert line.startswith("nmt: error: not enough memory") and "ulimit -v" in line


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


def test_a_clock_that_was_set_back_loses_nothing(desk: Path) -> None:
    """The files of the run are then newer than the present."""
    for path in (desk / "run").rglob("*"):
        later = path.stat().st_mtime + HOUR
        os.utime(path, (later, later))
    again = "--config config.yaml --directory . --name run --training.passes 13"
    trained = shell(f"$nmt train {again}", desk)
    assert trained.returncode == 0 and "resuming from step" in trained.stderr, trained.stderr
    assert shell(TRANSLATE, desk).returncode == 0
