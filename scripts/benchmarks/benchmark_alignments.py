"""Quality of word alignments: attention under several rules, both directions, guided attention, statistical aligners.

    python scripts/benchmarks/benchmark_alignments.py      # the demo corpus, its validation pairs, one seed
    python scripts/benchmarks/benchmark_alignments.py --seeds 1 2 3 --guided own eflomal --eflomal EFLOMAL_ENV \\
        --source data/demo/test.en --target data/demo/test.fr --gold data/demo/test.align
    python scripts/benchmarks/benchmark_alignments.py --models saved_models/en-de saved_models/de-en --config CONFIG \\
        --source test.en --target test.de --gold "" --eflomal EFLOMAL_ENV

The models train on the pairs of the configuration, in both directions, into --output; finished models are used again.
The statistical aligners train on the same pairs and on the measured pairs without their links, as is usual. They have
no seed to set, so they run once per seed. Guided models learn from links of the training text, symmetrised by
grow-diag-final: those of eflomal, of the unguided models, or of both. They never learn from gold links. Without gold,
the script measures the agreement with eflomal's links, symmetrised by grow-diag-final-and.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import nmt
from benchmarks.benchmarking import machine
from common.running import run_script
from nmt.alignment.hard_links import Linking
from nmt.alignment.links import Gold, Links
from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh, read_gold
from nmt.alignment.symmetrizing import symmetrize
from nmt.config import config_to_dict
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.text.lines import read_lines
from nmt.text.pairs import PairReader

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

DEMO = "data/demo"
METHODS = ("intersection", "union", "grow-diag", "grow-diag-final", "grow-diag-final-and")
GUIDE_METHOD = "grow-diag-final"
"""Symmetrises the links that guide."""
GUIDES = {"own": "its own", "eflomal": "eflomal's", "mixed": "its own and eflomal's"}
"""The origins of the links that guide, with their words in the table."""
RULES = {
    "largest share": Linking(),
    "shares of 0.4": Linking("shares"),
    "argmax": Linking("argmax"),
    "threshold 0.3": Linking("threshold", threshold=0.3),
    "threshold 0.4": Linking("threshold"),
    "largest share, source words choose": Linking(side="source"),
    "largest share, next step's attention": Linking(step="read"),
}
"""Rules that turn attention into links."""
SYMMETRIZED = ("largest share", "shares of 0.4")
"""Rules whose links of both directions are symmetrised too."""

Text = list[tuple[str, str]]
"""Sentence pairs."""
Alignments = dict[str, list[Links]]
"""By system: the links of each sentence pair."""


def main() -> None:
    """Trains the missing models, measures, prints a table, writes JSON and the table."""
    arguments = parse()
    arguments.output.mkdir(parents=True, exist_ok=True)
    about = machine.describe() | {"seeds": arguments.seeds}
    config = nmt.load_config(arguments.config)
    train = [pair[:2] for pair in PairReader(config.corpus.train, config.corpus)]
    measured = list(zip(read_lines(arguments.source), read_lines(arguments.target), strict=True))
    results: dict[str, list[dict[str, Any]]] = {}
    for seed in arguments.seeds:
        found = systems(arguments, config, seed, train, measured)
        gold = reference(arguments, found)
        for name, links in found.items():
            results.setdefault(name, []).append(alignment_score(links, gold)._asdict())
        write(arguments, about, results)
    print(table(about, arguments, results))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--config", default=f"{DEMO}/config.yaml", help="configuration of the models, with the training text"
    )
    parser.add_argument("--source", default=f"{DEMO}/validation.en", help="source sentences of the measured pairs")
    parser.add_argument("--target", default=f"{DEMO}/validation.fr", help="their translations")
    parser.add_argument(
        "--gold", default=f"{DEMO}/validation.align", help="their gold links; '': agreement with eflomal"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--models", nargs=2, metavar="DIR", help="trained runs of both directions, instead of training")
    parser.add_argument("--guided", nargs="*", choices=[*GUIDES], default=[], help="origin of the links that guide")
    parser.add_argument("--eflomal", type=Path, metavar="ENV", help="a virtual environment with eflomal")
    parser.add_argument("--fast-align", type=Path, metavar="PROGRAM", help="the program fast_align")
    parser.add_argument("--output", type=Path, default=Path("saved_models/alignments"))
    arguments = parser.parse_args()
    if not arguments.eflomal and (not arguments.gold or {"eflomal", "mixed"} & {*arguments.guided}):
        parser.error("--eflomal is needed: its links are the reference or the guide")
    if arguments.models and (arguments.guided or len(arguments.seeds) > 1):
        parser.error("--models are trained already: leave out --guided and --seeds")
    return arguments


def reference(arguments: argparse.Namespace, found: Alignments) -> list[Gold]:
    """The gold links, or eflomal's without gold."""
    if arguments.gold:
        return read_gold(read_lines(arguments.gold), arguments.gold)
    return [Gold(links, links) for links in found["eflomal, grow-diag-final-and"]]


