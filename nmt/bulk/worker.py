"""A worker process of Beam's local runner: `python -m nmt.bulk.worker LEASE`. It ends when the lease is free."""

from __future__ import annotations

import fcntl
import logging
import os
import sys
import threading


def main() -> None:
    """Serves the runner that the environment names, as Beam's own worker does."""
    lease = sys.argv.pop(1)
    threading.Thread(target=_end_with, args=[lease], name="lease", daemon=True).start()
    logging.disable(logging.CRITICAL)  # errors are raised in the command, with their frames
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  Beam prints these frames too
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def _end_with(lease: str) -> None:
    """Ends the process when the command that holds the lease has let it go, or has been killed."""
    with open(lease) as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        os._exit(0)


if __name__ == "__main__":
    main()
