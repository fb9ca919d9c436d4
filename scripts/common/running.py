"""How a script ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from nmt.errors import NmtError


def ended(main: Callable[[], int | None], interrupted: str = "interrupted") -> int:
    """Runs a script's `main` and gives its exit code. What the user can mend is told in one line, with exit code 2, and
    an interruption with 130."""
    name = Path(sys.argv[0]).name
    try:
        return main() or 0
    except (NmtError, OSError) as error:
        print(f"{name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{name}: {interrupted}", file=sys.stderr)
        return 130
