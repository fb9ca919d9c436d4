"""Mixed commands in one directory that lives on, each met by several random faults before it may end.

The oracle is a second directory in which nothing disturbs the commands: after each command both directories hold equal
files.
"""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count, product
from pathlib import Path

import disk
from campaigns import Campaign, Point, Workshop
from command_faults import COMMANDS, ERRORS, MIXED, base, read_files, run
from forking import Ended
from same_runs import require_same

MOST_FAULTS = 3
"""Faults of one command."""
LONGEST = 2.0
"""Seconds after which a kill comes at the latest."""
RUNS = {COMMANDS[name].makes for name in MIXED} - {""}
"""Runs that commands make, whose weights are compared in place of their files."""


class Soak:
    """Rounds of commands.

    Args:
        workshop: runs the commands.
        seed: of all draws.
    """

    def __init__(self, workshop: Workshop, seed: int) -> None:
        self._workshop, self._draw = workshop, random.Random(seed)
        self._places = [workshop.place / name for name in ("faulted", "undisturbed")]
        self.counts: Counter[str] = Counter()
        """Commands and faults so far, and faults that a command did not live to see."""

    def round(self, names: Sequence[str] = MIXED) -> None:
        """Commands, each once, in random order, in two new copies of the base directory.

        Args:
            names: of the commands.

        Raises:
            AssertionError: a command left something wrong.
        """
        before = disk.snapshot(base(self._workshop))
        for place in self._places:
            shutil.rmtree(place, ignore_errors=True)
            disk.restore(before, place)
        order = list(names)
        self._draw.shuffle(order)
        for name in order:
            self._command(name)

    def _command(self, name: str) -> None:
        words, (faulted, undisturbed) = COMMANDS[name].words, self._places
        story = [name]
        for place, left_out in product(self._places, COMMANDS[name].without):
            shutil.rmtree(place / left_out, ignore_errors=True)
        record = self._workshop.folder("record") / "record"
        require_done(run(self._workshop, words, undisturbed, root=undisturbed, record=record), story)
        changes = len(disk.read_changes(record))
        for _ in range(self._draw.randint(0, MOST_FAULTS)):
            story.append(self._fault(words, faulted, changes))
        ended = run(self._workshop, words, faulted)
        refuses = COMMANDS[name].refuses
        if not (ended.returncode == 2 and refuses and refuses in ended.stderr):
            require_done(ended, story)
        self._compare(name, story)
        self.counts["commands"] += 1

    def _fault(self, words: str, place: Path, changes: int) -> str:
        """Runs a command, which makes so many changes of the disk, into a fault; returns the fault in words."""
        if self._draw.random() < 0.3:
            seconds = round(self._draw.uniform(0.05, LONGEST), 3)
            ended, fault = run(self._workshop, words, place, kill_after=seconds), f"killed after {seconds} seconds"
        else:
            at, kind = self._draw.randint(1, changes), self._draw.choice(list(ERRORS))
            ended = run(self._workshop, words, place, root=place, at=at, fault=ERRORS[kind])
            fault = f"{kind} at change {at}"
        assert ended.returncode in (0, 2, -9), (fault, ended)
        assert "Traceback" not in ended.stderr, (fault, ended.stderr)
        self.counts["faults" if ended.returncode else "faults without effect"] += 1
        return fault

    def _compare(self, name: str, story: list[str]) -> None:
        faulted, undisturbed = self._places
        if made := COMMANDS[name].makes:
            require_same(faulted / made, undisturbed / made)
        found, expected = (
            {path: content for path, content in read_files(place).items() if path.split("/")[0] not in RUNS}
            for place in self._places
        )
        assert found.keys() == expected.keys(), (story, sorted(found.keys() ^ expected.keys()))
        different = [path for path in expected if found[path] != expected[path]]
        assert not different, (story, different)


def rounds(workshop: Workshop, draw: random.Random) -> Iterator[Point]:
    """Rounds without end, each with draws of its own."""

    def check(seed: int, place: Path) -> None:
        soak = Soak(workshop, seed)
        try:
            soak.round()
        finally:
            print(f"mixed commands: {dict(soak.counts)}", flush=True)

    for number in count(1):
        yield Point(f"round {number}", partial(check, draw.randrange(2**31)))


CAMPAIGNS = [Campaign("mixed-commands", "mixed commands, several faults each", rounds, 1000, 8)]


def require_done(ended: Ended, story: list[str]) -> None:
    """Requires that a command has ended well."""
    assert ended.returncode == 0 and "Traceback" not in ended.stderr, json.dumps([story, ended.stderr])
