"""`nmt bulk-translate`: the text of `nmt translate`, whatever happens to its processes."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import commands
import pytest

pytest.importorskip("apache_beam", reason="bash scripts/beam.sh makes an environment with Apache Beam and runs this")

import pyarrow
import zstandard
from pyarrow import parquet

from nmt.bulk import pipeline
from nmt.config import SearchConfig
from nmt.translation.request import TranslationRequest

MODEL = commands.REPOSITORY / "tests" / "exporting" / "version_1" / "recurrent-float32"


def sentences(count: int) -> list[str]:
    draw = random.Random(3)
    words = ["ba", "be", "bi", "bo", "bu", "ka", "ke", "ki"]
    return [" ".join(draw.choices(words, k=draw.randint(0, 9))) for _ in range(count)]


def nmt(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    return commands.run(["-m", "nmt", *command.split()], directory)


def translated(lines: list[str], directory: Path) -> list[str]:
    """The lines of `nmt translate`."""
    (directory / "plain").write_text("".join(f"{line}\n" for line in lines))
    assert nmt(f"translate --model {MODEL} --source plain --output expected --beam-size 1", directory).returncode == 0
    return (directory / "expected").read_text().splitlines()


def bulk(sources: str, directory: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    command = f"bulk-translate --model {MODEL} --source {sources} --output out --beam-size 1 {more}"
    return nmt(command, directory)


def shards(folder: Path, suffix: str) -> list[Path]:
    return [path for path in sorted(folder.glob(f"*{suffix}")) if path.name[:6].isdecimal()]


def test_every_format_goes_in_and_out_in_order(tmp_path):
    """Bad lines stay empty and are listed; a repeated command does nothing again."""
    lines = sentences(40)
    raw = [line.encode() for line in lines]
    raw[4], raw[30], lines[4], lines[30] = b"ba \xff be", b"ba " * 3000, "", ""
    (tmp_path / "text.en").write_bytes(b"\r\n".join(raw))
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"\n".join(raw) + b"\n"))
    (tmp_path / "b.zst").write_bytes(zstandard.ZstdCompressor().compress(b"\n".join(raw)))
    values = [None if n in (4, 30) else line for n, line in enumerate(lines)]
    parquet.write_table(pyarrow.table({"id": range(40), "en": values}), tmp_path / "c.parquet", row_group_size=11)
    found = bulk("text.en *.gz b.zst c.parquet", tmp_path, "--shard-lines 16 --processes 2")
    assert found.returncode == 0, found.stderr
    assert all(line.startswith("nmt: ") for line in found.stderr.splitlines()), found.stderr
    assert "160 lines in 12 shards, in " in found.stderr and "; 8 bad lines in .bad.jsonl files" in found.stderr
    expected, out = translated(lines, tmp_path), tmp_path / "out"
    assert b"".join(path.read_bytes() for path in shards(out / "text.en", ".txt")).decode().splitlines() == expected
    unzipped = b"".join(gzip.decompress(path.read_bytes()) for path in shards(out / "a.gz", ".txt.gz"))
    assert unzipped.decode().splitlines() == expected
    opened = [zstandard.ZstdDecompressor().stream_reader(path.read_bytes()) for path in shards(out / "b.zst", ".zst")]
    assert b"".join(file.read() for file in opened).decode().splitlines() == expected
    rows = [row for path in shards(out / "c.parquet", ".parquet") for row in parquet.read_table(path).to_pylist()]
    assert rows == [{"line": number, "translation": text} for number, text in enumerate(expected, start=1)]
    bad = [json.loads(line) for p in shards(out / "text.en", ".bad.jsonl") for line in p.read_text().splitlines()]
    assert [(Path(line["path"]).name, line["line"], line["reason"]) for line in bad] == [
        ("text.en", 5, "is not valid UTF-8 from its byte 4 on"),
        ("text.en", 31, "has 9000 characters, more than 5000"),
    ]
    assert bad[0]["text"] == "ba \\xff be"
    written = {path: path.stat().st_mtime_ns for path in out.rglob("0*")}
    again = bulk("text.en *.gz b.zst c.parquet", tmp_path, "--shard-lines 16")
    assert "160 lines in 12 shards, 12 of them before, in " in again.stderr
    assert "; 8 bad lines in .bad.jsonl files" in again.stderr
    assert {path: path.stat().st_mtime_ns for path in out.rglob("0*")} == written
    other = bulk("text.en", tmp_path, "--shard-lines 5")
    assert other.returncode == 2
    assert other.stderr.startswith("nmt: error: out: holds the shards of another job")


@pytest.mark.parametrize(
    ("sources", "more", "message"),
    [
        ("nothing*", "", "nothing*: no such file"),
        ("text table.parquet", "", "its columns of text are de, en: name one with --column"),
        ("text table.parquet", "--column fr", "its columns of text are de, en: there is no fr"),
        ("text other/text", "", "/text has the same name: translate them in two commands"),
        ("utf16", "", "utf16: is UTF-16 or UTF-32 text, expected UTF-8: convert it with iconv"),
        ("text new.po", "", "new.po: is PO, expected text with one sentence per line"),
        ("other", "", "other: is a directory, expected a file: name its files, such as "),
        ("text cut.gz", "", "cut.gz: is cut off or damaged, or not a gzip file: fetch it again, or rename it"),
        ("text", "table.parquet", "table.parquet: options of Beam begin with -"),
        ("text", "--processes 2 -- --runner FlinkRunner", "--processes is for this machine"),
    ],
)
def test_mistakes_are_one_line(sources, more, message, tmp_path):
    (tmp_path / "text").write_text("ba\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "text").write_text("be\n")
    (tmp_path / "utf16").write_text("ba\n", "utf-16")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"ba\nbe\n")[:-1])
    parquet.write_table(pyarrow.table({"de": ["ba"], "en": ["be"]}), tmp_path / "table.parquet")
    found = bulk(sources, tmp_path, more)
    assert found.returncode == 2
    *progress, line = found.stderr.splitlines()
    assert all(" shards, " in text for text in progress)
    assert line.startswith("nmt: error: ") and message in line


def begun(directory: Path, lines: int, ignores_interrupts: bool = False) -> subprocess.Popen[str]:
    """A command with two processes that has finished some shards of 100 lines.

    With `ignores_interrupts` it starts as a command behind & in a script does, else as one of a terminal.
    """
    interrupts = signal.SIG_IGN if ignores_interrupts else signal.SIG_DFL
    (directory / "source").write_text("".join(f"{line}\n" for line in sentences(lines)))
    command = f"bulk-translate --model {MODEL} --source source --output out --beam-size 1 --shard-lines 100"
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", *command.split(), "--processes", "2"],
        cwd=directory,
        stderr=subprocess.PIPE,
        text=True,
        env=commands.environment(),
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, interrupts),
    )
    while process.poll() is None and not shards(directory / "out" / "source", ".txt"):
        time.sleep(0.02)
    return process


def states(parent: int) -> dict[int, str]:
    """The children of a process that run a worker, with the letter of their state."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and "nmt.bulk.worker" in (path.parent / "cmdline").read_text():
                found[int(path.parent.name)] = fields[0]
        except OSError:
            continue
    return found