def systems(arguments: argparse.Namespace, config: nmt.RunConfig, seed: int, train: Text, measured: Text) -> Alignments:
    """The links of every system for the measured pairs."""
    statistical = aligners(arguments, seed, train, measured)
    found = {name: links[len(train) :] for name, links in statistical.items()}
    models = arguments.models or [train_run(arguments, config, seed, reverse) for reverse in (False, True)]
    found |= {f"attention, {name}": links for name, links in attention_links(models, measured)}
    for guide in arguments.guided:
        path = arguments.output / f"{guide}-{seed}.links"
        if not path.exists():
            save_links(path, guide_links(guide, models, train, statistical))
        guided = [train_run(arguments, config, seed, reverse, guide, path) for reverse in (False, True)]
        found |= {
            f"attention guided by {GUIDES[guide]} links, {name}": pairs
            for name, pairs in attention_links(guided, measured)
        }
    return found


def guide_links(guide: str, models: list[Any], train: Text, statistical: Alignments) -> list[Links]:
    """The links of the training text that guide attention."""
    if guide == "eflomal":
        return statistical[f"eflomal, {GUIDE_METHOD}"][: len(train)]
    own = symmetrize_all(
        *directions([nmt.Translator.load(model, aligner=False) for model in models], train, Linking()), GUIDE_METHOD
    )
    return own if guide == "own" else symmetrize_all(own, statistical["eflomal, union"][: len(train)], GUIDE_METHOD)


def train_run(
    arguments: argparse.Namespace, config: nmt.RunConfig, seed: int, reverse: bool, guide: str = "", links: Any = ""
) -> Path:
    """Trains a run of this direction and seed with `nmt train`, unless it is trained; returns its directory."""
    name = "-".join(part for part in ("reverse" if reverse else "forward", guide, str(seed)) if part)
    if reverse and links:
        forward = [parse_pharaoh(line, str(links)).sure for line in read_lines(str(links))]
        links = links.with_suffix(".reversed")
        save_links(links, map(reverse_links, forward))
    training = replace(config.training, seed=seed, guided=replace(config.training.guided, links=str(links)))
    config = replace(config, name=name, directory=str(arguments.output), training=training)
    if reverse:
        config = replace(config, corpus=reversed_corpus(config.corpus))
    path = arguments.output / f"{name}.json"
    path.write_text(json.dumps(config_to_dict(config), indent=1), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "nmt", "train", "--config", str(path)], check=True)
    return arguments.output / name


def reversed_corpus(corpus: nmt.CorpusConfig) -> nmt.CorpusConfig:
    """The corpus with source and target exchanged, and without gold links."""

    def exchange(pairs: nmt.PairsConfig) -> nmt.PairsConfig:
        return replace(
            pairs,
            source=pairs.target,
            target=pairs.source,
            source_column=pairs.target_column,
            target_column=pairs.source_column,
            tfds_source=pairs.tfds_target,
            tfds_target=pairs.tfds_source,
            alignment="",
        )

    return replace(corpus, train=exchange(corpus.train), validation=exchange(corpus.validation))


def save_links(path: Path, links: Iterable[Links]) -> None:
    path.write_text("".join(f"{format_pharaoh(pair)}\n" for pair in links), encoding="utf-8")


def reverse_links(links: Links) -> Links:
    """The links with source and target positions exchanged."""
    return frozenset((t, s) for s, t in links)


def attention_links(models: list[Any], pairs: Text) -> Iterator[tuple[str, list[Links]]]:
    """Links of two models of opposite directions: each alone under all rules, both symmetrised under some rules.

    Yields:
        The name of a system, and its links.
    """
    translators = [nmt.Translator.load(model, aligner=False) for model in models]
    for name, linking in RULES.items():
        forward, backward = directions(translators, pairs, linking)
        yield name, forward
        yield f"opposite direction, {name}", backward
        for method in METHODS if name in SYMMETRIZED else ():
            yield f"both directions, {name}, {method}", symmetrize_all(forward, backward, method)


