"""A run directory belongs to one training at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from short_runs import config

from nmt.config import CorpusConfig, PairsConfig
from nmt.errors import NmtError
from nmt.files.locking import locked
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.trainer import train


def test_only_one_process_trains_a_run(corpus, tmp_path, counting):
    result = train(config(corpus, tmp_path, passes=1))
    with (
        locked(result.directory, RunError("here")),
        pytest.raises(RunError, match="another process trains .*: wait for it, or end it"),
    ):
        train(config(corpus, tmp_path, passes=2))
    assert Run.open(result.directory).config.training.passes == 1
    assert train(config(corpus, tmp_path, passes=2)).finished
    assert Run.open(result.directory).config.training.passes == 2


def test_a_second_training_of_a_new_name_is_refused_before_it_writes(corpus, tmp_path, counting):
    wanted = config(corpus, tmp_path)
    directory = tmp_path / wanted.name
    directory.mkdir()
    with locked(directory, RunError("here")), pytest.raises(RunError, match="another process trains"):
        train(wanted)
    assert not any(directory.iterdir())
    assert train(wanted).finished


def test_a_read_only_directory_is_refused_before_the_corpus_is_read(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)
    nowhere = CorpusConfig(train=PairsConfig(source="nowhere", target="nowhere"))
    with pytest.raises(RunError, match="is not writable: give another --directory"):
        train(replace(config(corpus, tmp_path), corpus=nowhere))


def test_a_mistake_leaves_no_directory(corpus, tmp_path):
    wanted = config(corpus, tmp_path)
    nowhere = replace(wanted.corpus, train=PairsConfig(source="nowhere", target="nowhere"))
    with pytest.raises(NmtError, match="nowhere: No such file"):
        train(replace(wanted, corpus=nowhere))
    assert not (tmp_path / wanted.name).exists()
