"""All fuzz targets by name. `scripts/fuzz.py` makes inputs for them; `test_found_cases.py` repeats the found ones."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
FOUND = HERE / "found"
"""A folder for each target, with a file for each input that once failed."""

for folder in (HERE, HERE.parent, HERE.parent / "serving"):  # for programs other than pytest
    if str(folder) not in sys.path:
        sys.path.append(str(folder))

import command_targets  # noqa: E402
import corpus_targets  # noqa: E402
import run_targets  # noqa: E402
import server_targets  # noqa: E402
import settings_targets  # noqa: E402
import text_targets  # noqa: E402
from oracle import Target  # noqa: E402

TARGETS: dict[str, Target] = {
    name: target
    for module in (text_targets, settings_targets, run_targets, corpus_targets, server_targets, command_targets)
    for name, target in module.TARGETS.items()
}


def found_cases(target: str) -> list[Path]:
    """The inputs that once failed."""
    return sorted((FOUND / target).glob("*"))
