"""A thread computes batches ahead of the training step, and ends with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from nmt.batches.background import in_background
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.batches.pipeline import AHEAD, pass_batches


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.002)
    assert condition()


def background_threads() -> int:
    return sum(thread.name == "background batches" for thread in threading.enumerate())


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert background_threads() == 0


def test_items_come_in_order() -> None:
    assert list(in_background(range(1000), 3)) == list(range(1000))
    assert list(in_background([], 1)) == []


def test_items_are_computed_by_another_thread() -> None:
    threads = in_background((threading.get_ident() for _ in range(3)), 2)
    assert threading.get_ident() not in set(threads)


def test_the_thread_runs_ahead_by_a_bounded_number_of_items() -> None:
    computed = []

    def items() -> Iterator[int]:
        for number in range(100):
            computed.append(number)
            yield number

    found = in_background(items(), 4)
    assert next(found) == 0
    assert [thread.daemon for thread in threading.enumerate() if thread.name == "background batches"] == [True]
    wait_until(lambda: len(computed) == 6)  # the first item, four that wait, and one in work
    time.sleep(0.05)
    assert len(computed) == 6
    assert list(found) == list(range(1, 100))


@pytest.mark.parametrize("ahead", [1, 5])
@pytest.mark.parametrize("taken", [1, 3])
def test_the_thread_ends_when_its_consumer_stops_early(ahead: int, taken: int) -> None:
    found = in_background(iter(int, 1), ahead)  # without end
    for _ in range(taken):
        next(found)
    assert background_threads() == 1
    found.close()  # type: ignore[attr-defined]  # a loop that is left by break or an error closes it too
    assert background_threads() == 0


def test_a_thread_that_waits_for_its_consumer_ends_too() -> None:
    """The queue is full when the consumer stops: item 1 waits in it, and the thread has item 2."""
    computed = []
    found = in_background((computed.append(number) or number for number in range(9)), 1)  # type: ignore[func-returns-value]
    next(found)
    wait_until(lambda: computed == [0, 1, 2])
    threading.Thread(target=found.close, daemon=True).start()  # type: ignore[attr-defined]
    wait_until(lambda: background_threads() == 0)
    assert len(computed) == 3


def test_a_loop_that_fails_ends_the_thread() -> None:
    def train() -> None:
        for item in in_background(iter(int, 1), 2):
            raise ValueError(item)

    with pytest.raises(ValueError, match="0"):
        train()
    wait_until(lambda: background_threads() == 0)


@pytest.mark.parametrize("ahead", [1, 9])
def test_an_error_is_raised_where_its_item_would_have_come(ahead: int) -> None:
    def items() -> Iterator[int]:
        yield from range(3)
        raise KeyError("damaged")

    found, seen = in_background(items(), ahead), []
    with pytest.raises(KeyError, match="damaged"):
        for item in found:
            seen.append(item)
    assert seen == [0, 1, 2]


def test_other_backends_than_tensorflow_make_batches_in_the_background(tmp_path, monkeypatch) -> None:
    corpus = EncodedCorpus.write(tmp_path, [([[4, 5]] * 200, [[6]] * 200)], 9)
    plan = corpus.plan(batch_tokens=6, window=40, seed=2)
    threads = []
    batch = corpus.batch

    def watched(indices: np.ndarray, width: int = 0) -> object:
        threads.append(threading.get_ident())
        return batch(indices, width)

    monkeypatch.setattr(corpus, "batch", watched)
    monkeypatch.setattr("keras.backend.backend", lambda: "jax")
    batches = pass_batches(corpus, plan, 0, 0)
    next(batches)
    wait_until(lambda: len(threads) == AHEAD + 2)
    assert threading.get_ident() not in threads
    assert sum(1 for _ in batches) == 99