def gone(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def text_of(directory: Path) -> list[str]:
    return "".join(path.read_text() for path in shards(directory / "out" / "source", ".txt")).splitlines()


def test_a_remote_model_is_prepared_before_its_copy_goes(monkeypatch, tmp_path):
    """Its short list too, which a search reads late."""
    monkeypatch.setattr(pipeline, "local_copy", lambda model, place: shutil.copytree(model, place))
    models = (str(MODEL.parent / "short-list-float32"),)
    search = {"beam_size": 1, "short_list": 20}
    translator = pipeline.load_models(pipeline.Work(models, {}, search, longest=1000, shard_lines=10))
    (found,) = translator.answer([TranslationRequest("ba be", SearchConfig(**search))])
    assert found[0].text


def listening(process: int) -> set[str]:
    """The local addresses, in hexadecimal, of the sockets on which a process listens."""
    inodes = set()
    for link in Path(f"/proc/{process}/fd").iterdir():
        with_name = os.readlink(link) if link.is_symlink() else ""
        inodes |= {with_name[8:-1]} if with_name.startswith("socket:[") else set()
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return {row[1].rpartition(":")[0] for row in rows if row[3] == "0A" and row[9] in inodes}


@pytest.mark.parametrize("ignores_interrupts", [False, True])
def test_a_killed_worker_costs_nothing_and_no_server_is_open_to_others(ignores_interrupts, tmp_path):
    process = begun(tmp_path, 3000, ignores_interrupts)
    if ignores_interrupts:
        os.kill(process.pid, signal.SIGINT)
    assert {address[-8:] for address in listening(process.pid)} == {"0100007F"}  # 127.0.0.1, also as ::ffff:127.0.0.1
    workers = [*states(process.pid)]
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    assert "a worker process has ended before its work was done: the shards that it had begun are translated" in said
    assert "Traceback" not in said and "of them before" not in said
    assert all(map(gone, workers))
    assert text_of(tmp_path) == translated(sentences(3000), tmp_path)


@pytest.mark.parametrize("name", ["SIGINT", "SIGKILL"])
def test_a_killed_command_is_resumed_behind_its_finished_shards(name, tmp_path):
    process = begun(tmp_path, 3000)
    workers = [*states(process.pid)]
    if name == "SIGINT":
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does for Ctrl-C
    else:
        process.kill()
    said = process.communicate(timeout=60)[1]
    if name == "SIGINT":
        assert process.returncode == 130
        assert said.splitlines()[-1] == "nmt: interrupted" and "Traceback" not in said
    until = time.monotonic() + 20
    while not all(map(gone, workers)):
        assert time.monotonic() < until, "a worker outlived its command"
        time.sleep(0.05)
    done = {path: path.stat().st_mtime_ns for path in shards(tmp_path / "out" / "source", ".txt")}
    assert 0 < len(done) < 30
    found = bulk("source", tmp_path, "--shard-lines 100 --processes 2")
    assert found.returncode == 0, found.stderr
    assert f"3,000 lines in 30 shards, {len(done)} of them before" in found.stderr
    assert {path: path.stat().st_mtime_ns for path in done} == done
    assert not [*tmp_path.rglob("*.part")]
    assert text_of(tmp_path) == translated(sentences(3000), tmp_path)
