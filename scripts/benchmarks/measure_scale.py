"""Prepares many generated pairs, trains on them, and draws the memory over the time.

    python scripts/benchmarks/measure_scale.py --directory scale --pairs 10000000

The stages are run one after the other. `generate` writes sentences of a grammar, as .zst files and one Parquet file.
`prepare` runs nmt prepare. `train` runs nmt train for 500 updates, and `again` resumes it for 100 more. `repeated`
trains on a corpus whose list names each shard several times, until it has --repeated pairs. `report` prints the figures
and draws memory.png. --stages chooses some of them. Memory is the sum over all processes of a stage of their
proportional set size (PSS), four times a second; the system's cache does not count. Delete the directory afterwards.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking.machine import describe
from common.running import run_script
from nmt.errors import NmtError
from nmt.files.digests import digest_file
from nmt.files.reading import package
from nmt.run.prepared_manifest import read_prepared

STAGES = ("generate", "prepare", "train", "again", "repeated", "report")
FILE_PAIRS = 1_000_000
UPDATES, MORE = 500, 100
SLOTS = "dan" + "v" + "dan" + "pdan" + "v" + "dn" + "pdan"
"""Kinds of words of a sentence: determiner, adjective, noun, verb, preposition."""
SIZES = {"d": 8, "a": 1500, "n": 4000, "v": 1200, "p": 20}
NETWORK = ["--model.units", "64", "--model.embedding", "32", "--training.batch_tokens", "2000"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", type=Path, required=True, help="for all files; needs 4 GB for 10 million pairs")
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--repeated", type=int, default=100_000_000, help="pairs of the stage `repeated`")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    arguments = parser.parse_args()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for stage in arguments.stages:
        globals()[stage](arguments)


@functools.cache
def words(kind: str, side: int) -> np.ndarray:
    """Pseudo-words of a kind, the more frequent ones first."""
    random = np.random.default_rng([ord(kind), side])
    onsets, vowels = ["b", "d", "f", "k", "l", "m", "n", "p", "r", "s", "t", "v"], ["a", "e", "i", "o", "u", "ou"]
    found: dict[str, None] = {}
    while len(found) < SIZES[kind]:
        syllables = random.integers(1 + (len(found) > 60), 3 + (len(found) > 300))
        parts = [onsets[random.integers(12)] + vowels[random.integers(6)] for _ in range(syllables)]
        found["".join(parts) + ("", "s")[side] * (kind == "n")] = None
    return np.array(list(found), object)


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Pairs: a target word for each source word, and the adjective behind its noun. Words have a Zipf distribution."""
    random = np.random.default_rng(seed)
    columns: list[list[np.ndarray]] = [[], []]
    for kind in SLOTS:
        ranks = np.minimum(SIZES[kind] ** random.random(count), SIZES[kind] - 1).astype(int)
        for side in (0, 1):
            columns[side].append(words(kind, side)[ranks])
    order = list(range(len(SLOTS)))
    for place in range(1, len(SLOTS)):
        if SLOTS[place - 1 : place + 1] == "an":
            order[place - 1], order[place] = place, place - 1
    used = (len(SLOTS) - random.choice([0, 4, 6, 10], count)).tolist()
    rows = zip(*columns[0], strict=True), zip(*(columns[1][place] for place in order), strict=True)
    return tuple([" ".join(row[:end]) + " ." for row, end in zip(side, used, strict=True)] for side in rows)  # type: ignore[return-value]


def generate(arguments: argparse.Namespace) -> None:
    """Writes the pairs, and counts the distinct ones by 64 bits of their hashes."""
    zstd, started = package("backports.zstd", "writing .zst files"), time.monotonic()
    folder, hashes, size = arguments.directory / "text", [], 0
    folder.mkdir(exist_ok=True)
    for number, begin in enumerate(range(0, arguments.pairs, FILE_PAIRS)):
        sides: list[list[str]] = [[], []]
        for first in range(begin, min(begin + FILE_PAIRS, arguments.pairs), 50_000):
            some = sentences(min(50_000, arguments.pairs - first), first)
            hashes.append(
                np.array([_hash(f"{source}\t{target}") for source, target in zip(*some, strict=True)], np.uint64)
            )
            for side, texts in zip(sides, some, strict=True):
                side += texts
        size += sum(len(text) + 1 for side in sides for text in side)
        if begin + FILE_PAIRS >= arguments.pairs:
            _write_parquet(folder / f"{number:03d}.parquet", *sides)
            break
        for name, side in zip(("src", "tgt"), sides, strict=True):
            with zstd.open(folder / f"{number:03d}.{name}.zst", "wt", encoding="utf-8") as file:
                file.writelines(f"{text}\n" for text in side)
    distinct = len(np.unique(np.concatenate(hashes)))
    parts = {
        "lines": {"source": "text/*.src.zst", "target": "text/*.tgt.zst"},
        "table": {"parquet": "text/*.parquet", "parquet_source": "source", "parquet_target": "target"},
    }
    parts = {name: part for name, part in parts.items() if name == "table" or arguments.pairs > FILE_PAIRS}
    (arguments.directory / "parts.yaml").write_text(json.dumps(parts))
    note(
        arguments,
        "generate",
        seconds=time.monotonic() - started,
        pairs=arguments.pairs,
        distinct=distinct,
        mib=size >> 20,
    )


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _write_parquet(path: Path, source: list[str], target: list[str]) -> None:
    arrow = package("pyarrow", "writing Parquet files")
    package("pyarrow.parquet", "writing Parquet files").write_table(
        arrow.table({"source": source, "target": target}), path
    )


