"""Damages translations on purpose, and measures how many of them `nmt explain` ranks first.

    python scripts/corpora/corrupt.py damage --target test.fr --output damaged.fr --share 0.1 --seed 1
    nmt explain --model DIR --source test.en --target damaged.fr --output report
    python scripts/corpora/corrupt.py measure --damage damaged.fr.tsv --report report/sentences.tsv

--by orders the pairs by a column of the report, the highest value first; --by=-COLUMN puts the lowest value first.
Equal values keep the order of the lines. damaged.fr.tsv lists the damage: line and kind. The kinds are equally
frequent:

* swapped: the translation of another damaged line,
* dropped: two to four consecutive words are missing,
* repeated: two to four consecutive words occur twice.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from nmt.cli.parser import share
from nmt.errors import NmtError
from nmt.text.lines import read_lines

KINDS = ("swapped", "dropped", "repeated")
SHORTEST = 6
"""Words of the shortest sentence that is damaged; a shorter one would not stay a sentence."""
LEAST = len(KINDS) + 1
"""Smallest number of damaged sentences, so that at least two are swapped."""


def damage(targets: Sequence[str], share: float, seed: int) -> tuple[list[str], dict[int, str]]:
    """Damages some of the sentences.

    Args:
        targets: sentences.
        share: share of the sentences that are damaged, 0 to 1.
        seed: chooses the sentences and their damage.

    Returns:
        All sentences, and the kind of damage by line number, counted from 1.

    Raises:
        NmtError: too few sentences are long enough, or the share is too small for each kind of damage.
    """
    draw = random.Random(seed)
    long_enough = [line for line, text in enumerate(targets, start=1) if len(text.split()) >= SHORTEST]
    count = round(share * len(targets))
    if not 0 < count <= len(long_enough):
        raise NmtError(
            f"cannot damage {count} of {len(targets)} sentences, because {len(long_enough)} have {SHORTEST} words or "
            "more: choose another --share"
        )
    if count < LEAST:
        raise NmtError(
            f"{count} of {len(targets)} sentences are too few for each kind of damage: choose a larger --share"
        )
    chosen = draw.sample(long_enough, count)
    kinds = {line: KINDS[index * len(KINDS) // len(chosen)] for index, line in enumerate(chosen)}
    swapped = [line for line in chosen if kinds[line] == "swapped"]
    donors = dict(zip(swapped, swapped[1:] + swapped[:1], strict=True))
    damaged = list(targets)
    for line, kind in kinds.items():
        damaged[line - 1] = (
            targets[donors[line] - 1] if kind == "swapped" else damage_phrase(targets[line - 1], kind, draw)
        )
    return damaged, kinds


def damage_phrase(text: str, kind: str, draw: random.Random) -> str:
    """Drops or repeats two to four words before the last word, which may be a full stop."""
    words, length = text.split(), draw.randint(2, 4)
    begin = draw.randrange(len(words) - length)
    end = begin + length
    return " ".join(words[:begin] + words[end:] if kind == "dropped" else words[:end] + words[begin:])


def measure(ranked: Sequence[int], kinds: dict[int, str]) -> list[str]:
    """A report: precision at the number of damaged lines and at half of it, average precision, recall of each kind.

    Args:
        ranked: line numbers, the worst first.
        kinds: the kind of damage by line number.
    """
    hits = [line in kinds for line in ranked]
    precisions = [sum(hits[: k + 1]) / (k + 1) for k, hit in enumerate(hits) if hit]
    first = set(ranked[: len(kinds)])
    report = [
        f"precision at {k}: {sum(hits[:k]) / k:.3f}" for k in sorted({max(len(kinds) // 2, 1), len(kinds)}) if kinds
    ]
    report.append(f"average precision: {sum(precisions) / max(len(precisions), 1):.3f}")
    for kind in KINDS:
        lines = [line for line in kinds if kinds[line] == kind]
        report.append(f"{kind}: {sum(line in first for line in lines)} of {len(lines)} among the first {len(kinds)}")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("damage", help="write damaged translations and a list of the damage")
    maker.add_argument("--target", type=Path, required=True)
    maker.add_argument("--output", type=Path, required=True)
    maker.add_argument("--share", type=share, default=0.1)
    maker.add_argument("--seed", type=int, default=1)
    meter = commands.add_parser("measure", help="count the damaged translations that a report ranks first")
    meter.add_argument("--damage", type=Path, required=True)
    meter.add_argument("--report", type=Path, required=True)
    meter.add_argument("--by", help="column to order by (default: the order of the report)")
    arguments = parser.parse_args()
    {"damage": run_damage, "measure": run_measure}[arguments.command](arguments)


def run_damage(arguments: argparse.Namespace) -> None:
    """Writes the damaged translations, and beside them the list of the damage."""
    damaged, kinds = damage(list(read_lines(str(arguments.target))), arguments.share, arguments.seed)
    arguments.output.write_text("".join(f"{text}\n" for text in damaged), encoding="utf-8")
    listed = "".join(f"{line}\t{kind}\n" for line, kind in sorted(kinds.items()))
    list_of_damage = Path(f"{arguments.output}.tsv")
    list_of_damage.write_text(f"line\tkind\n{listed}", encoding="utf-8")
    print(f"{len(kinds)} of {len(damaged)} sentences damaged: {arguments.output}, listed in {list_of_damage}")


def run_measure(arguments: argparse.Namespace) -> None:
    """Prints the precision of a report."""
    kinds = {int(row["line"]): row["kind"] for row in read_table(arguments.damage, ["kind"])}
    column, sign = (arguments.by or "").removeprefix("-"), -1 if (arguments.by or "").startswith("-") else 1
    rows = read_table(arguments.report, [column] if column else [])
    if column:
        try:
            rows.sort(key=lambda row: (-sign * float(row[column] or "nan"), int(row["line"])))
        except ValueError as error:
            raise NmtError(f"{arguments.report}: --by {column}: {error}: expected a column of numbers") from None
    print("\n".join(measure([int(row["line"]) for row in rows], kinds)))


def read_table(path: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a tab-separated table with a column `line`.

    Raises:
        NmtError: the table lacks one of `columns`, or a line is not a number.
    """
    reader = csv.DictReader(read_lines(str(path)), delimiter="\t", quoting=csv.QUOTE_NONE, restval="")
    names = reader.fieldnames or []
    for column in ("line", *columns):
        if column not in names:
            raise NmtError(f"{path}: has no column {column}, only: {', '.join(names)}")
    rows = list(reader)
    for number, row in enumerate(rows, start=2):
        if not row["line"].isdecimal():
            raise NmtError(f"{path}:{number}: '{row['line']}' in column line: expected a number")
    return rows


if __name__ == "__main__":
    sys.exit(run_script(main))
