"""Training speed on this machine: ours over sizes, precisions and batches, peers beside it, the machine's ceilings.

    python scripts/benchmarks/benchmark.py                                    # default sizes on the demo corpus
    python scripts/benchmarks/benchmark.py --startup 10000 100000 1000000     # from the command to the first step
    python scripts/benchmarks/benchmark.py --source train.en --target train.de --sizes joeynmt marian \\
        --joeynmt JOEY_ENV/bin/python --marian MARIAN_ENV/bin/python
    python scripts/benchmarks/benchmark.py --before ../nmt-of-yesterday        # what a change has brought

Every repeat trains every case anew in a process of its own, one after the other and in turns, so that what else goes on
on the machine falls on all alike. Speed is in target tokens that are not padding, end of sentence included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking import machine, peers, report, startup, sweep
from benchmarks.benchmarking.cases import SIZES, Case
from common.running import ended

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

DEMO = Path("data/demo")
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "ResourceExhaustedError")
"""What JAX and TensorFlow say where a GPU's memory ends."""


def main() -> None:
    """Measures, prints a table, writes JSON and a plot."""
    arguments = parse()
    if arguments.measure:
        print(json.dumps(measure_here(json.loads(arguments.measure))))
        return
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    if arguments.sweep:
        run_sweep(arguments, output)
        return
    if arguments.startup is not None:
        run_startup(arguments, output)
        return
    corpus = encode(arguments, output)
    runs = systems(arguments, output, corpus)
    about = machine.describe() | measured({"machine": arguments.repeats})
    print(report.headline(about), flush=True)
    results = in_turns(runs, arguments.repeats)
    (output / "benchmark.json").write_text(json.dumps({"machine": about, "results": results}, indent=1) + "\n")
    table = report.table(about, results)
    (output / "benchmark.md").write_text(table + "\n")
    report.plot(results, output / "benchmark.png")
    print(table)
    print(f"numbers: {output}/benchmark.json, table: benchmark.md, plot: benchmark.png", file=sys.stderr)


