"""The programs that a server compiles before they are needed, and those that requests share."""

from __future__ import annotations

import time
from dataclasses import replace

from server_process import PATIENCE
from small_server import Fake

from nmt.serving.engine import Engine, _key
from nmt.serving.limits import Limits
from nmt.translation.request import TranslationRequest


def request(**options):
    return TranslationRequest("a b", replace(Fake.config.search, **options.pop("search", {})), **options)


def test_requests_for_different_numbers_of_translations_share_a_program_unless_they_sample():
    assert _key(request()) == _key(request(nbest=3)) != _key(request(prefix="a"))
    sampling = {"method": "sample"}
    assert _key(request(search=sampling)) != _key(request(search=sampling, nbest=3))


def test_the_programs_of_the_page_are_compiled_before_they_are_needed():
    sizes: list[int] = []
    engine = Engine(Fake(), Limits(), sizes.append)
    engine.warm_up()
    prefixed = _key(request(prefix="a"))
    assert _key(request()) in engine.scheduler._programs and prefixed not in engine.scheduler._programs
    engine.warm_up_rest()
    end = time.monotonic() + PATIENCE
    while engine.scheduler.unfinished:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert prefixed in engine.scheduler._programs
