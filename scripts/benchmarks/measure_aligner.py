"""Quality, speed and memory of `nmt aligner`, beside eflomal on the same text.

    python scripts/benchmarks/measure_aligner.py                              # the demo corpus, its validation pairs
    python scripts/benchmarks/measure_aligner.py --eflomal EFLOMAL_ENV --source data/demo/test.en \\
        --target data/demo/test.fr --gold data/demo/test.align
    python scripts/benchmarks/measure_aligner.py --flags "--fertility-epochs 0"  # other settings of the aligner
    python scripts/benchmarks/measure_aligner.py --tsv data/tatoeba/fra-eng.tsv --pairs 60000 \\
        --numbered data/tatoeba/links/fra-eng-test.tsv
    python scripts/benchmarks/measure_aligner.py --train TRAIN.en TRAIN.de --source TEST.en --target TEST.de \\
        --numbered data/multi30k/links/test_2016_flickr.tsv
    python scripts/benchmarks/measure_aligner.py --generated 1000000         # speed and memory alone

Both aligners learn from the training pairs and from the measured pairs without their links, as is usual. Quality is
printed by `nmt evaluate --links`: AER with bootstrap intervals, word classes, and a paired comparison. eflomal is a
process of its own; its links are symmetrised by --method. --links compares with links from a file instead. --numbered
names gold links of some lines only, as `data/tatoeba/links` has them; no other lines are measured.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple, get_args

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.running import run_script
from nmt.alignment.pharaoh_and_naacl import format_pharaoh, parse_pharaoh
from nmt.alignment.symmetrizing import Symmetrization, symmetrize
from nmt.cli import commands
from nmt.text.lines import read_lines

DEMO = "data/demo"


class Cost(NamedTuple):
    """Time and memory of a process."""

    seconds: float
    processor_seconds: float
    memory_mib: int

    def line(self, name: str, pairs: int) -> str:
        """A line for the user."""
        return (
            f"{name}: {pairs} pairs in {self.seconds:.1f} s ({pairs / self.seconds:.0f} pairs/s), "
            f"{self.processor_seconds:.1f} s of processor time, at most {self.memory_mib} MiB"
        )


def main() -> None:
    """Aligns, prints costs, prints quality."""
    arguments = parse()
    stem = arguments.output
    stem.mkdir(parents=True, exist_ok=True)
    text = chosen_text(arguments)
    text.write(stem)
    pairs = len(text.train) + len(text.measured)
    print(measured(aligner_command(stem, arguments.flags)).line("nmt aligner", pairs), flush=True)
    others = [run_fast_align, run_eflomal]
    wanted = [run for run, place in zip(others, (arguments.fast_align, arguments.eflomal), strict=True) if place]
    found = [stem / "all.links", *(run(arguments, stem, pairs) for run in wanted)]
    if text.measured:
        compare(arguments, stem, [last_lines(path, len(text.measured)) for path in found])


def aligner_command(stem: Path, flags: str) -> list[str]:
    """The command that aligns the whole text."""
    files = ["--source", str(stem / "all.source"), "--target", str(stem / "all.target")]
    written = ["--output", str(stem / f"aligner-{os.getpid()}"), "--links", str(stem / "all.links")]
    return [sys.executable, "-m", "nmt", "aligner", *files, *written, *shlex.split(flags)]


def compare(arguments: argparse.Namespace, stem: Path, found: list[Path]) -> None:
    """Prints the quality of the first links, beside each of the others."""
    compared = [*map(str, found), *([arguments.links] if arguments.links else [])]
    ours = compared[0]
    text = [item for name in ("source", "target", "gold") for item in (f"--{name}", str(stem / f"measured.{name}"))]
    classes = ["--classes", arguments.classes] if arguments.classes else []
    for other in compared[1:] or [""]:
        commands.run(["evaluate", "--links", ours, *([other] if other else []), *text, *classes])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs=2, default=[f"{DEMO}/train.en", f"{DEMO}/train.fr"], metavar="FILE")
    parser.add_argument("--source", default=f"{DEMO}/validation.en", help="measured sentences")
    parser.add_argument("--target", default=f"{DEMO}/validation.fr", help="their translations")
    parser.add_argument("--gold", default=f"{DEMO}/validation.align", help="their gold links")
    parser.add_argument("--numbered", metavar="FILE", help="gold links of some lines, by number, in place of --gold")
    parser.add_argument("--tsv", metavar="FILE", help="pairs to learn from and to measure, with --numbered")
    parser.add_argument("--pairs", type=int, metavar="N", help="learn from N pairs of --tsv, drawn at random")
    parser.add_argument("--generated", type=int, metavar="N", help="N generated pairs, of which nothing is measured")
    parser.add_argument("--classes", default="", metavar="FILE", help="word classes, as of nmt evaluate")
    parser.add_argument("--flags", default="", help="further flags of nmt aligner")
    parser.add_argument("--links", default="", metavar="FILE", help="links of another aligner")
    parser.add_argument("--eflomal", type=Path, metavar="ENV", help="a virtual environment with eflomal")
    parser.add_argument("--fast-align", type=Path, metavar="DIR", help="directory of the program fast_align")
    parser.add_argument("--method", choices=get_args(Symmetrization), default="grow-diag-final-and")
    parser.add_argument("--output", type=Path, default=Path("saved_models/measured-aligner"))
    return parser.parse_args()


class Text(NamedTuple):
    """Sentence pairs."""

    train: list[tuple[str, str]]
    measured: list[tuple[str, str]]
    """They stand behind the training pairs."""
    gold: list[str]
    """The gold links of each measured pair."""

    def write(self, stem: Path) -> None:
        """Writes all pairs, the measured pairs and their links."""
        for number, side in enumerate(("source", "target")):
            for name, pairs in (("all", self.train + self.measured), ("measured", self.measured)):
                write_lines(stem / f"{name}.{side}", [pair[number] for pair in pairs])
        write_lines(stem / "measured.gold", self.gold)


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def chosen_text(arguments: argparse.Namespace) -> Text:
    """The text that the flags name."""
    if arguments.generated:
        return Text(generated(arguments.generated), [], [])
    if arguments.tsv:
        every = [(source, target) for source, target, *_ in (line.split("\t") for line in read_lines(arguments.tsv))]
        train = every
    else:
        every = list(zip(read_lines(arguments.source), read_lines(arguments.target), strict=True))
        train = list(zip(*map(read_lines, arguments.train), strict=True))
    if not arguments.numbered:
        return Text(train, every, list(read_lines(arguments.gold)))
    gold = dict(line.split("\t") for line in read_lines(arguments.numbered))
    rows = {int(number) - 1 for number in gold}
    if arguments.tsv:
        train = [pair for row, pair in enumerate(every) if row not in rows]
        train = random.Random(1).sample(train, arguments.pairs) if arguments.pairs else train
    return Text(train, [every[row] for row in sorted(rows)], [gold[str(row + 1)] for row in sorted(rows)])


def generated(count: int) -> list[tuple[str, str]]:
    """Pairs of 5 to 25 words of 50,000 (Zipf's law); each word has one translation, and neighbours change places."""
    draw = np.random.default_rng(1)
    shares = 1 / np.arange(1, 50_001)
    words = iter(draw.choice(50_000, count * 25, p=shares / shares.sum()).tolist())
    pairs = []
    for length in draw.integers(5, 26, count).tolist():
        chosen = list(islice(words, length))
        moved = [word for first in range(0, length, 2) for word in reversed(chosen[first : first + 2])]
        pairs.append((" ".join(f"s{word}" for word in chosen), " ".join(f"t{word}" for word in moved)))
    return pairs


def measured(command: Sequence[str | Path], output: IO[bytes] | None = None) -> Cost:
    """Runs a command and returns its cost; its standard output goes into a file if there is one.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], stdout=output)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    seconds = time.perf_counter() - started
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10)


def last_lines(every: Path, count: int) -> Path:
    """Writes the last lines of `all.links` into `aligner.links`, and so on; returns the new file."""
    name = {"all": "aligner"}.get(every.stem, every.stem)
    place = every.with_name(f"{name}.links")
    write_lines(place, list(read_lines(str(every)))[-count:])
    return place


def run_eflomal(arguments: argparse.Namespace, stem: Path, pairs: int) -> Path:
    """Aligns with eflomal 2 (Ostling and Tiedemann 2016) and its defaults; returns the file of the links."""
    files = ["-s", stem / "all.source", "-t", stem / "all.target", "-f", stem / "forward", "-r", stem / "backward"]
    binaries = arguments.eflomal / "bin"
    print(measured([binaries / "python", binaries / "eflomal-align", "--overwrite", *files]).line("eflomal", pairs))
    return merged(stem, arguments.method, "eflomal")


def run_fast_align(arguments: argparse.Namespace, stem: Path, pairs: int) -> Path:
    """Aligns with fast_align (Dyer et al. 2013), -d -o -v, in both directions; returns the file of the links."""
    sides = zip(read_lines(str(stem / "all.source")), read_lines(str(stem / "all.target")), strict=True)
    write_lines(stem / "fast_align.text", [f"{source} ||| {target}" for source, target in sides])
    command = [arguments.fast_align / "fast_align", "-i", stem / "fast_align.text", "-d", "-o", "-v"]
    for side, more in (("forward", []), ("backward", ["-r"])):
        with (stem / side).open("wb") as links:
            print(measured([*command, *more], links).line(f"fast_align, {side}", pairs))
    return merged(stem, arguments.method, "fast_align")


def merged(stem: Path, method: Symmetrization, name: str) -> Path:
    """Merges the links of both directions; returns their file."""
    both = [
        [parse_pharaoh(line, side).sure for line in read_lines(str(stem / side))] for side in ("forward", "backward")
    ]
    place = stem / f"{name}.all"
    write_lines(place, [format_pharaoh(symmetrize(*links, method)) for links in zip(*both, strict=True)])
    return place


if __name__ == "__main__":
    sys.exit(run_script(main))
