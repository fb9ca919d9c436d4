"""The seeds of every fuzz target, and each input that `scripts/fuzz.py` once found, are parsed or refused."""

from __future__ import annotations

import pytest
from targets import FOUND, TARGETS, found_cases


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_found_cases(name, tmp_path):
    target = TARGETS[name]
    for content in (b"", *target.seeds(), *(path.read_bytes() for path in found_cases(name))):
        target.check(content, tmp_path)


def test_found_cases_belong_to_targets():
    assert {path.name for path in FOUND.iterdir()} <= TARGETS.keys()
