"""Plants bad pairs in a parallel corpus, and counts the bad pairs that `nmt clean` finds and the good pairs it drops.

    python scripts/benchmarks/measure_cleaning.py --source test.en validation.en --target test.fr validation.fr \\
        --model DIR

A tenth of the pairs is damaged. The kinds of damage are equally frequent; --kinds chooses among them:

* shifted: the target of the next pair,
* merged: its own target and that of the next pair,
* truncated: the first half of its target,
* dropped, repeated: two to four consecutive words of the target are missing, or occur twice,
* copied: the source in place of the target,
* exchanged: source and target are exchanged,
* other language: the line of --other, a translation of the source into a third language, in place of the target.

The rules are one detector. --model adds three: the least probable pairs per piece, the pairs that `nmt explain` ranks
as most unusual, and the rules together with the most unusual of the other pairs, as in `nmt clean --model`. A detector
with a model drops as many pairs as are damaged, so its recall is its precision too. Pairs count as good if the script
did not damage them, so bad pairs of the original corpus count as lost when they are dropped. For each seed the damaged
corpus stays in --output, to be cleaned and trained on.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from corpora.corrupt import SHORTEST, damage_phrase
from nmt.cli.quiet import quiet_start
from nmt.errors import NmtError
from nmt.text.cleaning import RULE_NAMES, Rules, judge
from nmt.text.lines import read_lines

if TYPE_CHECKING:
    import nmt

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

Pair = tuple[str, str]
KINDS = ("shifted", "merged", "truncated", "dropped", "repeated", "copied", "exchanged")
OTHER = "other language"


def damage(
    pairs: Sequence[Pair],
    share: float,
    seed: int,
    other: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> tuple[list[Pair], dict[int, str]]:
    """Damages some of the pairs.

    Args:
        pairs: source and target.
        share: share of the pairs that are damaged, 0 to 1.
        seed: chooses the pairs and their damage.
        other: the sources in a third language.
        names: kinds of damage; None: all possible kinds.

    Returns:
        All pairs, and the kind of damage by index.

    Raises:
        NmtError: too few pairs are long enough.
    """
    draw = random.Random(seed)
    long_enough = [i for i, pair in enumerate(pairs) if min(len(text.split()) for text in pair) >= SHORTEST]
    names = names or KINDS + (OTHER,) * (other is not None)
    if not 0 < (count := round(share * len(pairs))) <= len(long_enough):
        raise NmtError(f"cannot damage {count} of {len(long_enough)} pairs of {SHORTEST} words or more: change --share")
    kinds = {i: names[number % len(names)] for number, i in enumerate(draw.sample(long_enough, count))}
    damaged = list(pairs)
    for i, kind in kinds.items():
        (source, target), following = pairs[i], pairs[(i + 1) % len(pairs)][1]
        words = target.split()
        if kind in ("dropped", "repeated"):
            damaged[i] = source, damage_phrase(target, kind, draw)
        else:
            damaged[i] = {
                "shifted": (source, following),
                "merged": (source, f"{target} {following}"),
                "truncated": (source, " ".join(words[: len(words) // 2])),
                "copied": (source, source),
                "exchanged": (target, source),
                OTHER: (source, other[i] if other else ""),
            }[kind]
    return damaged, kinds


def by_rules(pairs: Sequence[Pair]) -> dict[int, str]:
    """The rules that drop pairs, by the index of the pair."""
    raw = ((source.encode(), target.encode()) for source, target in pairs)
    return {i: fault.rule for i, (_, fault) in enumerate(judge(raw, Rules())) if fault}


def by_model(pairs: Sequence[Pair], translator: nmt.Translator, rules: set[int], count: int) -> dict[str, set[int]]:
    """The indices of the pairs that each detector with a model drops.

    Args:
        pairs: source and target.
        translator: the model.
        rules: indices of the pairs that the rules drop.
        count: number of pairs that each detector drops.
    """
    from nmt.explaining.pair_measures import measure_pair
    from nmt.explaining.unusual_pairs import find_outliers

    found = [
        measure_pair(pair.alignment, pair.log_probability, len(pair.pieces))
        for pair in translator.align((source for source, _ in pairs), (target for _, target in pairs))
    ]
    numbers = [each.row() for each in found]
    rest = [i for i in range(len(pairs)) if i not in rules]
    worst = find_outliers([numbers[i] for i in rest]).order[: max(count - len(rules), 0)]
    return {
        "likelihood": set(sorted(range(len(pairs)), key=lambda i: found[i].log_probability)[:count]),
        "unusual": set(find_outliers(numbers).order[:count].tolist()),
        "rules, unusual": rules.union(rest[i] for i in worst),
    }


def measure(pairs: Sequence[Pair], kinds: dict[int, str], translator: nmt.Translator | None) -> dict[str, set[int]]:
    """The indices that each detector drops."""
    rules = set(by_rules(pairs))
    return {"rules": rules} | (by_model(pairs, translator, rules, len(kinds)) if translator else {})


def table(trials: Sequence[tuple[dict[int, str], dict[str, set[int]]]], total: int) -> list[str]:
    """A Markdown table of the share of each kind that each detector finds, summed over the trials."""
    names = list(trials[0][1])
    planted = Counter(kind for kinds, _ in trials for kind in kinds.values())
    rows = [["kind", "planted", *names]]
    for kind in (*KINDS, OTHER):
        found = [sum(kinds.get(i) == kind for kinds, dropped in trials for i in dropped[name]) for name in names]
        if planted[kind]:
            rows.append([kind, str(planted[kind]), *(f"{count / planted[kind]:.1%}" for count in found)])
    hits = [sum(i in kinds for kinds, dropped in trials for i in dropped[name]) for name in names]
    sizes = [sum(len(dropped[name]) for _, dropped in trials) for name in names]
    good = total * len(trials) - planted.total()
    rows.append(["all", str(planted.total()), *(f"{hit / planted.total():.1%}" for hit in hits)])
    rows.append(["precision", "", *(f"{hit / max(size, 1):.1%}" for hit, size in zip(hits, sizes, strict=True))])
    lost = (f"{size - hit} ({(size - hit) / good:.2%})" for hit, size in zip(hits, sizes, strict=True))
    rows.append(["good pairs lost", f"of {good}", *lost])
    rows.insert(1, ["---"] + ["---:"] * (len(names) + 1))
    return ["| " + " | ".join(row) + " |" for row in rows]


def rule_table(found: Sequence[tuple[dict[int, str], dict[int, str]]]) -> list[str]:
    """A Markdown table of the damaged and the good pairs that each rule drops."""
    bad = Counter(rule for kinds, rules in found for i, rule in rules.items() if i in kinds)
    good = Counter(rule for kinds, rules in found for i, rule in rules.items() if i not in kinds)
    rows = [f"| {name} | {bad[name]} | {good[name]} |" for name in RULE_NAMES if bad[name] + good[name]]
    return ["| rule | damaged | good |", "| --- | ---: | ---: |", *rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--source", required=True, nargs="+", metavar="FILE", help="source sentences; several files are joined"
    )
    parser.add_argument("--target", required=True, nargs="+", metavar="FILE", help="their translations")
    parser.add_argument("--other", nargs="+", metavar="FILE", help="the same sentences in a third language")
    parser.add_argument("--model", metavar="DIR", help="run directory written by nmt train")
    parser.add_argument("--share", type=float, default=0.1, help="share of the pairs that are damaged (default: 0.1)")
    parser.add_argument("--kinds", nargs="+", choices=[*KINDS, OTHER], help="kinds of damage (default: all)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="one trial per seed (default: 1 2 3)")
    parser.add_argument("--output", type=Path, default=Path("saved_models/measure_cleaning"), metavar="DIR")
    run(parser.parse_args())


def run(arguments: argparse.Namespace) -> None:
    """Damages the corpus once per seed, runs the detectors, and writes the tables and the damaged corpora."""
    pairs, other = read_corpus(arguments)
    translator = None
    if arguments.model:
        with quiet_start():
            from nmt import Translator

        translator = Translator.load(arguments.model)
    arguments.output.mkdir(parents=True, exist_ok=True)
    trials, by_rule = [], []
    for seed in arguments.seeds:
        damaged, kinds = damage(pairs, arguments.share, seed, other, arguments.kinds)
        write_damage(arguments.output, seed, damaged, kinds)
        trials.append((kinds, measure(damaged, kinds, translator)))
        by_rule.append((kinds, by_rules(damaged)))
    text = "\n".join([*table(trials, len(pairs)), "", *rule_table(by_rule)])
    print(text)
    (arguments.output / "tables.md").write_text(text + "\n", encoding="utf-8")
    print(
        f"measure_cleaning: the tables, the damaged pairs and the damaged corpora are in {arguments.output}",
        file=sys.stderr,
    )


def read_corpus(arguments: argparse.Namespace) -> tuple[list[Pair], list[str] | None]:
    """The pairs, and the sources in a third language if --other is given.

    Raises:
        NmtError: the files have different numbers of lines, or --other is missing.
    """
    sides = [
        [line for path in paths for line in read_lines(path)]
        for paths in (arguments.source, arguments.target, arguments.other)
        if paths
    ]
    if len({len(side) for side in sides}) > 1:
        raise NmtError(f"the sides differ in lines: {', '.join(str(len(side)) for side in sides)}")
    if OTHER in (arguments.kinds or ()) and not arguments.other:
        raise NmtError(f"--kinds '{OTHER}' needs --other, the same sentences in a third language")
    return list(zip(sides[0], sides[1], strict=True)), sides[2] if arguments.other else None


def write_damage(directory: Path, seed: int, damaged: Sequence[Pair], kinds: dict[int, str]) -> None:
    """Writes the damaged corpus, and the list of its damaged pairs."""
    listed = "".join("\t".join([str(i + 1), kind, *damaged[i]]) + "\n" for i, kind in sorted(kinds.items()))
    (directory / f"damage-{seed}.tsv").write_text(f"line\tkind\tsource\ttarget\n{listed}", encoding="utf-8")
    for name, side in zip(("source", "target"), zip(*damaged, strict=True), strict=True):
        text = "".join(f"{line}\n" for line in side)
        (directory / f"damaged-{seed}.{name}").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(run_script(main))
