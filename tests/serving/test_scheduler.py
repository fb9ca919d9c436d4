"""Sentences of several clients share batches; long ones and new programs hold up nobody."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import Future

import pytest

from nmt.errors import NmtError
from nmt.serving import scheduler as scheduling
from nmt.serving.limits import RefusedError
from nmt.serving.scheduler import CHARACTERS, SHORT, TOGETHER, Job, Scheduler, jobs_together

LONG = SHORT + 1
PATIENCE = 60
"""Seconds after which a test has failed; nothing depends on it otherwise."""


class Machine:
    """Computes capitals, records what it computes together, and stops at a gate."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate, self.entered = threading.Event(), threading.Semaphore(0)
        self.gate.set()

    def close_gate(self) -> None:
        """Holds all that is computed from now on."""
        self.gate.clear()
        self.batches.clear()
        self.entered = threading.Semaphore(0)

    def __call__(self, key, values):
        self.batches.append(values)
        self.entered.release()
        if key != "free":
            assert self.gate.wait(PATIENCE)
        if "bad" in values:
            raise NmtError("bad text")
        if "bug" in values:
            raise ValueError("a bug")
        return [value.upper() for value in values]


@pytest.fixture
def machine():
    return Machine()


def warm(scheduler, *keys):
    """Lets the programs of some keys count as compiled."""
    for key in keys:
        submit(scheduler, key, "warm")[0].result(PATIENCE)


def submit(scheduler, key, *values, length=1) -> list[Future[str]]:
    jobs = [Job(key, value, length) for value in values]
    scheduler.submit(jobs)
    return [job.future for job in jobs]


def test_sentences_of_several_clients_are_computed_together(machine):
    scheduler = Scheduler(machine, 100)
    warm(scheduler, "one", "two")
    machine.close_gate()
    first = submit(scheduler, "one", "a")
    assert machine.entered.acquire(timeout=PATIENCE)
    rest = [*submit(scheduler, "one", "b"), *submit(scheduler, "two", "c"), *submit(scheduler, "one", "d")]
    machine.gate.set()
    assert [future.result(PATIENCE) for future in first + rest] == ["A", "B", "C", "D"]
    assert ["b", "d"] in machine.batches and ["c"] in machine.batches


def test_a_short_sentence_does_not_wait_for_long_ones_or_for_a_program_that_compiles(machine):
    scheduler = Scheduler(machine, 100)
    warm(scheduler, "held", "free")
    machine.close_gate()
    long = submit(scheduler, "held", "long", length=LONG)
    new = submit(scheduler, "new program", "a")
    assert submit(scheduler, "free", "short")[0].result(PATIENCE) == "SHORT"
    assert not long[0].done() and not new[0].done()
    machine.gate.set()
    assert (long[0].result(PATIENCE), new[0].result(PATIENCE)) == ("LONG", "A")


def test_the_first_sentence_of_a_key_compiles_the_programs_of_one_sentence_and_of_several(machine):
    scheduler = Scheduler(machine, 100)
    warm(scheduler, "one")
    assert sorted(map(len, machine.batches)) == [1, 2]


def test_the_oldest_job_is_next_with_those_of_similar_length():
    waiting = [Job("a", n, length) for n, length in enumerate([50, 3, 49, *[7] * TOGETHER, 52])]
    waiting.insert(1, Job("b", "other", 50))
    chosen = jobs_together(waiting)
    assert len(chosen) == TOGETHER and {job.value for job in chosen} >= {0, 2, TOGETHER + 3}
    assert [job.length for job in chosen] == sorted(job.length for job in chosen)
    assert 3 not in [job.length for job in chosen] and "other" not in [job.value for job in chosen]
    assert [job.value for job in jobs_together(waiting[1:])] == ["other"]
    assert [job.value for job in jobs_together(waiting, 1)] == [0]


