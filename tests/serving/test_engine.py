"""The programs that a server compiles before they are needed, and those that requests share."""

from __future__ import annotations

from dataclasses import replace

import fake_translator
import pytest
from small_server import Fake

from nmt.explaining import erasure
from nmt.serving.engine import ERASE, Engine, _key
from nmt.serving.limits import Limits
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
