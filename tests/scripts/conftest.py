"""Puts the packages of scripts/ on the path, as each script does, and the campaigns that faults.py conducts."""

import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]

sys.path[:0] = [str(TESTS.parent / "scripts"), str(TESTS / "faults")]
