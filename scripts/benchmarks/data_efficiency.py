"""BLEU against the number of training pairs: the recipe of nmt, and JoeyNMT with the same pieces and time.

    python scripts/benchmarks/data_efficiency.py --source train.en --target train.de --validation val.en val.de \\
        --pairs 3000 10000 29000 --joeynmt JOEY_ENV/bin/python

For each number N the systems train on the first N pairs of the corpus. First `nmt train --recipe auto` runs from start
to end; unknown flags of this script go to it. Then JoeyNMT trains for the same time with the sizes and settings of
`benchmarking.peers`, and validates once per epoch. Both translate the validation sentences with their best weights and
a beam of 5. Results are kept in --output and are not measured again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import sacrebleu

from benchmarks.benchmarking import machine, peers, translating
from benchmarks.benchmarking.report import headline
from benchmarks.benchmarking.translating import REPOSITORY, System
from common.running import run_script
from nmt.errors import NmtError
from nmt.evaluation.bleu_and_chrf import require_tokenizer
from nmt.text.lines import read_lines

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

BEAM, SENTENCES = 5, 64
"""Beam size of the search, and sentences per training batch of JoeyNMT."""

FOREVER = 10**6
"""Epochs that no training finishes in its time."""


def main() -> None:
    """Makes the missing measurements and prints the table."""
    arguments = parse()
    found: dict[str, Any] = {"machine": machine.describe()}
    found["machine"]["packages"] |= translating.versions(arguments.joeynmt, ["joeynmt", "torch"])
    found["results"] = {pairs: measure(arguments, pairs) for pairs in arguments.pairs}
    (arguments.output / "efficiency.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = table(found)
    (arguments.output / "efficiency.md").write_text(text + "\n", encoding="utf-8")
    print(text)
    print(f"numbers: {arguments.output}/efficiency.json, table: efficiency.md", file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path("data/multi30k/tok")
    parser.add_argument("--source", type=Path, default=data / "train.en", help="sentences to train on")
    parser.add_argument("--target", type=Path, default=data / "train.de", help="their translations")
    parser.add_argument("--validation", type=Path, nargs=2, default=(data / "val.en", data / "val.de"))
    parser.add_argument("--pairs", type=int, nargs="+", default=[3000, 10000, 29000], help="sizes of the corpus")
    parser.add_argument(
        "--joeynmt", metavar="PYTHON", required=True, help="the Python of an environment with JoeyNMT 2.3.0"
    )
    parser.add_argument(
        "--times", type=float, default=1, help="time of JoeyNMT as a multiple of the time of nmt (default: 1)"
    )
    parser.add_argument("--tokenize", default="none", help="sacrebleu's tokenizer (default: none, for tokenized text)")
    parser.add_argument("--output", type=Path, default=Path("saved_models/efficiency"))
    arguments, arguments.more = parser.parse_known_args()
    require_tokenizer(arguments.tokenize)  # checked before the long training
    for name in ("source", "target", "output"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    arguments.validation = [path.resolve() for path in arguments.validation]
    return arguments


def measure(arguments: argparse.Namespace, pairs: int) -> dict[str, Any]:
    """BLEU, minutes of training and epochs of both systems."""
    directory = arguments.output / str(pairs)
    directory.mkdir(parents=True, exist_ok=True)
    text = [directory / f"train.{side}" for side in ("source", "target")]
    for path, whole in zip(text, (arguments.source, arguments.target), strict=True):
        lines = list(islice(read_lines(str(whole)), pairs))
        if len(lines) < pairs:
            raise NmtError(f"{whole}: has {len(lines)} lines, and --pairs is {pairs}: lower --pairs")
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    require_same(directory / "made-from.json", arguments, [*text, *arguments.validation])
    ours = cached(directory / "ours.json", lambda: train_ours(arguments, directory, text))
    name = f"joeynmt-{arguments.times:g}"
    seconds = 60 * ours["minutes"] * arguments.times
    theirs = cached(directory / f"{name}.json", lambda: train_joeynmt(arguments, directory, name, text, seconds))
    return {"nmt": ours, "JoeyNMT": theirs}


def require_same(path: Path, arguments: argparse.Namespace, files: list[Path]) -> None:
    """Refuses results beside `path` that belong to other text or settings."""
    digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    made_from = json.dumps([*digests, arguments.tokenize, *arguments.more])
    if path.exists() and path.read_text(encoding="utf-8") != made_from:
        raise NmtError(
            f"{path.parent} has results of other text or other settings: give another --output, or delete it"
        )
    path.write_text(made_from, encoding="utf-8")


def cached(path: Path, compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of `compute`, kept in a file."""
    if not path.exists():
        path.write_text(json.dumps(compute()), encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))


