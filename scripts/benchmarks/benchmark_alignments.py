"""How good word alignments are: attention in several readings, both directions, guided; statistical aligners.

    python scripts/benchmarks/benchmark_alignments.py      # the demo corpus, its validation pairs, one seed
    python scripts/benchmarks/benchmark_alignments.py --seeds 1 2 3 --guided own eflomal --eflomal EFLOMAL_ENV \\
        --source data/demo/test.en --target data/demo/test.fr --gold data/demo/test.align
    python scripts/benchmarks/benchmark_alignments.py --models saved_models/en-de saved_models/de-en --config CONFIG \\
        --source test.en --target test.de --gold "" --eflomal EFLOMAL_ENV

Models train on the pairs of the configuration, in both directions, into --output; what is there is used again.
Statistical aligners are trained on the same pairs and those that are measured, without their links, as is usual; they
have no seed to set and run anew as often as there are seeds. Guided models learn from links that eflomal, the unguided
models themselves or both put into the training text (symmetrised by grow-diag-final), never from gold. Without gold,
what is measured is the agreement with eflomal's links, symmetrised by grow-diag-final-and.
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
from common.running import ended
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
GUIDE = "grow-diag-final"
"""How links that guide are made of two directions'."""
WHOSE = {"own": "its own", "eflomal": "eflomal's", "mixed": "its own and eflomal's"}
READINGS = {
    "largest share": Linking(),
    "shares of 0.4": Linking("shares"),
    "argmax": Linking("argmax"),
    "threshold 0.3": Linking("threshold", threshold=0.3),
    "threshold 0.4": Linking("threshold"),
    "largest share, source words choose": Linking(side="source"),
    "largest share, next step's attention": Linking(step="read"),
}
TOGETHER = ("largest share", "shares of 0.4")
"""Readings whose links of both directions are made one."""
Text = list[tuple[str, str]]
Found = dict[str, list[Links]]


def main() -> None:
    """Trains what is missing, measures, prints a table, writes JSON and the table."""
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
    parser.add_argument("--config", default=f"{DEMO}/config.yaml", help="of the models, and the training text")
    parser.add_argument("--source", default=f"{DEMO}/validation.en", help="source sentences that are measured")
    parser.add_argument("--target", default=f"{DEMO}/validation.fr", help="their translations")
    parser.add_argument("--gold", default=f"{DEMO}/validation.align", help="their links; '': agreement with eflomal")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--models", nargs=2, metavar="DIR", help="trained runs of both directions, instead of training")
    parser.add_argument("--guided", nargs="*", choices=[*WHOSE], default=[], help="whose links guide")
    parser.add_argument("--eflomal", type=Path, metavar="ENV", help="a virtual environment that has eflomal")
    parser.add_argument("--fast-align", type=Path, metavar="PROGRAM", help="fast_align's program")
    parser.add_argument("--output", type=Path, default=Path("saved_models/alignments"))
    arguments = parser.parse_args()
    if not arguments.eflomal and (not arguments.gold or {"eflomal", "mixed"} & {*arguments.guided}):
        parser.error("--eflomal is needed: its links are what is measured by, or what guides")
    if arguments.models and (arguments.guided or len(arguments.seeds) > 1):
        parser.error("--models are of one seed and trained: leave --guided and --seeds out")
    return arguments


def reference(arguments: argparse.Namespace, found: Found) -> list[Gold]:
    """Gold links, or eflomal's where there are none."""
    if arguments.gold:
        return read_gold(read_lines(arguments.gold), arguments.gold)
    return [Gold(links, links) for links in found["eflomal, grow-diag-final-and"]]


def systems(arguments: argparse.Namespace, config: nmt.RunConfig, seed: int, train: Text, measured: Text) -> Found:
    """The links of every system for the measured pairs."""
    statistical = aligners(arguments, seed, train, measured)
    found = {name: links[len(train) :] for name, links in statistical.items()}
    models = arguments.models or [trained(arguments, config, seed, turned) for turned in (False, True)]
    found |= {f"attention, {name}": links for name, links in neural(models, measured)}
    for guide in arguments.guided:
        path = arguments.output / f"{guide}-{seed}.links"
        if not path.exists():
            save_links(path, guiding(guide, models, train, statistical))
        guided = [trained(arguments, config, seed, turned, guide, path) for turned in (False, True)]
        found |= {
            f"attention guided by {WHOSE[guide]} links, {name}": pairs for name, pairs in neural(guided, measured)
        }
    return found


