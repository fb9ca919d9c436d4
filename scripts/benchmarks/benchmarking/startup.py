"""The start of a training, from the command to the first step: seconds and memory, cold and warm, by corpus size."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.benchmarking.machine import peak_memory
from benchmarks.benchmarking.report import in_range, spread

DEMO = Path("data/demo")
STEPS = {"prepared": " training pairs, ", "first_step": "  step 1/"}
"""Text in the command's output when it reaches each stage."""


def write_pairs(directory: Path, count: int, seed: int = 1) -> tuple[Path, Path]:
    """Writes pairs that join two random pairs of the demo corpus with a number between them; returns the files.

    All pairs differ, so the vocabulary is learnt from as many sentences as there are pairs.
    """
    sides = [read(DEMO / f"train.{side}") for side in ("en", "fr")]
    draw = random.Random(seed)
    paths = directory / f"{count}.en", directory / f"{count}.fr"
    with open(paths[0], "w", encoding="utf-8") as source, open(paths[1], "w", encoding="utf-8") as target:
        for number in range(count):
            first, second = draw.randrange(len(sides[0])), draw.randrange(len(sides[0]))
            for file, lines in ((source, sides[0]), (target, sides[1])):
                file.write(f"{lines[first]} {number} {lines[second]}\n")
    return paths


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def measure(pairs: int, repeats: int) -> Iterator[dict[str, Any]]:
    """Times a cold start and a warm start in each repeat.

    Args:
        pairs: number of generated pairs; 0: the demo corpus.
        repeats: number of repeats.

    Yields:
        `pairs`, `start` ("cold" or "warm"), the seconds until the pairs are `prepared` and until the `first_step` ends,
        and the peak memory until then (`peak_mib`).
    """
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        sides = write_pairs(directory, pairs) if pairs else (DEMO / "train.en", DEMO / "train.fr")
        for repeat in range(repeats):
            for start in ("cold", "warm"):
                arguments = ["--directory", str(directory / f"runs-{repeat}"), "--name", start]
                arguments += ["--corpus.train.source", str(sides[0]), "--corpus.train.target", str(sides[1])]
                yield {"pairs": pairs, "start": start} | start_training(arguments)


def start_training(arguments: list[str]) -> dict[str, float]:
    """Starts `nmt train` with the demo configuration and these flags, and kills it after the first step."""
    command = [sys.executable, "-m", "nmt", "train", "--config", str(DEMO / "config.yaml"), "--training.log_every", "1"]
    path = os.pathsep.join([os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])])
    found: dict[str, float] = {}
    output = []
    begin = time.perf_counter()
    with subprocess.Popen(
        [*command, *arguments], stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": path}
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            output.append(line)
            found |= {name: time.perf_counter() - begin for name, sign in STEPS.items() if sign in line}
            if "first_step" in found:
                found["peak_mib"] = peak_memory(process.pid)
                process.kill()
                break
    if "peak_mib" not in found:
        raise SystemExit(f"nmt train ended before its first step:\n{''.join(output)}")
    return found


def table(found: list[dict[str, Any]]) -> str:
    """Markdown: medians and ranges for each corpus and start."""
    rows: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for one in found:
        rows.setdefault((one["pairs"], one["start"]), []).append(one)
    lines = [
        "| corpus | start | pairs ready, s | first step done, s | peak memory |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for (pairs, start), repeats in rows.items():
        seconds = " | ".join(in_range(spread(repeats, name), 1) for name in STEPS)
        memory = spread(repeats, "peak_mib")[1]
        lines.append(f"| {f'{pairs:,} pairs' if pairs else 'demo'} | {start} | {seconds} | {memory:,.0f} MiB |")
    return "\n".join(lines)
