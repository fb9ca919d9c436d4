"""Campaigns of faults: each draws points from a seed and tries them one after the other until its time is over.

The slow tests try a few points of each campaign, `scripts/faults.py` as many as its minutes allow.
"""

from __future__ import annotations

import os
import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import disk
from forking import Forks

T = TypeVar("T")

UNDISTURBED = "undisturbed"
"""Name of the point of a campaign that fails before its first fault."""


class Missed(Exception):
    """The fault of a point did not happen, as a kill after the end of a program: the point does not count."""


class Point(NamedTuple):
    """A fault to try.

    Attributes:
        name: repeats the point in a campaign of equal seed.
        check: tries it in an empty directory; raises `Missed`, or anything else for a failure.
    """

    name: str
    check: Callable[[Path], None]


@dataclass
class Workshop:
    """Shared by campaigns: a place on the disk, the library of faults, processes that have imported TensorFlow."""

    place: Path
    shared: dict[str, Any] = field(default_factory=dict)
    """Results that several campaigns need, by name."""
    _forks: dict[str, Forks] = field(default_factory=dict)

    @cached_property
    def library(self) -> Path:
        """The library of `disk.build`."""
        built = disk.build(self.folder("library"))
        if built is None:
            raise SystemExit("there is no C compiler: install gcc or clang")
        return built

    def folder(self, name: str) -> Path:
        """An empty directory; an old one of this name is deleted."""
        shutil.rmtree(self.place / name, ignore_errors=True)
        (self.place / name).mkdir(parents=True)
        return self.place / name

    def forks(self, backend: str = "tensorflow") -> Forks:
        """The process that runs commands on this backend of Keras."""
        if backend not in self._forks:
            self._forks[backend] = Forks(self.library, self.folder(f"streams-{backend}"), backend)
        return self._forks[backend]

    def close(self) -> None:
        """Ends the processes."""
        for forks in self._forks.values():
            forks.close()


@dataclass(frozen=True)
class Campaign:
    """A kind of faults.

    Attributes:
        name: on the command line.
        about: in the table.
        points: draws points without end, or all points once.
        most: points that are enough.
        weight: share of the time, in comparison with the other campaigns.
    """

    name: str
    about: str
    points: Callable[[Workshop, random.Random], Iterator[Point]]
    most: int
    weight: float = 1


@dataclass
class Outcome:
    """What a campaign found.

    Attributes:
        planned: points that the campaign has, up to its limit.
        tried: points.
        found: the name of each point that failed, and why.
        seconds: time of the whole campaign.
    """

    campaign: Campaign
    planned: int = 0
    tried: int = 0
    found: dict[str, str] = field(default_factory=dict)
    seconds: float = 0


def conduct(
    campaign: Campaign,
    workshop: Workshop,
    seed: int,
    seconds: float = float("inf"),
    most: int | None = None,
    only: str = "",
    say: Callable[[str], None] = print,
) -> Outcome:
    """Tries points of a campaign.

    Args:
        seconds: no point begins later.
        most: points; None: the campaign's own number.
        only: the name of the only point to try; empty: all.
        say: takes a line about each failure.
    """
    outcome, start = Outcome(campaign), time.monotonic()
    for point in _planned(outcome, workshop, seed, campaign.most if most is None else most, only, say):
        if outcome.tried >= outcome.planned or time.monotonic() > start + seconds:
            break
        outcome.tried += 1
        place = workshop.folder(f"point-{os.getpid()}")
        try:
            point.check(place)
        except Missed:
            outcome.tried -= 1 if not only else 0
        except Exception as error:
            _note(outcome, point.name, error, seed, say)
        shutil.rmtree(place, ignore_errors=True)
    outcome.seconds = time.monotonic() - start
    return outcome


def alternating(points: Iterable[T], kind: Callable[[T], str], first: int = 0) -> list[T]:
    """Points in an order in which their kinds alternate, so that a few points have many kinds.

    Args:
        kind: of a point.
        first: number of the kind of the first point, in alphabetical order. Campaigns that begin with different
            kinds try all of them together with one point each.
    """
    by_kind: dict[str, list[T]] = {}
    for point in points:
        by_kind.setdefault(kind(point), []).append(point)
    kinds = sorted(by_kind)
    begin = first % len(kinds) if kinds else 0
    rounds = zip_longest(*(by_kind[name] for name in kinds[begin:] + kinds[:begin]))
    return [point for one_of_each in rounds for point in one_of_each if point is not None]


def _planned(
    outcome: Outcome, workshop: Workshop, seed: int, most: int, only: str, say: Callable[[str], None]
) -> Iterator[Point]:
    """The points to try, and behind them points in place of those that miss. If the undisturbed commands fail that
    they begin with, this is the only point."""
    campaign = outcome.campaign
    try:
        drawn = iter(campaign.points(workshop, random.Random(f"{campaign.name} {seed}")))
        points = list(islice((point for point in drawn if only in ("", point.name)), 1 if only else most))
    except Exception as error:
        _note(outcome, UNDISTURBED, error, seed, say)
        outcome.planned = outcome.tried = 1
        return iter(())
    outcome.planned = len(points)
    return chain(points, drawn)


def _note(outcome: Outcome, name: str, error: Exception, seed: int, say: Callable[[str], None]) -> None:
    """Keeps a failure, and reports it with its traceback. Called while the error is handled."""
    outcome.found[name] = f"{type(error).__name__}: {error}"[:2000]
    say(f"FOUND {outcome.campaign.name}, point '{name}', seed {seed}: {traceback.format_exc()[-3000:]}")
