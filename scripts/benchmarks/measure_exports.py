"""Size, start, memory, speed and quality of a run's exports, by precision, beside the run itself.

    python scripts/benchmarks/measure_exports.py --model saved_models/demo --output /tmp/exports

--ctranslate2 measures exports in CTranslate2 beside them, such as those of a Transformer for the same task. With
--steps each of their translations has so many pieces, so that a Transformer without training can be timed.

By default it translates data/demo/test.en. A start is a whole `nmt translate` of one line, the fastest of --repeats.
Inside a process it times single sentences, greedily and with a beam of 5, and all sentences at once. BLEU is that of
the beam; the alignment error rate is that of the references' links.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking.translating import System, run_command, run_worker
from common.running import run_script
from nmt.alignment.pharaoh_and_naacl import read_gold
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.evaluation.bleu_and_chrf import bleu
from nmt.run.directory import Run
from nmt.run.exported import PRECISIONS
from nmt.text.lines import read_lines

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

COLUMNS = {
    "size_mib": ("size, MiB", ".2f"),
    "start_s": ("start, s", ".2f"),
    "start_mib": ("memory, MiB", ".0f"),
    "greedy_ms": ("greedy, ms", ".2f"),
    "beam_ms": ("beam 5, ms", ".2f"),
    "greedy_rate": ("greedy, sentences/s", ".0f"),
    "beam_rate": ("beam 5, sentences/s", ".0f"),
    "bleu": ("BLEU", ".2f"),
    "aer": ("AER", ".4f"),
    "equal": ("equal lines", ".0f"),
}
"""Headings and number formats of the table, by field of a measurement."""


def main() -> None:
    """Exports the run in each precision, measures, and prints the table."""
    arguments = parse()
    arguments.output.mkdir(parents=True, exist_ok=True)
    texts = [list(read_lines(str(path)))[: arguments.limit] for path in (arguments.source, arguments.reference)]
    gold = list(read_lines(str(arguments.gold)))[: arguments.limit] if arguments.gold else []
    found: list[dict[str, Any]] = []
    for system in systems(arguments.model, arguments.output, arguments.precision, arguments.short_list):
        print(f"measuring {system.name}", file=sys.stderr)
        found.append(measure(system, *texts, gold, arguments))
    for directory in arguments.ctranslate2:
        beside = System(
            directory.name, "ctranslate2", sys.executable, directory, arguments.output, "", 0, arguments.steps
        )
        print(f"measuring {beside.name}", file=sys.stderr)
        found.append(measure_inside(beside, *texts, arguments))
    for row in found:
        row["equal"] = sum(map(str.__eq__, row["lines"], found[0]["lines"]))
    (arguments.output / "exports.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(table(found))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    demo = Path("data/demo")
    parser.add_argument("--model", type=Path, required=True, help="run directory")
    parser.add_argument("--source", type=Path, default=demo / "test.en", help="sentences to translate")
    parser.add_argument("--reference", type=Path, default=demo / "test.fr", help="their translations")
    parser.add_argument("--gold", type=Path, help="their gold links; without them no error rate is measured")
    parser.add_argument("--limit", type=int, default=300, help="number of sentences (default: %(default)s)")
    parser.add_argument("--alone", type=int, default=100, help="sentences timed one by one (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=3, help="starts (default: %(default)s)")
    precisions = ["float32", "mixed_float16", "mixed_bfloat16"]
    parser.add_argument("--precision", nargs="+", choices=precisions, default=["float32"], help="of the run itself")
    parser.add_argument("--short-list", type=int, default=0, help="measure int8 with such a short list too")
    parser.add_argument("--ctranslate2", type=Path, nargs="+", default=[], metavar="DIR", help="exports in CTranslate2")
    parser.add_argument("--steps", type=int, default=0, help="pieces of each translation of CTranslate2 (default: any)")
    parser.add_argument("--output", type=Path, required=True, help="directory for the exports and the numbers")
    return parser.parse_args()


def systems(model: Path, output: Path, of_run: Sequence[str], short_list: int) -> Iterator[System]:
    """The run in its precisions, then its exports, which are written where they are missing.

    Args:
        short_list: of one more system in int8; the run must have used a short list. 0: no such system.
    """
    from nmt.exporting.export import export_run

    for precision in of_run:
        yield System(f"run, {precision}", "nmt", sys.executable, model, output, precision)
    for precision in PRECISIONS:
        directory = output / f"{model.name}-{precision}.onnx"
        if not directory.exists():
            export_run(Run.open(model), directory, precision=precision)
        yield System(precision, "nmt", sys.executable, directory, output)
    if short_list:
        directory = output / f"{model.name}-int8.onnx"
        yield System(f"int8, short list {short_list}", "nmt", sys.executable, directory, output, short_list=short_list)


def measure(
    system: System, sources: list[str], references: list[str], gold: Sequence[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """The numbers of one system, by the fields of `COLUMNS`."""
    line = arguments.output / "line.txt"
    line.write_text(f"{sources[0]}\n", encoding="utf-8")
    starts = [run_command(system, 5, line) for _ in range(arguments.repeats)]
    first = min(starts, key=lambda start: start["seconds"])
    row = measure_inside(system, sources, references, arguments)
    row |= {"start_s": first["seconds"], "start_mib": first["peak_mib"]}
    return row | {"aer": error_rate(system.model, sources, references, gold) if gold else None}


def measure_inside(
    system: System, sources: list[str], references: list[str], arguments: argparse.Namespace
) -> dict[str, Any]:
    """The numbers of one system that need no command of nmt; the others are None."""
    inside = {beam: run_worker(system, beam, sources, min(arguments.alone, len(sources))) for beam in (1, 5)}
    row: dict[str, Any] = dict.fromkeys(COLUMNS) | {
        "name": system.name,
        "size_mib": size_of(system.model) / 2**20,
        "bleu": None if system.steps else bleu(inside[5]["found"], references).value,
        "lines": inside[5]["found"],
    }
    for beam, name in ((1, "greedy"), (5, "beam")):
        row[f"{name}_ms"] = 1000 * inside[beam]["p50_s"]
        row[f"{name}_rate"] = len(sources) / inside[beam]["batch_s"]
    return row


def size_of(model: Path) -> int:
    """Bytes of the files that translate: of a run, those of its pack."""
    names = ["best.npz", "config.json", *(path.name for path in model.glob("*.model"))]
    run = [model / name for name in names]
    files = run if (model / "best.npz").exists() else [path for path in model.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files)


def error_rate(model: Path, sources: list[str], references: list[str], gold: Sequence[str]) -> float:
    """The alignment error rate of the links between sources and references."""
    import nmt

    found = nmt.Translator.load(model).align(sources, references)
    return alignment_score([pair.alignment.links for pair in found], read_gold(list(gold), "gold")).aer


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The measurements as Markdown."""
    lines = [["", *(heading for heading, _ in COLUMNS.values())], ["---"] * (len(COLUMNS) + 1)]
    for row in rows:
        numbers = [row[name] for name in COLUMNS]
        formats = [form for _, form in COLUMNS.values()]
        cells = ["-" if number is None else format(number, form) for number, form in zip(numbers, formats, strict=True)]
        lines.append([row["name"], *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(run_script(main))