def prepare(arguments: argparse.Namespace) -> None:
    place = arguments.directory / "prepared"
    command = ["prepare", "--output", place, "--parts", arguments.directory / "parts.yaml", "--vocabulary.size", "4000"]
    observe(arguments, "prepare", [*command, "--processes", arguments.processes])
    note(arguments, "prepare", disk_mib=disk(place), text_disk_mib=disk(arguments.directory / "text"))


def train(arguments: argparse.Namespace) -> None:
    _train(arguments, "train", "prepared", "run", UPDATES)


def again(arguments: argparse.Namespace) -> None:
    _train(arguments, "again", "prepared", "run", UPDATES + MORE)


def repeated(arguments: argparse.Namespace) -> None:
    """Trains on a corpus that has each shard several times: the plan of so many pairs, on little disk."""
    original, copy = arguments.directory / "prepared", arguments.directory / "repeated"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy, copy_function=os.link)
    place = copy / "shards" / "about.json"
    about = json.loads(place.read_text())
    have = sum(shard["pairs"] for corpus in about["corpora"] for shard in corpus["shards"])
    for corpus in about["corpora"]:
        corpus["shards"] *= -(-arguments.repeated // have)
    place.unlink()
    place.write_text(json.dumps(about))
    manifest = read_prepared(copy)
    replace(manifest, files={**manifest.files, "shards/about.json": digest_file(place)}).save(copy)
    _train(arguments, "repeated", "repeated", "run-repeated", MORE)


def _train(arguments: argparse.Namespace, stage: str, corpus: str, name: str, updates: int) -> None:
    """Trains until `updates`, then interrupts."""
    marks: dict[str, float] = {}

    def watch(line: str, seconds: float, process: subprocess.Popen[str]) -> None:
        if "per epoch" in line:
            marks.setdefault("start_seconds", seconds)
        if found := re.search(r"step (\d+)", line):
            if int(found[1]) % 100 == 0:
                marks.setdefault("first_log_seconds", seconds)
            if int(found[1]) >= updates and "epoch" in line and "resuming" not in line:
                with suppress(ProcessLookupError):
                    process.send_signal(signal.SIGINT)

    command = ["train", "--corpus.prepared", arguments.directory / corpus, "--directory", arguments.directory / "runs"]
    more = [
        "--name",
        name,
        "--training.passes",
        "1",
        "--training.log_every",
        "50",
        "--training.validate_every",
        "1000000",
    ]
    observe(arguments, stage, [*command, *more, *NETWORK], watch, expected=130)
    note(arguments, stage, **marks)


def observe(
    arguments: argparse.Namespace,
    stage: str,
    command: list[Any],
    watch: Callable[[str, float, subprocess.Popen[str]], None] = lambda line, seconds, process: None,
    expected: int = 0,
) -> None:
    """Runs a command of nmt, and notes its time, its processor time and its memory over the time."""
    started, samples = time.monotonic(), []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        [sys.executable, "-m", "nmt", *map(str, command)], stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )

    def sample() -> None:
        while process.poll() is None:
            samples.append((round(time.monotonic() - started, 2), memory_of_tree(process.pid)))
            time.sleep(0.25)

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    lines = []
    for line in process.stderr or ():
        print(line, end="", file=sys.stderr, flush=True)
        lines.append(f"{time.monotonic() - started:.1f} {line.rstrip()}")
        watch(line, time.monotonic() - started, process)
    code = process.wait()
    thread.join()
    if code != expected:
        raise NmtError(f"nmt {command[0]} ended with exit code {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # with the processes of the command
    note(
        arguments,
        stage,
        seconds=time.monotonic() - started,
        processor_seconds=after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        peak_mib=max(mib for _, mib in samples),
        samples=samples,
        lines=lines,
    )


def memory_of_tree(root: int) -> float:
    """MiB of a process and its descendants, pages that they share divided among them."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    total, wanted = 0, {root}
    for process in sorted(parents):
        if process in wanted or parents[process] in wanted:
            wanted.add(process)
            with suppress(OSError):
                found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text(), re.MULTILINE)
                total += int(found[1]) if found else 0
    return round(total / 1024, 1)


def disk(place: Path) -> int:
    """MiB of the files in a directory."""
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) >> 20


def note(arguments: argparse.Namespace, stage: str, **values: Any) -> None:
    """Adds values to the notes of a stage, in notes.json."""
    path = arguments.directory / "notes.json"
    notes = json.loads(path.read_text()) if path.exists() else {}
    notes[stage] = notes.get(stage, {}) | values
    path.write_text(json.dumps(notes))


def report(arguments: argparse.Namespace) -> None:
    """Prints the notes, and draws the memory of each stage."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    notes = json.loads((arguments.directory / "notes.json").read_text())
    print(json.dumps(describe()))
    for stage, values in notes.items():
        print(f"{stage}: " + ", ".join(f"{k} {round(v, 1)}" for k, v in values.items() if isinstance(v, int | float)))
    drawn = {stage: values["samples"] for stage, values in notes.items() if "samples" in values}
    figure, axes = plt.subplots(1, len(drawn), figsize=(4 * len(drawn), 3.2), sharey=True, squeeze=False)
    for axis, (stage, samples) in zip(axes[0], drawn.items(), strict=True):
        seconds, mib = zip(*samples, strict=True)
        axis.plot(seconds, mib, color="#1f5fa8", linewidth=1)
        axis.set(title=stage, xlabel="seconds", ylim=(0, max(2100, *mib)))
        axis.axhline(2048, color="#999999", linestyle=":", linewidth=1)
    axes[0][0].set_ylabel("memory of all processes, MiB")
    figure.tight_layout()
    figure.savefig(arguments.directory / "memory.png", dpi=110)
    print(f"the memory over the time is in {arguments.directory / 'memory.png'}")


if __name__ == "__main__":
    sys.exit(run_script(lambda: main()))
