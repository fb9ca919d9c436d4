"""Runs mixed commands with random faults for an hour, and compares all files with commands that nothing disturbs.

    python scripts/soak.py --minutes 60 --seed 1

Each command is killed or met by errors of the disk up to three times, and repeated. Exit code 1: something differed;
the message has the seed, the command and its faults.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY), *(str(REPOSITORY / "tests" / name) for name in ("faults", ""))]

from campaigns import Workshop  # noqa: E402

from soak import Soak  # noqa: E402  the module of tests/faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="no round begins later (default: %(default)g)")
    parser.add_argument("--seed", type=int, default=1, help="of the first round (default: %(default)s)")
    arguments = parser.parse_args()
    end, seed = time.monotonic() + 60 * arguments.minutes, arguments.seed
    failures, counts = 0, {}
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        workshop = Workshop(Path(place))
        try:
            while time.monotonic() < end:
                soak = Soak(workshop, seed)
                try:
                    soak.round()
                except Exception:
                    failures += 1
                    print(f"FOUND in the round of --seed {seed}:\n{traceback.format_exc()}", flush=True)
                counts = {name: counts.get(name, 0) + soak.counts[name] for name in {*counts, *soak.counts}}
                print(f"round {seed}: {counts}, {failures} failures", flush=True)
                seed += 1
        finally:
            workshop.close()
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