def in_turns(runs: dict[str, Any], repeats: int) -> dict[str, list[dict[str, Any]]]:
    """What each of them measures, over and over. One that needs more memory than there is measures nothing: it gets no
    results, and the others go on."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    for repeat in range(repeats):
        for name in [name for name in runs if len(results[name]) == repeat]:
            try:
                results[name].append(runs[name](repeat))
                said = f"{results[name][-1]['tokens_per_s']:,.0f} tokens/s"
            except MemoryError as error:
                results[name], said = [], str(error)
            print(f"repeat {repeat + 1}/{repeats}  {name}: {said}", file=sys.stderr, flush=True)
    return results


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=DEMO / "train.en", help="source sentences, a line each")
    parser.add_argument("--target", type=Path, default=DEMO / "train.fr", help="target sentences, line by line")
    parser.add_argument("--vocabulary", type=int, default=2000, help="pieces, joint (default: %(default)s)")
    parser.add_argument("--sizes", nargs="+", choices=[*SIZES], default=["default"])
    parser.add_argument("--precision", nargs="+", default=["float32", "mixed_bfloat16"])
    parser.add_argument("--sentences", nargs="*", type=int, default=[64], help="batches of so many sentences")
    parser.add_argument("--tokens", nargs="*", type=int, default=[], help="batches of at most so many tokens")
    parser.add_argument("--shapes", type=int, default=0, help="batch shapes at most; 0: 24 on JAX, any on TensorFlow")
    parser.add_argument("--updates", nargs=2, type=int, default=(40, 200), help="first and last update that is timed")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--loop", action="store_true", help="on a GPU, measure the encoder's recurrence as a loop beside cuDNN's kernel"
    )
    parser.add_argument("--split", action="store_true", help="take the update apart, and compare input with no input")
    parser.add_argument(
        "--sweep", action="store_true", help="instead: lengths and vocabularies, for the first size and precision"
    )
    parser.add_argument(
        "--startup",
        nargs="*",
        type=int,
        metavar="PAIRS",
        help="instead: from the command to the first step, on the demo corpus and on so many generated pairs",
    )
    parser.add_argument(
        "--before",
        type=Path,
        metavar="DIR",
        help="another checkout of nmt, measured in turns with this one",
    )
    parser.add_argument("--joeynmt", metavar="PYTHON", help="the Python of an environment that has JoeyNMT 2.3.0")
    parser.add_argument("--marian", metavar="PYTHON", help="the Python of an environment that has pymarian")
    parser.add_argument("--output", type=Path, default=Path("saved_models/benchmark"))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    return parser.parse_args()


def run_sweep(arguments: argparse.Namespace, output: Path) -> None:
    """Updates over sentence lengths and vocabularies, with the first size and precision."""
    size, precision = arguments.sizes[0], arguments.precision[0]
    about = machine.describe() | measured({"machine": arguments.repeats})
    found = {}
    for point in sweep.points():
        try:
            found[point] = measured({"point": point, "case": [size, precision, arguments.repeats]})
            print(f"{point}: {found[point]['seconds']:.3f} s", file=sys.stderr)
        except MemoryError as error:
            print(f"{point}: {error}", file=sys.stderr)
    table = f"{report.headline(about)}\nnmt, {size} sizes, {precision}\n\n{sweep.table(found)}"
    (output / "sweep.md").write_text(table + "\n")
    sweep.plot(found, output / "sweep.png")
    print(table)
    print(f"table: {output}/sweep.md, plot: sweep.png", file=sys.stderr)


def run_startup(arguments: argparse.Namespace, output: Path) -> None:
    """Cold and warm starts on the demo corpus and on generated ones."""
    about = machine.describe()
    found = []
    for pairs in [0, *arguments.startup]:
        for start in startup.measure(pairs, arguments.repeats):
            found.append(start)
            print(start, file=sys.stderr, flush=True)
    (output / "startup.json").write_text(json.dumps({"machine": about, "starts": found}, indent=1) + "\n")
    table = f"{report.headline(about)}\n{startup.table(found)}"
    (output / "startup.md").write_text(table + "\n")
    print(table)
    print(f"numbers: {output}/startup.json, table: startup.md", file=sys.stderr)


def encode(arguments: argparse.Namespace, output: Path) -> Path:
    """Encodes the pairs with our own vocabulary; returns the directory of the encoded corpus."""
    from nmt.cli.quiet import quiet_start  # not above: another checkout, which is measured too, may have none

    with quiet_start():
        import nmt
        from nmt.training.preparation.prepare import prepare

    config = nmt.RunConfig(
        name=f"corpus-{arguments.vocabulary}",
        directory=str(output),
        corpus=nmt.CorpusConfig(
            train=nmt.PairsConfig(source=str(arguments.source), target=str(arguments.target)), held_out=1
        ),
        vocabulary=nmt.VocabularyConfig(size=arguments.vocabulary),
    )
    prepare(config, "float32", lambda line: print(line, file=sys.stderr))
    return output / config.name / "corpus"


def systems(arguments: argparse.Namespace, output: Path, corpus: Path) -> dict[str, Any]:
    """What is measured, by name: functions of the repeat's number."""
    updates = tuple(arguments.updates)
    batches = [{"sentences": n} for n in arguments.sentences] + [{"tokens": n} for n in arguments.tokens]
    runs: dict[str, Any] = {}
    for size in arguments.sizes:
        for precision in arguments.precision:
            for batch in batches:
                recurrent = SIZES[size].architecture != "transformer"
                for loop in (False, True)[: 1 + (arguments.loop and recurrent)]:
                    more = {"vocabulary": arguments.vocabulary, "loop": loop, "shapes": arguments.shapes}
                    case = Case(size, precision, **more, **batch)
                    job = {"case": case.to_dict(), "corpus": str(corpus), "updates": updates, "split": arguments.split}
                    runs[case.name] = lambda repeat, job=job: measured(job)
                    if arguments.before and not loop:
                        runs[f"{case.name}, before"] = lambda repeat, job=job: measured(job, arguments.before)
    text = output / "peers"
    if arguments.joeynmt or arguments.marian:
        peers.write_text(text, arguments.source, arguments.target, corpus.parent / "shared.model")
    for count in arguments.sentences:
        if arguments.joeynmt:
            runs[f"JoeyNMT, float32, {count} sentences"] = lambda repeat, count=count: peers.joeynmt(
                arguments.joeynmt, text, updates, count, repeat + 1
            )
        if arguments.marian:
            runs[f"Marian, float32, {count} sentences"] = lambda repeat, count=count: peers.marian(
                arguments.marian, text, updates, count, repeat + 1
            )
    return runs


def measured(job: dict[str, Any], checkout: Path | None = None) -> dict[str, Any]:
    """`measure_here` in a process of its own: nothing of one case is left when the next one is measured.

    Args:
        checkout: whose nmt is measured; None: this one's.

    Raises:
        MemoryError: it does not fit into the GPU's memory.
    """
    command = [sys.executable, __file__, "--measure", json.dumps(job)]
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())} if checkout else None
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode and any(name in result.stderr for name in OUT_OF_MEMORY):
        raise MemoryError("needs more memory than there is")
    if result.returncode:
        raise SystemExit(f"benchmark.py: error: {job} ended with {result.returncode}:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def measure_here(job: dict[str, Any]) -> dict[str, Any]:
    """What the machine can do at best, or one case."""
    if "machine" in job:
        return machine.ceilings(job["machine"])
    if "point" in job:
        return sweep.measure(sweep.Point(*job["point"]), *job["case"])
    from benchmarks.benchmarking import training

    return training.measure(Case(**job["case"]), Path(job["corpus"]), tuple(job["updates"]), job["split"])


if __name__ == "__main__":
    sys.exit(ended(main))
