"""Sentences of several clients, computed together.

A model has two lanes. The quick lane computes short sentences whose program has run before, with a thread for each
share of the processors. The patient lane computes long sentences, and the first sentence of a program, which compiles
for seconds. So short sentences wait only for short sentences.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from nmt.serving.limits import RefusedError, over_limit
from nmt.translation.inference.side_by_side import one_batch_at_once

RETURN_SECONDS = 0.008
"""Seconds after an answer in which the lane expects the next sentence of the same client."""
TOGETHER = 64
"""Most sentences that are computed together."""
SHORT = 300
"""Characters of the longest short sentence."""
CHARACTERS = TOGETHER * SHORT
"""Most characters that are computed together, unless one job has more: a computation cannot be stopped."""
PROGRAMS = 24
"""Keys whose programs count as compiled, the most recently used ones: the model keeps a few more programs."""
RETRY_SECONDS = 2
"""Seconds after which a client that found the queue full may try again."""

Compute = Callable[[Hashable, list[Any]], list[Any]]
"""Computes the values of jobs with one key, in order."""


@dataclass(eq=False)
class Job:
    """A sentence to compute."""

    key: Hashable
    """Jobs with equal keys are computed together: they share a program."""
    value: Any
    length: int
    """Its characters."""
    patient: bool = False
    """Whether it belongs to the patient lane even if it is short."""
    future: Future[Any] = field(default_factory=Future)


class Lane:
    """Threads that compute waiting jobs, the oldest one first, together with jobs of similar length.

    A thread takes its share of the jobs of all clients. If clients have just been answered, it waits a few milliseconds
    until their next jobs fill its share, because a few large batches take less time than many small ones. The job of a
    client who asks alone never waits.

    Args:
        compute: see `Compute`.
        name: of the threads.
        threads: their number. Several threads compute one batch each; a single one uses all processors for its batch.
    """

    def __init__(self, compute: Compute, name: str, threads: int = 1) -> None:
        self._compute, self._threads = compute, threads
        self._waiting: list[Job] = []
        self._running = self._returning = 0
        self._until = 0.0  # the clients of `_returning` jobs are expected until then
        self._timed = 0  # threads that look again by themselves
        self._changed = threading.Condition()
        self._closed = False
        for _ in range(threads):
            threading.Thread(target=self._run, name=name, daemon=True).start()

    def add(self, jobs: Sequence[Job]) -> None:
        """Queues jobs. A thread wakes only if it has something to do: each one that wakes holds up the others."""
        if not jobs:
            return
        for job in jobs:
            job.future.add_done_callback(self._end)
        with self._changed:
            self._returning = max(0, self._returning - len(jobs))
            self._waiting.extend(jobs)
            if not self._timed or self._seconds_to_wait() <= 0:
                self._changed.notify()

    def close(self) -> None:
        """Ends the threads after the jobs that wait."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        with one_batch_at_once() if self._threads > 1 else nullcontext():
            while self._compute_next():
                pass

    def _compute_next(self) -> bool:
        """Computes the next jobs and forgets them; False if the lane is closed and empty."""
        jobs = self._next_jobs()
        if jobs:
            compute_jobs(self._compute, jobs)
        return jobs is not None

    def _next_jobs(self) -> list[Job] | None:
        """The jobs to compute next; None if the lane is closed and empty."""
        with self._changed:
            while True:
                self._waiting = [job for job in self._waiting if not job.future.cancelled()]
                seconds = self._seconds_to_wait()
                if self._waiting and seconds <= 0:
                    return self._take(self._share())
                if self._closed:
                    return None
                if self._waiting:
                    self._timed += 1
                    self._changed.wait(seconds)
                    self._timed -= 1
                else:
                    self._changed.wait()

    def _seconds_to_wait(self) -> float:
        """Seconds in which other clients may add their jobs to those that wait; 0 if a thread may begin."""
        left = self._until - time.monotonic()
        if left <= 0 or not self._returning or self._closed or len(self._waiting) >= self._share():
            return 0.0
        return left

    def _share(self) -> int:
        """The jobs of a thread, if all threads compute as many; no more than it computes together."""
        returning = self._returning if time.monotonic() < self._until else 0
        return min(TOGETHER, -(-(len(self._waiting) + self._running + returning) // self._threads))

    def _take(self, most: int) -> list[Job]:
        """Begins the next jobs, and wakes a thread for the others."""
        taken = jobs_together(self._waiting, most)
        chosen = set(map(id, taken))
        self._waiting = [job for job in self._waiting if id(job) not in chosen]
        begun = [job for job in taken if job.future.set_running_or_notify_cancel()]
        self._running += len(begun)
        if self._waiting:
            self._changed.notify()
        return begun

    def _end(self, future: Future[Any]) -> None:
        """Counts a job that has ended, before its client learns of it."""
        if not future.cancelled():
            with self._changed:
                self._running -= 1
                self._returning = 1 + (self._returning if time.monotonic() < self._until else 0)
                self._until = time.monotonic() + RETURN_SECONDS


def jobs_together(waiting: Sequence[Job], most: int = TOGETHER) -> list[Job]:
    """The oldest job, and the jobs that share its program and are closest to its length, the shortest first.

    All have at most `CHARACTERS`, so that jobs that nobody waits for any more end soon.
    """
    oldest = waiting[0]
    mates = sorted((job for job in waiting if job.key == oldest.key), key=lambda job: abs(job.length - oldest.length))
    sums = accumulate(job.length for job in mates[:most])
    most = max(sum(characters <= CHARACTERS for characters in sums), 1)
    return sorted(mates[:most], key=lambda job: job.length)


def compute_jobs(compute: Compute, jobs: Sequence[Job]) -> None:
    """Computes jobs and gives each its value. If one fails, each is computed alone, and only that one fails."""
    try:
        values = compute(jobs[0].key, [job.value for job in jobs])
    except Exception as error:
        if len(jobs) == 1:
            jobs[0].future.set_exception(error)
        else:
            for job in jobs:
                compute_jobs(compute, [job])
    else:
        for job, value in zip(jobs, values, strict=True):
            job.future.set_result(value)


class Programs:
    """Computes jobs, and remembers the keys whose programs are compiled.

    One sentence and several sentences have different programs, so the first jobs of a key are computed as both.
    """

    def __init__(self, compute: Compute) -> None:
        self._compute = compute
        self._keys: dict[Hashable, None] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, values: list[Any]) -> list[Any]:
        found = self._compute(key, values)
        if key not in self:
            self._compute(key, values[:1] if len(values) > 1 else values * 2)
        with self._lock:
            self._keys.pop(key, None)
            self._keys[key] = None
            if len(self._keys) > PROGRAMS:
                del self._keys[next(iter(self._keys))]
        return found

    def __contains__(self, key: Hashable) -> bool:
        return key in self._keys


class Scheduler:
    """Shares a model between clients. Its threads end when nothing refers to it any more.

    Args:
        compute: see `Compute`; both lanes may call it at once.
        most: jobs that may be unfinished.
        shares: batches that the processors compute side by side.
    """

    def __init__(self, compute: Compute, most: int, shares: int = 1) -> None:
        self._most, self._unfinished, self._lock = most, 0, threading.Lock()
        self._programs = Programs(compute)
        self._quick = Lane(self._programs, "quick lane", shares)
        self._patient = Lane(self._programs, "patient lane")
        weakref.finalize(self, _close, self._quick, self._patient)

    @property
    def unfinished(self) -> int:
        """Jobs that wait or are being computed."""
        return self._unfinished

    def submit(self, jobs: Sequence[Job]) -> None:
        """Queues jobs; each has its result in its future. Cancelling the future frees the place.

        Raises:
            RefusedError: the queue has too few places, now or ever.
        """
        if len(jobs) > self._most:
            raise over_limit(
                413, f"the request has {len(jobs):,} texts, more than the queue holds", "queue", self._most
            )
        with self._lock:
            if self._unfinished + len(jobs) > self._most:
                message = f"{self._unfinished:,} sentences wait: the limit is {self._most:,}; try again later"
                raise RefusedError(429, message, "queue", self._most, RETRY_SECONDS)
            self._unfinished += len(jobs)
        for job in jobs:
            job.future.add_done_callback(self._finish)
        quick = [job for job in jobs if not job.patient and job.length <= SHORT and job.key in self._programs]
        chosen = set(map(id, quick))
        self._quick.add(quick)
        self._patient.add([job for job in jobs if id(job) not in chosen])

    def _finish(self, _: Future[Any]) -> None:
        with self._lock:
            self._unfinished -= 1


def _close(*lanes: Lane) -> None:
    for lane in lanes:
        lane.close()
