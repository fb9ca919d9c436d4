"""Translation speed on this machine: nmt beside JoeyNMT and Marian, at each peer's sizes and with the same pieces.

    python scripts/benchmarks/benchmark_translation.py --train --source train.en --target train.de \\
        --joeynmt JOEY_ENV/bin/python --marian MARIAN_ENV/bin/python      # trains four models into --models, once
    python scripts/benchmarks/benchmark_translation.py --test test.en --reference test.de \\
        --joeynmt JOEY_ENV/bin/python --marian MARIAN_ENV/bin/python

Each measurement is a process of its own. The systems alternate, so that other work on the machine slows all of them
alike. Each system translates with beam search and greedily. The script times the whole command on all sentences, and
with beam search on one sentence. Inside a process it times loading, the first sentence, single sentences and a batch.

    python scripts/benchmarks/benchmark_translation.py --lines 10000 1000000 --test test.en --model saved_models/mine

measures time and memory of a greedy `nmt translate` instead, on files of so many lines that repeat the sentences.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking import machine, peers, report, translating, translation_report
from benchmarks.benchmarking.cases import SIZES
from benchmarks.benchmarking.translating import System
from common.running import run_script
from nmt.cli.quiet import quiet_start

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

PEERS = {"joeynmt": "joey", "marian": "marian"}
"""The flag of each peer, which is also the name of the sizes, and the folder of its model."""

PACKAGES = {"joeynmt": ["joeynmt", "torch"], "marian": ["pymarian"]}
"""Packages whose versions the report shows."""

BATCH, EVERY = 64, 50
"""Sentences per training batch of a peer, and updates between two lines of its log."""


def main() -> None:
    """Trains the models, or measures them and prints the tables."""
    arguments = parse()
    if arguments.train:
        train(arguments)
        return
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    if arguments.lines:
        measure_lines(arguments, output)
        return
    sentences, references = (read(path)[: arguments.limit] for path in (arguments.test, arguments.reference))
    found: dict[str, Any] = {
        "machine": about(arguments),
        "results": measure(arguments, output, sentences),
    }
    vocabulary = next(arguments.models.glob("ours-*/shared.model"))
    found["quality"] = translation_report.quality(found["results"], references, vocabulary)
    (output / "translation.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    tables = translation_report.tables(found)
    (output / "translation.md").write_text(tables + "\n", encoding="utf-8")
    print(tables)
    print(f"numbers: {output}/translation.json, tables: translation.md", file=sys.stderr)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = Path("data/multi30k")
    parser.add_argument("--test", type=Path, default=data / "test_2016_flickr.en", help="sentences to translate")
    parser.add_argument("--reference", type=Path, default=data / "test_2016_flickr.de", help="their translations")
    parser.add_argument("--limit", type=int, help="number of sentences (default: all)")
    parser.add_argument(
        "--inside", type=int, default=300, help="sentences that are translated at once inside a process"
    )
    parser.add_argument("--alone", type=int, default=50, help="sentences that are translated one at a time")
    parser.add_argument("--beams", nargs="+", type=int, default=[5, 1])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--precision",
        nargs="+",
        choices=["float32", "mixed_float16", "mixed_bfloat16"],
        default=["float32", "mixed_bfloat16"],
        help="precision of nmt; the peers compute in float32 (default: %(default)s)",
    )
    parser.add_argument(
        "--short-list",
        nargs="+",
        type=int,
        default=[0],
        metavar="N",
        help="probable translations of each piece that nmt searches among; 0: all pieces (default: 0)",
    )
    parser.add_argument("--joeynmt", metavar="PYTHON", help="the Python of an environment with JoeyNMT 2.3.0")
    parser.add_argument("--marian", metavar="PYTHON", help="the Python of an environment with pymarian")
    parser.add_argument(
        "--models",
        type=Path,
        default=Path("saved_models/peers"),
        help="folder of the models: joey and ours-joey, marian and ours-marian (default: %(default)s)",
    )
    parser.add_argument("--output", type=Path, default=Path("saved_models/benchmark"))
    parser.add_argument("--train", action="store_true", help="instead: train the missing models")
    parser.add_argument("--source", type=Path, default=data / "train.en", help="sentences to train on")
    parser.add_argument("--target", type=Path, default=data / "train.de", help="their translations")
    parser.add_argument("--passes", type=int, default=3, help="epochs of the training")
    parser.add_argument(
        "--lines",
        nargs="+",
        type=int,
        metavar="N",
        help="instead: measure --model on files of so many lines, in the last --precision",
    )
    parser.add_argument("--model", type=Path, help="run directory, with --lines")
    arguments = parser.parse_args()
    if bool(arguments.lines) != bool(arguments.model):
        parser.error("--lines and --model go together")
    if not (arguments.joeynmt or arguments.marian or arguments.lines):
        parser.error("no peer to measure against: give --joeynmt, --marian or both")
    arguments.models = arguments.models.resolve()
    return arguments


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")


def train(arguments: argparse.Namespace) -> None:
    """Trains nmt at each peer's sizes, then the peer on the same pieces, for as many epochs (rounded up to `EVERY`)."""
    with quiet_start():
        import nmt.training.trainer  # TensorFlow starts here

    text = arguments.models / "text"
    updates = -(-len(read(arguments.source)) // (BATCH * EVERY)) * EVERY  # JoeyNMT can validate only where it logs
    for peer, folder in PEERS.items():
        python = getattr(arguments, peer)
        if not python:
            continue
        config = nmt.RunConfig(
            name=f"ours-{folder}",
            directory=str(arguments.models),
            corpus=nmt.CorpusConfig(
                train=nmt.PairsConfig(source=str(arguments.source), target=str(arguments.target)), held_out=500
            ),
            model=SIZES[peer],
            training=nmt.TrainingConfig(passes=arguments.passes),
        )
        nmt.train(config)
        peers.write_text(text, arguments.source, arguments.target, arguments.models / config.name / "shared.model")
        model = arguments.models / folder
        if peer == "joeynmt" and not (model / "best.ckpt").exists():
            peers.train_joeynmt(python, text, model, updates * arguments.passes, EVERY, updates)
        elif peer == "marian" and not (model / "model.npz").exists():
            peers.train_marian(python, text, model, updates * arguments.passes, EVERY)


def about(arguments: argparse.Namespace) -> dict[str, Any]:
    """The machine, the command, and the versions of nmt and of the peers."""
    described = machine.describe()
    for peer, packages in PACKAGES.items():
        if python := getattr(arguments, peer):
            described["packages"] |= translating.versions(python, packages)
    return described


def measure(arguments: argparse.Namespace, output: Path, sentences: list[str]) -> dict[str, dict[str, Any]]:
    """By system and search ("JoeyNMT, beam 5"): a list of results for each measurement, one result per repeat."""
    text, line = output / "sentences.txt", output / "sentence.txt"
    text.write_text("\n".join(sentences) + "\n", encoding="utf-8")
    line.write_text(sentences[0] + "\n", encoding="utf-8")
    results: dict[str, dict[str, Any]] = {}
    for repeat in range(arguments.repeats):
        for system in systems(arguments, output):
            for beam in arguments.beams:
                name = f"{system.name}, {'greedy' if beam == 1 else f'beam {beam}'}"
                found = results.setdefault(name, {"whole": [], "one_line": [], "inside": []})
                found["whole"].append(translating.run_command(system, beam, text))
                if beam == max(arguments.beams):
                    found["one_line"].append(translating.run_command(system, beam, line))
                found["inside"].append(
                    translating.run_worker(system, beam, sentences[: arguments.inside], arguments.alone)
                )
                print(
                    f"repeat {repeat + 1}/{arguments.repeats}  {name}: command {found['whole'][-1]['seconds']:.1f} s, "
                    f"inside {found['inside'][-1]['batch_s']:.1f} s",
                    file=sys.stderr,
                    flush=True,
                )
    return results


def measure_lines(arguments: argparse.Namespace, output: Path) -> None:
    """Times `nmt translate` on files of growing length; prints the table and writes it into lines.md."""
    sentences, text = read(arguments.test)[: arguments.limit], output / "lines.txt"
    about = report.headline(machine.describe())
    table = [about, "| lines | seconds | lines per second | peak memory |", "| ---: | ---: | ---: | ---: |"]
    for count in arguments.lines:
        with open(text, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in islice(cycle(sentences), count))
        system = System("nmt", "nmt", sys.executable, arguments.model.resolve(), output, arguments.precision[-1])
        found = translating.run_command(system, 1, text)
        if len(found["lines"]) != count:
            raise SystemExit(f"{count} lines went in and {len(found['lines'])} came out: see {output}/output.txt")
        speed, memory = count / found["seconds"], found["peak_mib"]
        table.append(f"| {count:,} | {found['seconds']:.0f} | {speed:,.0f} | {memory:,.0f} MiB |")
        print(table[-1], file=sys.stderr, flush=True)
    (output / "lines.md").write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n".join(table))
    print(f"table: {output}/lines.md", file=sys.stderr)


def systems(arguments: argparse.Namespace, output: Path) -> list[System]:
    """Each peer that is given, and nmt at its sizes in every precision and with every short list."""
    found = []
    for peer, folder in PEERS.items():
        if python := getattr(arguments, peer):
            models = arguments.models / f"ours-{folder}", arguments.models / folder
            for precision, count in product(arguments.precision, arguments.short_list):
                name = f"nmt, {peer} sizes, {precision.removeprefix('mixed_')}"
                name += f", short list {count}" if count else ""
                found.append(System(name, "nmt", sys.executable, models[0], output, precision, count))
            found.append(System({"joeynmt": "JoeyNMT", "marian": "Marian"}[peer], peer, python, models[1], output))
    return found


if __name__ == "__main__":
    sys.exit(run_script(main))
