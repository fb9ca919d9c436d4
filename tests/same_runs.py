"""The comparison of two runs to the bit."""

from __future__ import annotations

import json
from pathlib import Path

DIFFERS = {"tokens_per_second", "seconds", "peak_memory_mib"}
"""Columns of the history that depend on time."""
OF_SESSIONS = {"seconds": 0, "compiling_seconds": 0, "compiling_tokens": 0}
"""Parts of the state that depend on time, and on the number of sessions, each of which compiles."""


def require_same(ours: Path, theirs: Path) -> None:
    """Requires equal weights, averages, optimizers, dropout seeds, positions and histories, to the bit."""
    from nmt.run.arrays import load_arrays
    from nmt.run.directory import Run

    runs = [Run.open(path) for path in (ours, theirs)]
    last = [load_arrays(run.checkpoints()[-1]) for run in runs]
    places = [json.loads(str(arrays.pop("place"))) | OF_SESSIONS for arrays in last]
    assert places[0] == places[1]
    best = [load_arrays(run.best) for run in runs]
    for first, second in (last, best):
        assert first.keys() == second.keys()
        assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []
    rows = [[{k: v for k, v in row.items() if k not in DIFFERS} for row in run.read_history()] for run in runs]
    assert rows[0] == rows[1]
