"""A preparation that is interrupted, killed or damaged goes on to the files of an undisturbed one."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import commands
import pytest
from corpus_preparation import SOURCES, files_of, flipped, made

from nmt.config import PairsConfig
from nmt.errors import NmtError
from nmt.run.prepared_manifest import damaged_files, read_prepared
from nmt.training.preparation.shards import blocks, preparing


def test_an_interrupted_preparation_goes_on_to_equal_files(
    text: PairsConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped when one of about fifty files gets its name, in each stage."""
    made(tmp_path / "whole", text)
    write, stop_at, count = os.replace, 0, 0

    def counting(source: Path, target: Path) -> None:
        nonlocal count
        count += 1
        if count == stop_at:
            raise KeyboardInterrupt
        write(source, target)

    monkeypatch.setattr("os.replace", counting)
    for stop_at in (1, 14, 22, 36, 41):
        count = 0
        shutil.rmtree(tmp_path / "stopped", ignore_errors=True)
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "stopped", text)
        made(tmp_path / "stopped", text)
        assert files_of(tmp_path / "stopped") == files_of(tmp_path / "whole"), stop_at


STOPS = {
    "scan": (preparing.Preparation, "_collect"),
    "learn": (preparing.Preparation, "encoding_arguments"),
    "encode": (preparing.Preparation, "pack"),
    "pack": (preparing.Preparation, "_finish"),
}
"""Methods with which the next stage begins."""


def stopped_behind(stage: str, directory: Path, text: PairsConfig, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Interrupts a preparation behind a stage; returns its files."""

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(*STOPS[stage], stopped)
        made(directory, text)
    return sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file())


def goes_on_after(kind: str, name: Path, directory: Path, text: PairsConfig) -> None:
    """Damages a file; goes on, or does as the message says and goes on then."""
    whole = (directory / name).read_bytes()
    (directory / name).write_bytes({"flipped": flipped(whole), "cut": whole[: len(whole) // 2], "empty": b""}[kind])
    try:
        made(directory, text)
    except NmtError as error:
        advice = re.search(r"^(\S+): damaged or missing: delete (\S+) (to prepare it anew|and repeat .*)$", str(error))
        assert advice, error
        assert Path(advice[1]).relative_to(directory) == name
        remedy = Path(advice[1] if advice[2] == "it" else advice[2])
        shutil.rmtree(remedy) if remedy == directory else remedy.unlink()
        made(directory, text)


def test_a_damaged_mark_of_an_interrupted_preparation_is_one_line(
    text: PairsConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_behind("scan", tmp_path / "p", text, monkeypatch)
    for name, content in (("00001.end", b"3\xff"), ("00001-000001.json", b"{}")):
        whole = (tmp_path / "p/work/scan" / name).read_bytes()
        (tmp_path / "p/work/scan" / name).write_bytes(content)
        with pytest.raises(NmtError, match=f"work/scan/{name}: damaged or missing: delete it and repeat the command$"):
            made(tmp_path / "p", text)
        (tmp_path / "p/work/scan" / name).write_bytes(whole)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STOPS)
def test_damage_to_an_interrupted_preparation_is_refused_or_mended(
    stage: str, text: PairsConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end has the files of an undisturbed preparation, or damage that verification names."""
    made(tmp_path / "whole", text)
    expected = files_of(tmp_path / "whole")
    for number, name in enumerate(stopped_behind(stage, tmp_path / "stopped", text, monkeypatch)):
        shutil.copytree(tmp_path / "stopped", tmp_path / "p")
        goes_on_after(("flipped", "cut", "empty")[number % 3], name, tmp_path / "p", text)
        bad = damaged_files(tmp_path / "p", read_prepared(tmp_path / "p"))
        assert bad or files_of(tmp_path / "p") == expected, name
        assert not bad or name.parts[0] == "shards", name
        shutil.rmtree(tmp_path / "p")


def test_finished_blocks_are_not_made_again(text: PairsConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode, done = blocks.encode, []

    def stopping(state: object, job: blocks.Job) -> int:
        done.append((job.unit, job.number))
        if len(done) == 5:
            raise KeyboardInterrupt
        return encode(state, job)  # type: ignore[arg-type]

    monkeypatch.setattr(blocks, "encode", stopping)
    with pytest.raises(KeyboardInterrupt):
        made(tmp_path / "p", text)
    first, done[:] = done[:], [(9, 9)] * 5
    assert "going on with the interrupted preparation" in "".join(made(tmp_path / "p", text))
    assert not set(first[:4]) & set(done[5:])
    assert len(done[5:]) == 5  # nine blocks in all


@pytest.mark.parametrize("stop", ["manifest.json", "00000.done.npz", "work"])
def test_a_preparation_that_is_stopped_at_its_very_end_goes_on_to_equal_files(
    stop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped when the manifest gets its name, when a mark of a finished shard goes, and when the work goes."""
    (tmp_path / "a.tsv").write_text("".join(f"{line}\t{line.upper()}\n" for line in SOURCES[:40]))
    text = PairsConfig(tsv=str(tmp_path / "a.tsv"))
    made(tmp_path / "whole", text)

    def stopping(real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: Any, **options: object) -> object:
            if any(Path(path).name == stop for path in arguments if isinstance(path, str | Path)):
                raise KeyboardInterrupt
            return real(*arguments, **options)

        return call

    with monkeypatch.context() as patched:
        for name in ("os.replace", "shutil.rmtree", "pathlib.Path.unlink"):
            module, _, function = name.rpartition(".")
            patched.setattr(name, stopping(getattr(resolve_name(module), function)))
        with pytest.raises(KeyboardInterrupt):
            made(tmp_path / "stopped", text)
    made(tmp_path / "stopped", text)
    assert files_of(tmp_path / "stopped") == files_of(tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_preparation_goes_on_to_equal_files(tmp_path: Path) -> None:
    """SIGKILL at ten random moments, with two processes, which end too."""
    for name, change in (("en", str), ("fr", str.upper)):
        lines = (f"{change(SOURCES[n % 300])} {n}\n" for n in range(150_000))
        (tmp_path / f"a.{name}").write_text("".join(lines))
    command = [sys.executable, "-m", "nmt", "prepare", "--corpus.train.source", "a.en", "--corpus.train.target", "a.fr"]
    command += ["--vocabulary.type", "char", "--vocabulary.size", "60", "--corpus.near_duplicates", "keep"]
    options = {"cwd": tmp_path, "env": commands.environment(), "stderr": subprocess.PIPE}
    started = time.monotonic()
    whole = subprocess.run([*command, "--output", "whole", "--processes", "1"], **options)  # type: ignore[call-overload]
    assert whole.returncode == 0, whole.stderr
    seconds, kills = time.monotonic() - started, 0
    for _ in range(10):
        with subprocess.Popen([*command, "--output", "killed", "--processes", "2"], **options) as process:  # type: ignore[call-overload]
            try:
                process.wait(random.uniform(0.1, 0.6) * seconds)
            except subprocess.TimeoutExpired:
                kills += 1
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                process.send_signal(signal.SIGKILL)
                process.wait()
                deadline = time.monotonic() + 20
                while any(Path(f"/proc/{child}").exists() for child in children):
                    assert time.monotonic() < deadline, "a process has outlived the command"
                    time.sleep(0.1)
    assert kills
    last = subprocess.run([*command, "--output", "killed", "--processes", "2"], **options)  # type: ignore[call-overload]
    assert last.returncode == 0, last.stderr
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
