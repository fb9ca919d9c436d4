"""The vocabularies of a new run: trained on its pairs, or taken from another run."""

from __future__ import annotations

import shutil
from dataclasses import replace

import copy_task
import pytest
from prepared_runs import prepared

from nmt.run.errors import RunError
from nmt.training.settings import load_config


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


def test_the_vocabulary_knows_the_training_pairs_alone(corpus):
    for side in ("source", "target"):
        copy_task.write_lines(corpus / f"validation.{side}", ["zebra ba"] * 5)
    copy_task.write_lines(corpus / "validation.align", ["0-0 1-1"] * 5)
    vocabulary = prepared(copy_task.config(corpus)).run.source
    assert vocabulary.decode(vocabulary.encode(["zebra ba"])) == ["⁇ ba"]


def test_two_vocabularies_have_their_own_sizes(corpus):
    changes = {"vocabulary": {"shared": False, "size": 28, "target_size": 20}, "model": {"tie": "target"}}
    result = prepared(copy_task.config(corpus, **changes))
    assert (result.run.source.size, result.run.target.size) == (28, 20)
    assert "⁇" in result.run.source.decode(result.run.source.encode([copy_task.WORDS["ba"]]))[0]


def test_vocabularies_can_come_from_another_run(corpus):
    first = prepared(copy_task.config(corpus))
    said: list[str] = []
    copy_task.write_lines(corpus / "train.source", ["ba be bi"] * 5)  # too few words for a vocabulary of this size
    copy_task.write_lines(corpus / "train.target", ["abo ebo ibo"] * 5)
    changes = {"vocabulary": {"run": str(first.run.directory)}}
    second = prepared(copy_task.config(corpus, name="second", **changes), said)
    assert (second.run.source, second.run.target) == (first.run.source, first.run.target)
    assert any(line.startswith("vocabularies of") for line in said)
    assert not any(line.startswith("making a vocabulary") for line in said)


def test_a_run_records_the_settings_of_the_vocabulary_that_it_takes(corpus):
    first = prepared(copy_task.config(corpus)).run
    taken = {"run": str(first.directory), "size": 77}
    config = copy_task.config(corpus, name="second", vocabulary=taken)
    saved = prepared(config).run.config.vocabulary
    assert saved == replace(first.config.vocabulary, run=str(first.directory))
    assert prepared(config).run.config.vocabulary == saved  # resumed by the same settings
    said: list[str] = []
    flags = ["--vocabulary.run", str(first.directory), "--vocabulary.size", "77", "--vocabulary.type", saved.type]
    load_config(None, flags, say=said.append)
    assert said == [f"vocabulary.size without effect: the vocabularies of {first.directory} are taken as they are"]


def test_the_cache_notices_other_vocabularies_in_the_directory_of_a_run(corpus):
    first = prepared(copy_task.config(corpus)).run.directory
    changes = {"vocabulary": {"run": str(first)}}
    prepared(copy_task.config(corpus, name="second", **changes))
    shutil.rmtree(first)
    other = prepared(copy_task.config(corpus, vocabulary={"size": 40}))
    third = prepared(copy_task.config(corpus, name="third", **changes))
    assert third.run.source == other.run.source


def test_a_shared_vocabulary_does_not_serve_as_two(corpus):
    first = prepared(copy_task.config(corpus)).run.directory
    changes = {"vocabulary": {"run": str(first), "shared": False}, "model": {"tie": "target"}}
    with pytest.raises(RunError, match="vocabulary.shared is True in this run: give --vocabulary.shared true"):
        prepared(copy_task.config(corpus, name="second", **changes))


def test_the_report_on_the_pairs_comes_with_a_vocabulary_of_another_run_too(corpus):
    run = prepared(copy_task.config(corpus)).run
    said: list[str] = []
    prepared(copy_task.config(corpus, name="other", vocabulary={"run": str(run.directory)}), said)
    assert "60 pairs read, 60 kept" in said