def guiding(guide: str, models: list[Any], train: Text, statistical: Found) -> list[Links]:
    """The links of the training text that attention is guided by."""
    if guide == "eflomal":
        return statistical[f"eflomal, {GUIDE}"][: len(train)]
    own = both(*directions([nmt.Translator.load(model) for model in models], train, Linking()), GUIDE)
    return own if guide == "own" else both(own, statistical["eflomal, union"][: len(train)], GUIDE)


def trained(
    arguments: argparse.Namespace, config: nmt.RunConfig, seed: int, turned: bool, guide: str = "", links: Any = ""
) -> Path:
    """A trained run of this direction and seed, by `nmt train` in a process of its own."""
    name = "-".join(part for part in ("reverse" if turned else "forward", guide, str(seed)) if part)
    if turned and links:
        forward = [parse_pharaoh(line, str(links)).sure for line in read_lines(str(links))]
        links = links.with_suffix(".turned")
        save_links(links, map(turn, forward))
    training = replace(config.training, seed=seed, guided=nmt.GuidedConfig(str(links)) if links else nmt.GuidedConfig())
    config = replace(config, name=name, directory=str(arguments.output), training=training)
    if turned:
        config = replace(config, corpus=turned_corpus(config.corpus))
    path = arguments.output / f"{name}.json"
    path.write_text(json.dumps(config_to_dict(config), indent=1), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "nmt", "train", "--config", str(path)], check=True)
    return arguments.output / name


def turned_corpus(corpus: nmt.CorpusConfig) -> nmt.CorpusConfig:
    """The corpus with source and target exchanged; its gold links are left out, they would have to be turned too."""

    def turned(pairs: nmt.PairsConfig) -> nmt.PairsConfig:
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

    return replace(corpus, train=turned(corpus.train), validation=turned(corpus.validation))


def save_links(path: Path, links: Iterable[Links]) -> None:
    path.write_text("".join(f"{format_pharaoh(pair)}\n" for pair in links), encoding="utf-8")


def turn(links: Links) -> Links:
    return frozenset((t, s) for s, t in links)


def neural(models: list[Any], pairs: Text) -> Iterator[tuple[str, list[Links]]]:
    """Links of two models of opposite directions: each alone in several readings, and both together in some."""
    translators = [nmt.Translator.load(model) for model in models]
    for name, linking in READINGS.items():
        ours, theirs = directions(translators, pairs, linking)
        yield name, ours
        yield f"opposite direction, {name}", theirs
        for method in METHODS if name in TOGETHER else ():
            yield f"both directions, {name}, {method}", both(ours, theirs, method)


def directions(translators: list[nmt.Translator], pairs: Text, linking: Linking) -> tuple[list[Links], list[Links]]:
    """Links of the first model, and those of the second, turned around."""
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    ours = [pair.alignment.links for pair in translators[0].align(sources, targets, linking)]
    theirs = [turn(pair.alignment.links) for pair in translators[1].align(targets, sources, linking)]
    return ours, theirs


def both(forward: list[Links], backward: list[Links], method: Any) -> list[Links]:
    return [symmetrize(*pair, method) for pair in zip(forward, backward, strict=True)]


def aligners(arguments: argparse.Namespace, seed: int, train: Text, measured: Text) -> Found:
    """Links of the statistical aligners for training and measured pairs, one after the other."""
    found: Found = {}
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
            found |= {f"{name}, {method}": both(forward, backward, method) for method in METHODS}
    return found


def run_eflomal(environment: Path, stem: Path, pairs: Text) -> None:
    """eflomal 2 (Ostling and Tiedemann 2016) with its defaults; both files count (source, target)."""
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
    """Markdown: the machine, and a row a system, means over the seeds with the range of the error rate."""
    packages = ", ".join(f"{name} {number}" for name, number in about["packages"].items())
    by = f"gold links {arguments.gold}" if arguments.gold else "eflomal's symmetrised links, not by gold"
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
    sys.exit(ended(main))
