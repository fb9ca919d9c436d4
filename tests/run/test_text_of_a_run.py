"""The text of a run: whether it has changed, its profile, and its training pairs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.config import CorpusConfig, PairsConfig, RunConfig
from nmt.run.errors import RunError
from nmt.run.prepared_manifest import SHARDS, PreparedManifest
from nmt.run.text_changes import TEXT_FINGERPRINTS, text_changed, text_fingerprints
from nmt.run.text_profile import PROFILE, load_profile, save_profile
from nmt.run.training_pairs import has_training_pairs, training_pairs
from nmt.text.swapped_sides import Vocabularies, measure_profile


@pytest.fixture
def config(write) -> RunConfig:
    """Of a run on two small files, with other files for validation."""
    train, validation = (
        PairsConfig(source=write(f"{name}.de", "ein haus"), target=write(f"{name}.fr", "une maison"))
        for name in ("train", "validation")
    )
    return RunConfig(corpus=CorpusConfig(train=train, validation=validation))


@pytest.fixture
def directory(config, tmp_path) -> Path:
    """Of the run, with the fingerprints of its text."""
    path = tmp_path / "run" / TEXT_FINGERPRINTS
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(text_fingerprints(config)), encoding="utf-8")
    return tmp_path / "run"


def with_corpus(config: RunConfig, **changes: object) -> RunConfig:
    return replace(config, corpus=replace(config.corpus, **changes))


@pytest.mark.parametrize("name", ["train.de", "train.fr", "validation.de"])
def test_a_changed_text_is_noticed(name, config, directory, tmp_path):
    assert text_changed(directory, config) is False
    (tmp_path / name).write_text("ein baum\n")
    assert text_changed(directory, config) is True


def test_pairs_without_validation_are_another_text(config, directory):
    alone = with_corpus(config, validation=PairsConfig())
    assert [*text_fingerprints(config)] == ["train", "validation"] and [*text_fingerprints(alone)] == ["train"]
    assert text_changed(directory, alone) is True


def test_a_text_that_should_not_be_read_again_has_not_changed(config, directory, monkeypatch):
    """A dataset might have to be downloaded; a prepared corpus is compared elsewhere."""
    monkeypatch.setattr("nmt.run.text_changes.text_fingerprints", lambda config: pytest.fail("reads the text"))
    dataset = PairsConfig(tfds="a/b")
    others = [
        {"train": dataset},
        {"validation": dataset},
        {"train": PairsConfig(), "validation": PairsConfig(), "prepared": "p"},
    ]
    for changes in others:
        assert text_changed(directory, with_corpus(config, **changes)) is False


def test_a_text_without_fingerprints_has_not_changed(config, directory, tmp_path):
    (tmp_path / "train.de").write_text("ein baum\n")
    (directory / TEXT_FINGERPRINTS).write_text("{")
    assert text_changed(directory, config) is False
    (directory / TEXT_FINGERPRINTS).unlink()
    assert text_changed(directory, config) is False


def test_a_profile_returns_and_belongs_to_its_vocabularies(tokenizer, tmp_path):
    assert load_profile(tmp_path) is None
    profile = measure_profile([("ein haus", "ein baum ü")] * 3, Vocabularies(tokenizer, tokenizer))
    save_profile(tmp_path, profile)
    size = tokenizer.size
    assert load_profile(tmp_path) == load_profile(tmp_path, (size, size)) == profile
    with pytest.raises(
        RunError, match=rf"it counts \({size}, {size}\) pieces, and the vocabularies have \(9, {size}\)"
    ):
        load_profile(tmp_path, (9, size))
    (tmp_path / PROFILE).write_text("[]")
    with pytest.raises(RunError, match=r"profile\.json: damaged \(.*\): delete it; input is then translated as it is"):
        load_profile(tmp_path)
    (tmp_path / PROFILE).unlink()
    (tmp_path / PROFILE).mkdir()
    with pytest.raises(RunError, match=r"profile\.json: Is a directory$"):
        load_profile(tmp_path)


def test_a_run_opens_its_own_pairs(tmp_path):
    assert not has_training_pairs(tmp_path, RunConfig())
    EncodedCorpus.write(tmp_path / "corpus", [([[4, 5], [6]], [[4], [5]])], 8)
    assert has_training_pairs(tmp_path, RunConfig())
    assert len(training_pairs(tmp_path, RunConfig())) == 2


def test_a_run_opens_the_prepared_corpus_that_it_was_begun_with(config, directory, tmp_path):
    corpus = tmp_path / "prepared"
    (corpus / SHARDS).mkdir(parents=True)
    prepared = with_corpus(config, train=PairsConfig(), validation=PairsConfig(), prepared=str(corpus))
    assert not has_training_pairs(directory, prepared)
    (corpus / SHARDS / "about.json").write_text("{}")
    assert has_training_pairs(directory, prepared)
    (tmp_path / "pack.nmt").write_bytes(b"")
    assert not has_training_pairs(tmp_path / "pack.nmt", prepared)
    manifest = PreparedManifest({}, {}, 1, 2, {})
    manifest.save(corpus)
    for saved in ("{", "[]", '{"prepared": "other"}', "{}"):
        (directory / TEXT_FINGERPRINTS).write_text(saved)
        with pytest.raises(RunError, match=f"^{directory} was begun with another corpus than {corpus}: give its own"):
            training_pairs(directory, prepared)
    (directory / TEXT_FINGERPRINTS).write_text(json.dumps({"prepared": manifest.digest}))
    with pytest.raises(Exception, match=f"{corpus}/{SHARDS}"):  # it has no pairs, but it is the same corpus
        training_pairs(directory, prepared)