def directions(translators: list[nmt.Translator], pairs: Text, linking: Linking) -> tuple[list[Links], list[Links]]:
    """Links of the first model, and the reversed links of the second, for the same pairs."""
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    forward = [pair.alignment.links for pair in translators[0].align(sources, targets, linking)]
    backward = [reverse_links(pair.alignment.links) for pair in translators[1].align(targets, sources, linking)]
    return forward, backward


def symmetrize_all(forward: list[Links], backward: list[Links], method: Any) -> list[Links]:
    return [symmetrize(*pair, method) for pair in zip(forward, backward, strict=True)]


def aligners(arguments: argparse.Namespace, seed: int, train: Text, measured: Text) -> Alignments:
    """Links of the statistical aligners, first for the training pairs, then for the measured pairs."""
    found: Alignments = {}
    programs: dict[str, tuple[Any, Callable[..., None]]] = {
        "eflomal": (arguments.eflomal, run_eflomal),
        "fast_align": (arguments.fast_align, run_fast_align),
    }
    for name, (program, run) in programs.items():
        if program:
            stem = arguments.output / f"{name}-{seed}"
            run(program, stem, [*train, *measured])
            forward, backward = (
                [parse_pharaoh(line, str(stem)).sure for line in read_lines(f"{stem}.{side}")]
                for side in ("forward", "backward")
            )
            found |= {f"{name}, forward": forward, f"{name}, backward": backward}
            found |= {f"{name}, {method}": symmetrize_all(forward, backward, method) for method in METHODS}
    return found


def run_eflomal(environment: Path, stem: Path, pairs: Text) -> None:
    """eflomal 2 (Ostling and Tiedemann 2016) with its defaults. Both output files have links as (source, target)."""
    for side, name in enumerate(("source", "target")):
        Path(f"{stem}.{name}").write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    files = ["-s", f"{stem}.source", "-t", f"{stem}.target", "-f", f"{stem}.forward", "-r", f"{stem}.backward"]
    program = environment / "bin" / "eflomal-align"
    subprocess.run([environment / "bin" / "python", program, "--overwrite", *files], check=True)


def run_fast_align(program: Path, stem: Path, pairs: Text) -> None:
    """fast_align (Dyer et al. 2013) as its manual recommends: -d -o -v, the second time with -r."""
    Path(f"{stem}.text").write_text("".join(f"{source} ||| {target}\n" for source, target in pairs), encoding="utf-8")
    for side, flags in (("forward", []), ("backward", ["-r"])):
        with open(f"{stem}.{side}", "wb") as output:
            command = [program, "-i", f"{stem}.text", "-d", "-o", "-v", *flags]
            subprocess.run(command, stdout=output, stderr=subprocess.DEVNULL, check=True)


def write(arguments: argparse.Namespace, about: dict[str, Any], results: dict[str, Any]) -> None:
    numbers = {"machine": about, "measured": arguments.source, "gold": arguments.gold, "results": results}
    (arguments.output / "alignments.json").write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    text = table(about, arguments, results) + "\n"
    (arguments.output / "alignments.md").write_text(text, encoding="utf-8")


def table(about: dict[str, Any], arguments: argparse.Namespace, results: dict[str, list[dict[str, Any]]]) -> str:
    """Markdown: the machine, and a row per system with means over the seeds and the range of the error rate."""
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    by = f"gold links {arguments.gold}" if arguments.gold else "eflomal's symmetrised links instead of gold links"
    lines = [
        f"{about['processor']}, {about['cores']} cores, {about['memory_gib']} GiB, {about['date']}, "
        f"Python {about['python']}, {packages}.",
        f"Command: {about['command']}",
        f"{arguments.source} and {arguments.target}, measured by {by}; seeds {about['seeds']}.",
        "",
        "| links | AER | range | precision | recall | F1 |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, scores in results.items():
        aer = [score["aer"] for score in scores]
        others = [statistics.mean(score[field] for score in scores) for field in ("precision", "recall", "f1")]
        shares = " | ".join(f"{value:.3f}" for value in others)
        lines.append(f"| {name} | {statistics.mean(aer):.3f} | {min(aer):.3f} to {max(aer):.3f} | {shares} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(run_script(main))