def test_long_jobs_are_computed_a_few_at_a_time():
    """A computation cannot be stopped, so nobody waits long behind jobs that were given up."""
    waiting = [Job("a", n, CHARACTERS // 3) for n in range(9)]
    assert [job.value for job in jobs_together(waiting)] == [0, 1, 2]
    assert [job.value for job in jobs_together([Job("a", 0, 2 * CHARACTERS), *waiting])] == [0]


def test_each_share_of_the_processors_computes_its_part_of_the_jobs(machine):
    scheduler = Scheduler(machine, 100, shares=2)
    warm(scheduler, "one")
    machine.close_gate()
    found = submit(scheduler, "one", *"abcdefgh")
    assert all(machine.entered.acquire(timeout=PATIENCE) for _ in range(2))
    assert sorted(machine.batches) == [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    machine.gate.set()
    assert [future.result(PATIENCE) for future in found] == list("ABCDEFGH")


def test_clients_who_were_answered_together_are_computed_together_again_and_a_lone_client_never_waits(
    machine, monkeypatch
):
    monkeypatch.setattr(scheduling, "RETURN_SECONDS", 100 * PATIENCE)
    scheduler = Scheduler(machine, 100)
    warm(scheduler, "one")
    for text in "abc":
        assert submit(scheduler, "one", text)[0].result(PATIENCE)
    assert [future.result(PATIENCE) for future in submit(scheduler, "one", "d", "e")] == ["D", "E"]
    (first,) = submit(scheduler, "one", "f")
    (second,) = submit(scheduler, "one", "g")
    assert (first.result(PATIENCE), second.result(PATIENCE)) == ("F", "G")
    assert machine.batches[-5:] == [["a"], ["b"], ["c"], ["d", "e"], ["f", "g"]]


def test_a_full_batch_waits_for_nobody(machine, monkeypatch):
    monkeypatch.setattr(scheduling, "RETURN_SECONDS", 100 * PATIENCE)
    scheduler = Scheduler(machine, 2 * TOGETHER)
    warm(scheduler, "one")
    for future in submit(scheduler, "one", *["a"] * (2 * TOGETHER)):
        assert future.result(PATIENCE) == "A"


def test_clients_who_do_not_come_back_are_waited_for_a_moment_only(machine):
    scheduler = Scheduler(machine, 100)
    warm(scheduler, "one")
    assert all(future.result(PATIENCE) for future in submit(scheduler, "one", "a", "b"))
    assert submit(scheduler, "one", "c")[0].result(PATIENCE) == "C"


def test_a_full_queue_refuses_a_request_as_a_whole_until_places_are_free(machine):
    scheduler = Scheduler(machine, 3)
    machine.close_gate()
    submit(scheduler, "held", "a")
    assert machine.entered.acquire(timeout=PATIENCE)
    waiting = submit(scheduler, "held", "b", "c")
    with pytest.raises(RefusedError) as refused:
        submit(scheduler, "held", "d")
    assert (refused.value.status, refused.value.limit, refused.value.value) == (429, "queue", 3)
    assert refused.value.retry_after
    assert waiting[0].cancel()  # the client went away
    (d,) = submit(scheduler, "held", "d")
    machine.gate.set()
    assert d.result(PATIENCE) == "D" and ["b"] not in machine.batches
    assert scheduler.unfinished == 0


def test_a_request_that_no_empty_queue_holds_is_refused_for_good(machine):
    with pytest.raises(RefusedError) as refused:
        submit(Scheduler(machine, 2), "one", "a", "b", "c")
    assert (refused.value.status, refused.value.limit, refused.value.retry_after) == (413, "queue", None)


def test_a_sentence_that_cannot_be_answered_fails_alone(machine):
    scheduler = Scheduler(machine, 100)
    warm(scheduler, "one")
    good, bad = submit(scheduler, "one", "a", "bad")
    assert good.result(PATIENCE) == "A"
    with pytest.raises(NmtError, match="bad text"):
        bad.result(PATIENCE)
    good, bad = submit(scheduler, "one", "a", "bug")
    assert good.result(PATIENCE) == "A"
    with pytest.raises(ValueError, match="a bug"):
        bad.result(PATIENCE)
    assert submit(scheduler, "one", "b")[0].result(PATIENCE) == "B"


def test_the_threads_end_with_the_scheduler(machine):
    before = set(threading.enumerate())
    scheduler = Scheduler(machine, 100)
    lanes = set(threading.enumerate()) - before
    last = submit(scheduler, "one", "a")[0]
    del scheduler
    assert last.result(PATIENCE) == "A"  # what waits is still computed
    del last  # its callback refers to the scheduler
    gc.collect()
    for lane in lanes:
        lane.join(PATIENCE)
    assert len(lanes) == 2 and not any(lane.is_alive() for lane in lanes)
