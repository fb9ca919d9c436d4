"""The end of a script: its exit code, and one line for an error that the user can fix."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from nmt.errors import NmtError


def run_script(main: Callable[[], int | None], interrupted: str = "interrupted") -> int:
    """Runs a script's `main` and returns its exit code.

    An error that the user can fix becomes one line on standard error and exit code 2. An interruption becomes the line
    `interrupted` and exit code 130.
    """
    name = Path(sys.argv[0]).name
    try:
        return main() or 0
    except (NmtError, OSError) as error:
        print(f"{name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: {interrupted}", file=sys.stderr)
        return 130
