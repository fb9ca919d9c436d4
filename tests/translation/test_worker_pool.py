"""Chunks that worker processes answer come back in order, whatever happens to the workers."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import worker_loads

from nmt.alignment.hard_links import DEFAULT_LINKING
from nmt.config import SearchConfig
from nmt.errors import NmtError
from nmt.text.errors import CorpusError
from nmt.translation.request import TranslationRequest
from nmt.translation.worker import Chunk
from nmt.translation.worker_pool import AHEAD, WorkerPool


@contextmanager
def pool(load=worker_loads.load, processes=2):
    workers = WorkerPool(load, processes)
    workers.start()
    try:
        yield workers
    finally:
        ours = [worker.process for worker in workers._workers]
        workers.stop()
        assert not any(process.is_alive() for process in ours)


def chunk(*texts):
    return Chunk([TranslationRequest(text, SearchConfig()) for text in texts], DEFAULT_LINKING)


def texts(answers):
    return [translations[0].text for of_chunk in answers for translations in of_chunk]


def test_answers_come_in_order_and_progress_counts_all_workers():
    sentences = ["slow one", *(f"number {n}" for n in range(9))]
    read, seen, done = [], [], []
    with pool() as workers:

        def chunks():
            for sentence in sentences:
                read.append(sentence)
                yield chunk(sentence, "")

        for answers in workers.answers(chunks(), done.append):
            seen += texts([answers])
            assert len(read) <= len(seen) // 2 + 2 * AHEAD + 1  # a stream is not read far ahead
        assert workers.fingerprint == "weights"
    assert seen == [text for sentence in sentences for text in (sentence.upper(), "")]
    assert sum(done) == 20


def test_a_killed_worker_is_replaced_and_nothing_is_lost(tmp_path, capsys):
    with pool() as workers:
        workers.fingerprint  # noqa: B018  waits until a model is loaded
        sentences = ["one", f"die {tmp_path}/dead", "three", "four", "five"]
        found = texts(workers.answers((chunk(one) for one in sentences), lambda done: None))
    assert found == [sentence.upper() for sentence in sentences]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nmt: a worker process was ended by signal SIGKILL") and line.endswith("again")


@pytest.mark.slow
def test_sentences_that_kill_every_worker_end_the_work_after_those_before_them():
    found = []
    with pool() as workers, pytest.raises(NmtError, match="two worker processes were ended by signal SIGKILL"):
        for answers in workers.answers(map(chunk, ["one", "two", "kill", "four"]), lambda done: None):
            found += texts([answers])
    assert found in (["ONE", "TWO"], ["ONE"], [])  # what came before the second death


def test_an_error_is_raised_in_its_place():
    def broken():
        yield chunk("slow one")
        yield chunk("two")
        raise CorpusError("line 3 is not valid UTF-8")

    with pool() as workers:
        found = []
        with pytest.raises(CorpusError, match="line 3"):
            for answers in workers.answers(broken(), lambda done: None):
                found += texts([answers])
        assert found == ["SLOW ONE", "TWO"]
        with pytest.raises(NmtError, match="a sentence\nthat can be mended"):
            for answers in workers.answers(map(chunk, ["slow three", "mendable", "five"]), lambda done: None):
                found += texts([answers])
        assert found == ["SLOW ONE", "TWO", "SLOW THREE"]
        with pytest.raises(RuntimeError, match=r"(?s)a worker process failed.*ValueError: a bug"):
            texts(workers.answers([chunk("bug")], lambda done: None))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "message"),
    [(worker_loads.load_badly, "the model is damaged"), (worker_loads.die, "SIGKILL.* while it loaded the model")],
)
def test_a_model_that_cannot_be_loaded_is_one_error(load, message):
    with pool(load) as workers, pytest.raises(NmtError, match=message):
        workers.fingerprint  # noqa: B018
