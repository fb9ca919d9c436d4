"""Quality, speed and memory of `nmt aligner`, beside eflomal on the same text.

    python scripts/benchmarks/measure_aligner.py                              # the demo corpus, its validation pairs
    python scripts/benchmarks/measure_aligner.py --eflomal EFLOMAL_ENV --source data/demo/test.en \\
        --target data/demo/test.fr --gold data/demo/test.align
    python scripts/benchmarks/measure_aligner.py --flags "--fertility-epochs 0"  # other settings of the aligner

Both aligners learn from the training pairs and from the measured pairs without their links, as is usual. Quality is
printed by `nmt evaluate --links`: AER with bootstrap intervals, word classes, and a paired comparison. eflomal is a
process of its own; its links are symmetrised by --method. --links compares with links from a file instead.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple, get_args

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
    pairs = joined(arguments, stem)
    ours = stem / "aligner.links"
    flags = shlex.split(arguments.flags)
    files = ["--source", str(stem / "all.source"), "--target", str(stem / "all.target")]
    directory = str(stem / f"aligner-{os.getpid()}")
    command = [
        sys.executable,
        "-m",
        "nmt",
        "aligner",
        *files,
        "--output",
        directory,
        "--links",
        str(stem / "all.links"),
    ]
    print(measured([*command, *flags]).line("nmt aligner", pairs), flush=True)
    last_lines(stem / "all.links", ours, arguments.source)
    compared = [str(ours)]
    if arguments.eflomal:
        compared.append(str(run_eflomal(arguments, stem, pairs)))
    compared += [arguments.links] if arguments.links else []
    text = ["--source", arguments.source, "--target", arguments.target, "--gold", arguments.gold]
    classes = ["--classes", arguments.classes] if arguments.classes else []
    for other in compared[1:] or [""]:
        commands.run(["evaluate", "--links", str(ours), *([other] if other else []), *text, *classes])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", nargs=2, default=[f"{DEMO}/train.en", f"{DEMO}/train.fr"], metavar="FILE")
    parser.add_argument("--source", default=f"{DEMO}/validation.en", help="measured sentences")
    parser.add_argument("--target", default=f"{DEMO}/validation.fr", help="their translations")
    parser.add_argument("--gold", default=f"{DEMO}/validation.align", help="their gold links")
    parser.add_argument("--classes", default="", metavar="FILE", help="word classes, as of nmt evaluate")
    parser.add_argument("--flags", default="", help="further flags of nmt aligner")
    parser.add_argument("--links", default="", metavar="FILE", help="links of another aligner")
    parser.add_argument("--eflomal", type=Path, metavar="ENV", help="a virtual environment with eflomal")
    parser.add_argument("--method", choices=get_args(Symmetrization), default="grow-diag-final-and")
    parser.add_argument("--output", type=Path, default=Path("saved_models/measured-aligner"))
    return parser.parse_args()


def joined(arguments: argparse.Namespace, stem: Path) -> int:
    """Writes training and measured pairs into one text; returns their number."""
    count = 0
    for side, train, measured_file in zip(
        ("source", "target"), arguments.train, (arguments.source, arguments.target), strict=True
    ):
        lines = list(chain(read_lines(train), read_lines(measured_file)))
        (stem / f"all.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        count = len(lines)
    return count


def measured(command: Sequence[str | Path]) -> Cost:
    """Runs a command and returns its cost.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    started = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    seconds = time.perf_counter() - started
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss >> 10)


def last_lines(every: Path, place: Path, like: str) -> None:
    """Writes the last lines of a file, as many as another file has."""
    count = sum(1 for _ in read_lines(like))
    lines = list(read_lines(str(every)))[-count:]
    place.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run_eflomal(arguments: argparse.Namespace, stem: Path, pairs: int) -> Path:
    """Aligns with eflomal 2 (Ostling and Tiedemann 2016) and its defaults; returns the file of the measured links."""
    files = ["-s", stem / "all.source", "-t", stem / "all.target", "-f", stem / "forward", "-r", stem / "backward"]
    binaries = arguments.eflomal / "bin"
    print(measured([binaries / "python", binaries / "eflomal-align", "--overwrite", *files]).line("eflomal", pairs))
    both = [
        [parse_pharaoh(line, side).sure for line in read_lines(str(stem / side))] for side in ("forward", "backward")
    ]
    merged = (format_pharaoh(symmetrize(*links, arguments.method)) for links in zip(*both, strict=True))
    (stem / "eflomal.all").write_text("".join(f"{line}\n" for line in merged), encoding="utf-8")
    last_lines(stem / "eflomal.all", stem / "eflomal.links", arguments.source)
    return stem / "eflomal.links"


if __name__ == "__main__":
    sys.exit(run_script(main))
