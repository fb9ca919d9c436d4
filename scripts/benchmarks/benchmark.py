"""Training speed on this machine: nmt over sizes, precisions and batches, peers beside it, the machine's ceilings.

    python scripts/benchmarks/benchmark.py                                    # default sizes on the demo corpus
    python scripts/benchmarks/benchmark.py --startup 10000 100000 1000000     # from the command to the first step
    python scripts/benchmarks/benchmark.py --source train.en --target train.de --sizes joeynmt marian \\
        --joeynmt JOEY_ENV/bin/python --marian MARIAN_ENV/bin/python
    python scripts/benchmarks/benchmark.py --before ../nmt-of-yesterday       # the effect of a change

Each repeat trains every case anew, each in a process of its own. The cases alternate, so that other work on the machine
slows all of them alike. Speed counts target tokens without padding; the end of a sentence is a token.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking import cost_model, machine, peers, report, startup
from benchmarks.benchmarking.cases import SIZES, Case
from common.running import run_script

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

DEMO = Path("data/demo")
MEASURE = Path(__file__).resolve().parent / "benchmarking" / "measure.py"
OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "ResourceExhaustedError")
"""The words of JAX and TensorFlow for a GPU that is out of memory."""

Measure = Callable[[int], dict[str, Any]]
"""Measures a system once; takes the number of the repeat."""


def main() -> None:
    """Measures, prints a table, writes JSON and a plot."""
    arguments = parse()
    output = arguments.output.resolve()
    output.mkdir(parents=True, exist_ok=True)
    if arguments.sweep:
        run_cost_model(arguments, output)
    elif arguments.startup is not None:
        run_startup(arguments, output)
    else:
        run_training(arguments, output)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=DEMO / "train.en", help="source sentences, one per line")
    parser.add_argument("--target", type=Path, default=DEMO / "train.fr", help="target sentences, line by line")
    parser.add_argument("--vocabulary", type=int, default=2000, help="pieces, joint (default: %(default)s)")
    parser.add_argument("--sizes", nargs="+", choices=[*SIZES], default=["default"])
    parser.add_argument("--precision", nargs="+", default=["float32", "mixed_bfloat16"])
    parser.add_argument("--sentences", nargs="*", type=int, default=[64], help="batches of so many sentences")
    parser.add_argument("--tokens", nargs="*", type=int, default=[], help="batches of at most so many tokens")
    parser.add_argument(
        "--shapes", type=int, default=0, help="largest number of batch shapes; 0: 24 on JAX, any number on TensorFlow"
    )
    parser.add_argument("--updates", nargs=2, type=int, default=(40, 200), help="first and last update that is timed")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--loop", action="store_true", help="on a GPU, also measure the encoder's recurrence as a loop without cuDNN"
    )
    parser.add_argument("--split", action="store_true", help="time the parts of an update, and the input")
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
        "--before", type=Path, metavar="DIR", help="another checkout of nmt, measured alternating with this one"
    )
    parser.add_argument("--joeynmt", metavar="PYTHON", help="the Python of an environment with JoeyNMT 2.3.0")
    parser.add_argument("--marian", metavar="PYTHON", help="the Python of an environment with pymarian")
    parser.add_argument("--output", type=Path, default=Path("saved_models/benchmark"))
    return parser.parse_args()


def run_training(arguments: argparse.Namespace, output: Path) -> None:
    """Training speed of all systems."""
    corpus = encode(arguments, output)
    runs = systems(arguments, output, corpus)
    about = machine.describe() | measure_in_process({"machine": arguments.repeats})
    print(report.headline(about), flush=True)
    results = alternate(runs, arguments.repeats)
    (output / "benchmark.json").write_text(json.dumps({"machine": about, "results": results}, indent=1) + "\n")
    table = report.table(about, results)
    (output / "benchmark.md").write_text(table + "\n")
    report.plot(results, output / "benchmark.png")
    print(table)
    print(f"numbers: {output}/benchmark.json, table: benchmark.md, plot: benchmark.png", file=sys.stderr)


def run_cost_model(arguments: argparse.Namespace, output: Path) -> None:
    """The time of an update over sentence lengths and vocabularies, with the first size and precision."""
    size, precision = arguments.sizes[0], arguments.precision[0]
    about = machine.describe() | measure_in_process({"machine": arguments.repeats})
    found = {}
    for point in cost_model.points():
        try:
            found[point] = measure_in_process({"point": point, "case": [size, precision, arguments.repeats]})
            print(f"{point}: {found[point]['seconds']:.3f} s", file=sys.stderr)
        except MemoryError as error:
            print(f"{point}: {error}", file=sys.stderr)
    table = f"{report.headline(about)}\nnmt, {size} sizes, {precision}\n\n{cost_model.table(found)}"
    (output / "sweep.md").write_text(table + "\n")
    cost_model.plot(found, output / "sweep.png")
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
    """Encodes the pairs with a vocabulary of nmt; returns the directory of the encoded corpus."""
    from nmt.cli.quiet import quiet_start  # imported here, because an older checkout may not have it

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


def systems(arguments: argparse.Namespace, output: Path, corpus: Path) -> dict[str, Measure]:
    """The systems to measure, by name."""
    updates = tuple(arguments.updates)
    runs: dict[str, Measure] = {}
    for case in cases(arguments):
        job = {"case": case.to_dict(), "corpus": str(corpus), "updates": updates, "split": arguments.split}
        runs[case.name] = lambda _, job=job: measure_in_process(job)
        if arguments.before and not case.loop:
            runs[f"{case.name}, before"] = lambda _, job=job: measure_in_process(job, arguments.before)
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


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """Every size with every precision and every batch; with --loop the recurrent sizes twice."""
    batches = [{"sentences": n} for n in arguments.sentences] + [{"tokens": n} for n in arguments.tokens]
    for size in arguments.sizes:
        loops = (False, True) if arguments.loop and SIZES[size].architecture != "transformer" else (False,)
        for precision in arguments.precision:
            for batch in batches:
                for loop in loops:
                    yield Case(
                        size,
                        precision,
                        vocabulary=arguments.vocabulary,
                        loop=loop,
                        shapes=arguments.shapes,
                        **batch,
                    )


def alternate(runs: dict[str, Measure], repeats: int) -> dict[str, list[dict[str, Any]]]:
    """The results of all systems, repeat after repeat.

    A system that runs out of memory gets no results and is left out of the later repeats; the others continue.
    """
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in runs}
    for repeat in range(repeats):
        for name in [name for name in runs if len(results[name]) == repeat]:
            try:
                results[name].append(runs[name](repeat))
                message = f"{results[name][-1]['tokens_per_s']:,.0f} tokens/s"
            except MemoryError as error:
                results[name], message = [], str(error)
            print(f"repeat {repeat + 1}/{repeats}  {name}: {message}", file=sys.stderr, flush=True)
    return results


def measure_in_process(job: dict[str, Any], checkout: Path | None = None) -> dict[str, Any]:
    """One job, measured in a process of its own, so that no case affects the next one.

    Args:
        job: see `benchmarking/measure.py`.
        checkout: the nmt that is measured; None: this one.

    Raises:
        MemoryError: the case does not fit into the GPU's memory.
    """
    command = [sys.executable, str(MEASURE), json.dumps(job)]
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve())} if checkout else None
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode and any(name in result.stderr for name in OUT_OF_MEMORY):
        raise MemoryError("needs more memory than there is")
    if result.returncode:
        raise SystemExit(f"benchmark.py: error: {job} ended with {result.returncode}:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(run_script(main))
