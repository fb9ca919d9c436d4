"""`training.aligner`: attention is guided by links that an aligner learns from the training pairs."""

from __future__ import annotations

import shutil

import copy_task
import numpy as np
import pytest
from prepared_runs import prepared
from short_runs import config, guided

from nmt.aligning.aligner import Aligner
from nmt.config import ConfigError, GuidedConfig, PairsConfig, TrainingConfig
from nmt.run.manifest import read_manifest
from nmt.text.formats import line_pairs


@pytest.fixture
def run(corpus, tmp_path):
    """A prepared run with learned links."""
    return prepared(config(corpus, tmp_path, "learned", aligner=True))


def test_the_learned_links_guide_attention(corpus, tmp_path, run):
    """On the copy task the aligner finds the gold links, so the run reads what a run with a file of them reads."""
    gold = prepared(guided(corpus, tmp_path, "gold", str(corpus / "train.align")))
    assert run.train.links is not None and gold.train.links is not None
    np.testing.assert_array_equal(run.train.links.ids, gold.train.links.ids)


def test_the_aligner_is_kept_in_the_run(corpus, run):
    aligner = Aligner.load(run.run.directory / "aligner")
    sentence = copy_task.sentences(1, seed=5)[0]
    (found,) = aligner.align([(sentence, copy_task.translation(sentence))])
    assert found.pharaoh() == copy_task.links(sentence)
    (own,) = Aligner.load(run.run.directory).align([(sentence, copy_task.translation(sentence))])
    assert own.links == found.links
    assert "aligner.npz" in read_manifest(run.run.directory).files
    assert not (run.run.directory / "aligner" / "corpus").exists()
    assert not any(name.startswith("corpus/") for name in read_manifest(run.run.directory / "aligner").files)


def test_another_run_on_the_same_text_takes_aligner_and_links_from_the_cache(corpus, tmp_path, run, monkeypatch):
    monkeypatch.delattr(Aligner, "train")
    again = prepared(config(corpus, tmp_path, "again", aligner=True))
    np.testing.assert_array_equal(again.train.links.ids, run.train.links.ids)
    assert Aligner.load(again.run.directory / "aligner")


def test_an_interrupted_aligner_resumes(corpus, tmp_path, run, monkeypatch):
    """The run directory then holds the aligner alone, and the same command goes on."""
    shutil.rmtree(tmp_path / ".cache")
    with monkeypatch.context() as stopped, pytest.raises(KeyboardInterrupt):
        stopped.setattr(Aligner, "train", lambda *_: None)
        (tmp_path / "later" / "aligner" / "corpus").mkdir(parents=True)
        (tmp_path / "later" / "aligner" / "preparing").touch()
        prepared(config(corpus, tmp_path, "later", aligner=True))
    later = prepared(config(corpus, tmp_path, "later", aligner=True))
    np.testing.assert_array_equal(later.train.links.ids, run.train.links.ids)


def test_rows_that_are_no_pairs_keep_their_lines(write):
    """A file of links has a line for each row, whatever is in the row."""
    path = write("pairs.tsv", "a\tb", "no pair", "c\td", "e")
    assert list(line_pairs(PairsConfig(tsv=path))) == [("a", "b"), ("", ""), ("c", "d"), ("", "")]


def test_two_kinds_of_links_are_refused():
    with pytest.raises(ConfigError, match="aligner learns links, and guided.links names other links"):
        TrainingConfig(aligner=True, guided=GuidedConfig(links="x"))
