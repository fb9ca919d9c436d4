"""Results of threads reach the event loop, many in one wake-up."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from nmt.serving.delivery import Delivery


def test_results_errors_and_cancelled_futures_arrive():
    async def check() -> None:
        delivery = Delivery(asyncio.get_running_loop())
        futures: list[Future[int]] = [Future() for _ in range(3)]
        waiters = [delivery.result_of(future) for future in futures]
        with ThreadPoolExecutor(1) as thread:
            thread.submit(futures[0].set_result, 7)
            thread.submit(futures[1].set_exception, ValueError("bad"))
            thread.submit(futures[2].cancel)
        assert await waiters[0] == 7
        with pytest.raises(ValueError, match="bad"):
            await waiters[1]
        with pytest.raises(asyncio.CancelledError):
            await waiters[2]

    asyncio.run(check())


def test_the_loop_wakes_once_for_results_that_are_ready_together(monkeypatch):
    async def check() -> None:
        loop = asyncio.get_running_loop()
        woken = []
        wake = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: (woken.append(call), wake(*call)))
        delivery = Delivery(loop)
        futures: list[Future[int]] = [Future() for _ in range(20)]
        waiters = [delivery.result_of(future) for future in futures]
        for number, future in enumerate(futures):
            future.set_result(number)
        assert await asyncio.gather(*waiters) == list(range(20))
        assert len(woken) == 1
        again: Future[int] = Future()
        waiter = delivery.result_of(again)
        again.set_result(1)
        assert await waiter == 1 and len(woken) == 2

    asyncio.run(check())


def test_a_waiter_whose_client_went_away_is_passed_over():
    async def check() -> None:
        delivery = Delivery(asyncio.get_running_loop())
        gone: Future[int] = Future()
        stays: Future[int] = Future()
        delivery.result_of(gone).cancel()
        waiter = delivery.result_of(stays)
        gone.set_result(1)
        stays.set_result(2)
        assert await waiter == 2

    asyncio.run(check())


def test_results_after_the_end_of_the_loop_are_dropped():
    future: Future[int] = Future()

    async def leave() -> None:
        Delivery(asyncio.get_running_loop()).result_of(future)

    asyncio.run(leave())
    future.set_result(1)
