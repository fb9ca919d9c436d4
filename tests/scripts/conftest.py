"""Puts the packages of scripts/ on the path, as each script does."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
