"""Tries faults until the time is over, and prints a table of the points that were tried, survived and failed.

    python scripts/faults.py                        every campaign, 2 hours at most
    python scripts/faults.py --minutes 10 --seed 7
    python scripts/faults.py train-errors kills --points 20
    python scripts/faults.py train-errors --seed 7 --point "change 31 ENOSPC"    repeats one fault
    python scripts/faults.py --json counts.jsonl
    unshare -rn bash -c 'ip link set lo up; exec python scripts/faults.py worker-losses'     30 losses of a worker

Faults: kills and power losses between any two changes of the disk, errors of the disk at any change, refused opens for
reading, kills at random moments, damaged files, replaced models of a server, mixed commands, inputs made by a fuzzer.
Each campaign has a share of the time, and leaves the time that it does not need to the campaigns behind it. Exit code
1: something was found. The line of a failure ends with the command that repeats it. The fuzzer needs the extra `fuzz`.
"""

from __future__ import annotations

import argparse
import importlib.util
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), *(str(REPOSITORY / "tests" / name) for name in ("faults", ""))]

import command_faults  # noqa: E402
import file_damage  # noqa: E402
import kills  # noqa: E402
import mixed_commands  # noqa: E402
import reloads  # noqa: E402
import worker_losses  # noqa: E402
import writer_faults  # noqa: E402
from campaigns import Campaign, Outcome, Workshop, conduct  # noqa: E402

from result_rows import HELP, Row, read_rows, write_rows  # noqa: E402

CAMPAIGNS = [
    campaign
    for module in (writer_faults, file_damage, reloads, command_faults, kills, mixed_commands)
    for campaign in module.CAMPAIGNS
]
NAMED = [*worker_losses.CAMPAIGNS]
"""Campaigns that run only if they are named, because they need a network of their own."""
FUZZING = "fuzzing"
"""The campaign of `scripts/fuzz.py`."""
FUZZING_SHARE = 0.2
"""Of the time."""
STARTING = 5
"""Seconds in which the fuzzer of a target starts."""


def main() -> int:
    arguments = _arguments()
    names = [campaign.name for campaign in (*CAMPAIGNS, *NAMED)] + [FUZZING]
    if arguments.list:
        print(*names, sep="\n")
        return 0
    if unknown := [name for name in arguments.campaigns if name not in names]:
        print(f"faults.py: error: no campaign {unknown[0]}: expected some of {', '.join(names)}", file=sys.stderr)
        return 2
    named = [one for one in (*CAMPAIGNS, *NAMED) if one.name in arguments.campaigns]
    chosen = named if arguments.campaigns else CAMPAIGNS
    fuzzes = FUZZING in arguments.campaigns or not (arguments.campaigns or arguments.point)
    if fuzzes and not importlib.util.find_spec("atheris"):
        print("faults.py: error: fuzzing needs atheris: run .venv/bin/pip install -e '.[fuzz]'", file=sys.stderr)
        return 2
    end = time.monotonic() + 60 * arguments.minutes
    fuzzing = 60 * arguments.minutes * (FUZZING_SHARE if chosen else 1) if fuzzes else 0
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        workshop = Workshop(Path(place))
        try:
            outcomes = list(_conduct_all(chosen, workshop, end - fuzzing, arguments))
        finally:
            workshop.close()
    if arguments.point and not any(outcome.tried for outcome in outcomes):
        print(
            f"faults.py: error: no point '{arguments.point}' in {', '.join(one.name for one in chosen)}",
            file=sys.stderr,
        )
        return 2
    fuzzed = _fuzz(fuzzing, arguments.seed) if fuzzes else []
    rows = [_row(outcome) for outcome in outcomes] + fuzzed
    _print_table(rows)
    for outcome in outcomes:
        for point, why in outcome.found.items():
            print(f"\n{outcome.campaign.name}: {why}: {_command(outcome.campaign.name, arguments.seed, point)}")
    write_rows(arguments.json, rows)
    return int(any(row.found for row in rows))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("campaigns", nargs="*", help="names of campaigns (default: all)")
    parser.add_argument("--list", action="store_true", help="print the names of the campaigns")
    parser.add_argument("--minutes", type=float, default=120, help="for all together (default: %(default)g)")
    parser.add_argument("--points", type=int, help="most points of each campaign (default: the campaign's own number)")
    parser.add_argument("--seed", type=int, default=1, help="of all draws (default: %(default)s)")
    parser.add_argument("--point", default="", help="name of the only point to try")
    parser.add_argument("--json", metavar="FILE", help=HELP)
    return parser.parse_args()


def _conduct_all(chosen: Sequence[Campaign], workshop: Workshop, end: float, arguments: argparse.Namespace):
    """The outcome of each campaign; the time that one leaves is the others'."""
    for place, campaign in enumerate(chosen):
        share = campaign.weight / sum(one.weight for one in chosen[place:])
        seconds = (end - time.monotonic()) * share
        outcome = conduct(campaign, workshop, arguments.seed, seconds, arguments.points, arguments.point)
        counts = f"{outcome.tried} of {outcome.planned} points, {len(outcome.found)} found"
        print(f"{campaign.name}: {counts}, {outcome.seconds:.0f} seconds", flush=True)
        yield outcome


def _fuzz(seconds: float, seed: int) -> list[Row]:
    """Fuzzes every target for its share of the time."""
    script = REPOSITORY / "scripts" / "fuzz.py"
    listed = subprocess.run([sys.executable, script, "--list"], capture_output=True, text=True, check=True)
    each = max(1, round(seconds / len(listed.stdout.split()) - STARTING))
    with tempfile.TemporaryDirectory(prefix="faults-") as place:
        rows, start = Path(place) / "rows", time.monotonic()
        command = [sys.executable, script, "all", "--seconds", str(each), "--seed", str(seed), "--json", rows]
        ended = subprocess.run(command)
        if ended.returncode and not any(row.found for row in read_rows(rows)):
            return [Row(FUZZING, "inputs of a fuzzer: it failed itself", None, 1, 1, time.monotonic() - start)]
        return read_rows(rows)


def _row(outcome: Outcome) -> Row:
    campaign, found = outcome.campaign, len(outcome.found)
    return Row(campaign.name, campaign.about, outcome.planned, outcome.tried, found, outcome.seconds)


def _command(campaign: str, seed: int, point: str) -> str:
    """The command that repeats a point."""
    return shlex.join(["python", "scripts/faults.py", campaign, "--seed", str(seed), "--point", point])


def _print_table(rows: Sequence[Row]) -> None:
    """A line for each kind of fault."""
    print(f"\n{'fault':<62}{'planned':>9}{'tried':>9}{'survived':>9}{'found':>7}{'seconds':>9}")
    for row in rows:
        planned = "" if row.planned is None else row.planned
        counts = f"{planned:>9}{row.tried:>9}{row.tried - row.found:>9}{row.found:>7}{row.seconds:>9.0f}"
        print(f"{row.fault:<62}{counts}")


if __name__ == "__main__":
    sys.exit(main())
