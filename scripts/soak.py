"""Runs mixed commands with random faults for an hour, and compares all files with commands that nothing disturbs.

    python scripts/soak.py --minutes 60 --seed 1

Each command is killed or met by errors of the disk up to three times, and repeated. It is the campaign mixed-commands
of scripts/faults.py alone. Exit code 1: something differed; the message has the command and its faults, and ends with
the command that repeats the round.
"""

from __future__ import annotations

import argparse
import sys

import faults

CAMPAIGN = "mixed-commands"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="no round begins later (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="of all rounds (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help=faults.HELP)
    arguments = parser.parse_args()
    words = [CAMPAIGN, "--minutes", str(arguments.minutes), "--seed", str(arguments.seed)]
    sys.argv = ["faults.py", *words, *(["--json", arguments.json] if arguments.json else [])]
    return faults.main()


if __name__ == "__main__":
    sys.exit(main())
