"""chrF of a target language written without spaces, beside the same text with spaces.

    python scripts/benchmarks/measure_unspaced.py --source train.en --target train.de --validation val.en val.de \\
        --test test.en test.de --seeds 1 2 3

Removes all white space from the target, and trains `nmt train --recipe auto` on the text with and without it, once per
seed. Both models translate the test sentences. chrF ignores white space, so both are scored by the same references.
Unknown flags go to `nmt train`, such as --training.passes 5 or --vocabulary.longest_piece 16. Finished trainings in
--output are not repeated, and interrupted ones go on.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.benchmarking import machine
from benchmarks.benchmarking.report import headline
from common.running import run_script
from nmt.errors import NmtError
from nmt.text.lines import read_lines

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

FORMS = ("spaced", "unspaced")
REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> None:
    """Trains the models that are missing, scores them and prints the table."""
    arguments = parse()
    arguments.output.mkdir(parents=True, exist_ok=True)
    texts = {form: write_text(arguments, form) for form in FORMS}
    found = []
    for seed in arguments.seeds:
        for form in FORMS:
            found.append({"seed": seed, "form": form, "chrf": measure(arguments, texts[form], form, seed)})
            print(f"seed {seed}, {form}: chrF {found[-1]['chrf']:.2f}", file=sys.stderr, flush=True)
    result = {"machine": machine.describe(), "results": found}
    (arguments.output / "unspaced.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(table(result))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="sentences to train on")
    parser.add_argument("--target", type=Path, required=True, help="their translations, with spaces")
    parser.add_argument("--validation", type=Path, nargs=2, required=True, help="validation sentences of both sides")
    parser.add_argument("--test", type=Path, nargs=2, required=True, help="test sentences of both sides")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--output", type=Path, default=Path("saved_models/unspaced"))
    arguments, arguments.more = parser.parse_known_args()
    return arguments


def write_text(arguments: argparse.Namespace, form: str) -> dict[str, tuple[Path, Path]]:
    """Source and target of each set of pairs; the targets are written in this form."""
    sets = {"train": (arguments.source, arguments.target), "validation": arguments.validation, "test": arguments.test}
    texts = {}
    for name, (source, target) in sets.items():
        written = arguments.output / f"{name}.{form}.target"
        lines = read_lines(str(target))
        content = "".join(f"{line if form == 'spaced' else ''.join(line.split())}\n" for line in lines)
        written.write_text(content, encoding="utf-8")
        texts[name] = (source.resolve(), written.resolve())
    return texts


def measure(arguments: argparse.Namespace, texts: dict[str, tuple[Path, Path]], form: str, seed: int) -> float:
    """chrF of a model that is trained with this seed."""
    name = f"{form}-{seed}"
    run, output = arguments.output.resolve() / name, arguments.output.resolve() / f"{name}.json"
    if not output.exists():
        files = [
            f"--corpus.{corpus}.{side}={path}"
            for corpus in ("train", "validation")
            for side, path in zip(("source", "target"), texts[corpus], strict=True)
        ]
        where = [f"--directory={run.parent}", f"--name={name}", f"--training.seed={seed}"]
        call("train", "--recipe=auto", *where, *files, *arguments.more)
        pair = [f"--{side}={path}" for side, path in zip(("source", "target"), texts["test"], strict=True)]
        call("evaluate", f"--model={run}", *pair, f"--json={output}")
    return json.loads(output.read_text(encoding="utf-8"))["chrf"]["value"]


def call(*words: str) -> None:
    code = subprocess.run([sys.executable, "-m", "nmt", *words], cwd=REPOSITORY).returncode
    if code:
        raise NmtError(f"nmt {words[0]} ended with exit code {code}: run the same command again to go on")


def table(result: dict) -> str:
    """Markdown: the machine, then chrF of both forms and their difference for each seed."""
    scores = {(one["seed"], one["form"]): one["chrf"] for one in result["results"]}
    seeds = sorted({seed for seed, _ in scores})
    lines = [
        headline(result["machine"]),
        "| seed | with spaces | without | difference |",
        "| --- | ---: | ---: | ---: |",
    ]
    differences = [scores[seed, "unspaced"] - scores[seed, "spaced"] for seed in seeds]
    for seed, difference in zip(seeds, differences, strict=True):
        lines.append(f"| {seed} | {scores[seed, 'spaced']:.2f} | {scores[seed, 'unspaced']:.2f} | {difference:+.2f} |")
    lines.append(f"| mean | | | {statistics.mean(differences):+.2f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_script(main))
