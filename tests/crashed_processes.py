"""What follows when a process of the tests dies, such as by a segmentation fault within TensorFlow.

pytest-xdist 3.8 waits forever afterwards: it hands out the finished files of the dead process once more, as work
without tests (pytest-dev/pytest-xdist#1378), and a new process with one test waits for a second one (#1327).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling


class FileScheduling(LoadFileScheduling):
    """`--dist loadfile`, whose other tests go on in a new process after a crash.

    The test that ran is repeated once: a rare crash of a library is no fault of the test. A second crash is a failure.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.crashes: Counter[str] = Counter()

    def remove_node(self, node: Any) -> str | None:
        """Queues the unfinished files of a dead process again, and returns the test that ran, if there is one."""
        files = self.assigned_work.pop(node)
        unfinished = {name: tests for name, tests in files.items() if not all(tests.values())}
        running = next((test for tests in unfinished.values() for test, done in tests.items() if not done), None)
        if running is None:
            return None
        self.crashes[running] += 1
        unfinished[self._split_scope(running)][running] = self.crashes[running] > 1
        self.workqueue.update((name, tests) for name, tests in unfinished.items() if not all(tests.values()))
        self._reschedule_all()
        return running

    def schedule(self) -> None:
        super().schedule()
        self._reschedule_all()  # a process begins its last test when it is told that it is the last one

    def _reschedule_all(self) -> None:
        for node in self.nodes:
            self._reschedule(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> FileScheduling | None:
    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: Any, sched: Any) -> None:
    if isinstance(sched, FileScheduling) and sched.crashes[crashitem] == 1:
        report.outcome = "repeated"


def pytest_report_teststatus(report: Any) -> tuple[str, str, str] | None:
    return ("repeated after a crash", "R", "REPEATED") if report.outcome == "repeated" else None
