"""How a script ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from nmt.errors import NmtError


def run(main: Callable[[], None]) -> None:
    """Runs a script's `main`; what the user can mend is told in one line, with exit code 2."""
    try:
        main()
    except (NmtError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: error: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
