"""Measures one job in this process and prints the result as JSON; `benchmark.py` starts it.

    python measure.py JOB

JOB is JSON with one of three fields: `machine` measures the ceilings of the machine, `point` a point of the cost model,
`case` a case of training. The nmt on the path may be another checkout, so this program imports no other part of it than
`layouts` finds.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.pop(0)  # this folder: its profile.py would hide Python's own
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.benchmarking import cost_model, machine
from benchmarks.benchmarking.cases import Case


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """The result of one job."""
    if "machine" in job:
        return machine.ceilings(job["machine"])
    if "point" in job:
        return cost_model.measure(cost_model.Point(*job["point"]), *job["case"])
    from benchmarks.benchmarking import training

    return training.measure(Case(**job["case"]), Path(job["corpus"]), tuple(job["updates"]), job["split"])


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
