"""Bulk translation on this machine: nmt translate with one and several processes, and nmt bulk-translate on Beam.

    python scripts/corpora/make_lines.py --lines 100000 --output lines.en
    python scripts/benchmarks/measure_bulk.py --model demo.onnx --source lines.en --output /tmp/bulk \\
        --beam .venv-beam/bin/python

Every command translates greedily, from the start of its processes to the end. The text of each is compared with that
of nmt translate; lines that differ are listed in ties.tsv with the log-probabilities of both translations, because
another batch may round another way. The last command has a worker killed (SIGKILL) after its first shards.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking import machine
from common.running import run_script
from nmt.errors import NmtError
from nmt.text.lines import read_lines

REPOSITORY = Path(__file__).resolve().parents[2]
SYSTEMS = ("translate", "processes", "beam", "killed")


def main() -> None:
    """Runs the commands, compares their texts and prints the table."""
    options = parse()
    options.output.mkdir(parents=True, exist_ok=True)
    about = machine.describe() | {"beam": beam_version(options.beam)}
    print(json.dumps(about, indent=1))
    found = {name: measure(name, options) for name in options.systems}
    texts = {name: row.pop("lines") for name, row in found.items()}
    first = texts[options.systems[0]]
    for name, row in found.items():
        row["differing"] = sum(one != other for one, other in zip(first, texts[name], strict=True))
        print(
            f"{name:10} {row['seconds']:8.1f} s {row['rate']:8.1f} lines/s, {row['differing']} of {len(first)} lines "
            f"differ   {row['command']}"
        )
    list_ties(options, first, texts)
    (options.output / "bulk.json").write_text(
        json.dumps({"machine": about, "systems": found}, indent=1) + "\n", "utf-8"
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="an export")
    parser.add_argument("--source", type=Path, required=True, help="lines to translate")
    parser.add_argument("--output", type=Path, required=True, help="directory for the texts and the numbers")
    parser.add_argument("--beam", type=Path, required=True, help="Python of an environment with Apache Beam")
    parser.add_argument("--processes", type=int, default=2, help="worker processes (default: %(default)s)")
    parser.add_argument(
        "--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS, help="the commands, the first compared"
    )
    return parser.parse_args()


def beam_version(python: Path) -> str:
    """The version of Apache Beam in another environment."""
    code = "import importlib.metadata as m; print(m.version('apache-beam'))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True)
    if found.returncode:
        raise NmtError(f"{python}: has no Apache Beam: bash scripts/beam.sh makes an environment with it")
    return found.stdout.strip()


def measure(name: str, options: argparse.Namespace) -> dict[str, Any]:
    """Seconds, lines per second and the text of one command."""
    output = options.output / name
    shutil.rmtree(output) if output.is_dir() else output.unlink(missing_ok=True)
    flags = ["--model", str(options.model), "--source", str(options.source), "--output", str(output)]
    flags += ["--beam-size", "1"]
    several = [] if name == "translate" else ["--processes", str(options.processes)]
    on_beam = name in ("beam", "killed")
    command = ["bulk-translate" if on_beam else "translate", *flags, *several]
    python = options.beam if on_beam else sys.executable
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    print(f"measuring {name}", file=sys.stderr)
    began = time.perf_counter()
    process = subprocess.Popen([python, "-m", "nmt", *command], env=environment)
    if name == "killed":
        kill_a_worker(process, output / options.source.name)
    if process.wait():
        raise NmtError(f"nmt {command[0]} failed with exit code {process.returncode}")
    seconds = time.perf_counter() - began
    files = sorted((output / options.source.name).glob("*.txt")) if on_beam else [output]
    lines = [line for file in files for line in read_lines(str(file))]
    return {"seconds": seconds, "rate": len(lines) / seconds, "command": " ".join(["nmt", *command]), "lines": lines}


def kill_a_worker(process: subprocess.Popen[bytes], folder: Path) -> None:
    """Kills a worker of a command on Beam when it has finished some shards."""
    while process.poll() is None and len([*folder.glob("*.txt")]) < 3:
        time.sleep(0.1)
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            is_worker = "nmt.bulk.worker" in (path.parent / "cmdline").read_text()
        except OSError:  # it has ended
            continue
        if parent == process.pid and is_worker:
            os.kill(int(path.parent.name), signal.SIGKILL)
            return
    raise NmtError("no worker was found to kill: give more lines")


def list_ties(options: argparse.Namespace, first: list[str], texts: dict[str, list[str]]) -> None:
    """Writes ties.tsv: system, line, both translations and their log-probabilities."""
    from nmt.translation.translator import Translator

    sources = list(read_lines(str(options.source)))
    rows = [
        (name, number, source, one, other)
        for name, lines in texts.items()
        for number, (source, one, other) in enumerate(zip(sources, first, lines, strict=True), start=1)
        if one != other
    ]
    translator = Translator.load(options.model) if rows else None
    scores = [
        list(translator.align([r[2] for r in rows], [r[side] for r in rows])) if translator else [] for side in (3, 4)
    ]
    with open(options.output / "ties.tsv", "w", encoding="utf-8") as file:
        for (name, number, _, one, other), left, right in zip(rows, *scores, strict=True):
            values = f"{left.log_probability:.5f}\t{right.log_probability:.5f}"
            file.write(f"{name}\t{number}\t{one}\t{other}\t{values}\n")


if __name__ == "__main__":
    sys.exit(run_script(main))
