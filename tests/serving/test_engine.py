"""The programs that a server compiles before they are needed, those that requests share, and erasures in parts."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import fake_translator
import numpy as np
import pytest
from small_server import Fake

from nmt.explaining import erasure
from nmt.serving.engine import ERASE, Engine, _key
from nmt.serving.limits import Limits, RefusedError
from nmt.translation.glossary import Term
from nmt.translation.request import TranslationRequest


def request(**options):
    return TranslationRequest("a b", replace(Fake.config.search, **options.pop("search", {})), **options)


def test_requests_for_different_numbers_of_translations_share_a_program_unless_they_sample():
    assert _key(request()) == _key(request(nbest=3)) != _key(request(prefix="a"))
    sampling = {"method": "sample"}
    assert _key(request(search=sampling)) != _key(request(search=sampling, nbest=3))


def test_terms_that_do_not_occur_in_a_text_need_no_program():
    absent, present = ((Term(source, ("z",)),) for source in "xb")
    assert _key(request(terms=absent)) == _key(request()) != _key(request(terms=present))


@pytest.mark.parametrize("queue", [1, 1000])
def test_the_programs_of_the_page_are_compiled_before_they_are_needed(monkeypatch, queue):
    monkeypatch.setattr(erasure, "erase", fake_translator.erase)
    engine = Engine(Fake(), Limits(queue=queue), lambda sentences: None)
    engine.warm_up()
    prefixed = _key(request(prefix="a"))
    assert _key(request()) in engine.scheduler._programs and prefixed not in engine.scheduler._programs
    engine.warm_up_rest()
    assert prefixed in engine.scheduler._programs and (ERASE, "word") in engine.scheduler._programs


def test_a_long_erasure_is_computed_in_parts_between_which_others_come(monkeypatch):
    monkeypatch.setattr(erasure, "erase", fake_translator.erase)
    monkeypatch.setattr("nmt.serving.engine.CHARACTERS", 60)  # of 20 words with 39 characters on each side
    engine = Engine(Fake(), Limits(), lambda sentences: None)
    sentence = " ".join("abcdefghijklmnopqrst")
    pair = fake_translator.make_pair(sentence, sentence.upper(), False)
    submitted = []
    submit = engine.scheduler.submit

    def watched(jobs):
        assert engine.scheduler.unfinished == 0
        submitted.extend(job.value[1] for job in jobs)
        submit(jobs)

    monkeypatch.setattr(engine.scheduler, "submit", watched)
    found = asyncio.run(engine.erase(pair, "word"))
    ((_, expected),) = fake_translator.erase(Fake(), [pair], "word")
    np.testing.assert_array_equal(found.falls, expected.falls)
    assert submitted == [range(word, word + 1) for word in range(20)]


def test_the_parts_of_an_erasure_wait_for_a_place_in_the_queue(monkeypatch):
    monkeypatch.setattr(erasure, "erase", fake_translator.erase)
    monkeypatch.setattr("nmt.serving.engine.CHARACTERS", 6)
    engine = Engine(Fake(), Limits(), lambda sentences: None)
    pair, refusals = fake_translator.make_pair("a b c", "A B C", False), [False, True, True, False, False]
    submit = engine.scheduler.submit

    def full(jobs):
        if refusals.pop(0):
            raise RefusedError(429, "full", "queue", 1, retry_after=0.001)
        submit(jobs)

    monkeypatch.setattr(engine.scheduler, "submit", full)
    assert asyncio.run(engine.erase(pair, "word")).falls.any(axis=0).all() and not refusals
    refusals = [True]
    with pytest.raises(RefusedError):
        asyncio.run(engine.erase(pair, "word"))


def test_an_erasure_that_nobody_waits_for_ends_with_its_part(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slow(*arguments, **options):
        begun.set()
        assert go_on.wait(60)
        return fake_translator.erase(*arguments, **options)

    monkeypatch.setattr(erasure, "erase", slow)
    monkeypatch.setattr("nmt.serving.engine.CHARACTERS", 6)
    engine = Engine(Fake(), Limits(), lambda sentences: None)
    computed = []
    monkeypatch.setattr(fake_translator, "erasures", computed)

    async def abandon():
        task = asyncio.create_task(engine.erase(fake_translator.make_pair("a b c", "A B C", False), "word"))
        assert await asyncio.to_thread(begun.wait, 60)
        task.cancel()
        go_on.set()
        await asyncio.gather(task, return_exceptions=True)
        await engine.align([("a", "a")])

    asyncio.run(abandon())
    assert 1 <= len(computed) <= 2  # the first part of a program is computed as one and as two