def train_ours(arguments: argparse.Namespace, directory: Path, text: list[Path]) -> dict[str, Any]:
    """Trains nmt with the recipe for this number of pairs."""
    from nmt.run.directory import Run

    shutil.rmtree(directory / "ours", ignore_errors=True)  # continuing an interrupted run would hide its earlier time
    given = {"train.source": text[0], "train.target": text[1]}
    given |= {f"validation.{side}": path for side, path in zip(("source", "target"), arguments.validation, strict=True)}
    files = [word for name, path in given.items() for word in (f"--corpus.{name}", str(path))]
    command = [sys.executable, "-m", "nmt", "train", "--recipe", "auto", "--name", "ours", *files, *arguments.more]
    begin = time.perf_counter()
    subprocess.run([*command, "--directory", str(directory)], check=True, cwd=REPOSITORY)
    minutes = (time.perf_counter() - begin) / 60
    run = Run.open(directory / "ours")
    system = System("nmt", "nmt", sys.executable, run.directory, directory, run.config.training.precision)
    passes = run.config.training.passes
    return {"minutes": minutes, "passes": passes, "bleu": bleu(arguments, system), "pieces": run.target.size}


def train_joeynmt(
    arguments: argparse.Namespace, directory: Path, name: str, text: list[Path], seconds: float
) -> dict[str, Any]:
    """Trains JoeyNMT on the same text and pieces for the given time."""
    prepared, model = directory / f"{name}-text", directory / name
    (pieces,) = (directory / "ours").glob("shared.model")
    peers.write_text(prepared, *text, pieces, tuple(arguments.validation))
    updates = -(-len(text[0].read_text(encoding="utf-8").splitlines()) // SENTENCES)  # an epoch
    log = peers.train_joeynmt(
        arguments.joeynmt, prepared, model, FOREVER * updates, updates, updates, SENTENCES, seconds=seconds
    )
    passes = len(peers.JOEYNMT_SPEED.findall(log))
    system = System("JoeyNMT", "joeynmt", arguments.joeynmt, model, directory)
    found = (
        bleu(arguments, system) if (model / "best.ckpt").exists() else 0.0
    )  # no checkpoint before the end of an epoch
    return {"minutes": seconds / 60, "passes": passes, "bleu": found}


def bleu(arguments: argparse.Namespace, system: System) -> float:
    """BLEU of the validation sentences."""
    source, target = arguments.validation
    lines = translating.run_command(system, BEAM, source)["lines"]
    references = target.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return sacrebleu.corpus_bleu(lines, [references], tokenize=arguments.tokenize).score


def table(found: dict[str, Any]) -> str:
    """Markdown: the machine, then a row for each corpus size and system."""
    lines = [
        headline(found["machine"]),
        "| pairs | pieces | system | minutes | passes | BLEU, beam 5 |",
        "| ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for pairs, systems in found["results"].items():
        for name, one in systems.items():
            cells = f"{int(pairs):,} | {systems['nmt']['pieces']:,} | {name} | {one['minutes']:.1f} | {one['passes']}"
            lines.append(f"| {cells} | {one['bleu']:.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_script(main))
