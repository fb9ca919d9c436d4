"""The files of a prepared corpus: held-out pairs, and when the cache makes the files again."""

from __future__ import annotations

import shutil
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import copy_task
import pytest
from prepared_runs import change_train, held_out, lines, prepared, texts, with_long_pair

from nmt.errors import NmtError
from nmt.text.errors import CorpusError
from nmt.text.tokenizer import Tokenizer

ALREADY = "this text has been prepared before"


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


def test_held_out_pairs_share_no_side_with_the_training_pairs(corpus):
    source, target = lines(corpus, "train.source"), lines(corpus, "train.target")
    copy_task.write_lines(corpus / "train.source", [*source, *source[:30]])
    copy_task.write_lines(corpus / "train.target", [*target, *target[1:31]])
    result = held_out(corpus, "one")
    train = texts(result)
    assert len(result.validation) == 10
    assert not {pair.source for pair in result.validation} & {s for s, _ in train}
    assert not {pair.target for pair in result.validation} & {t for _, t in train}
    assert len(train) + len(result.validation) < 90


def test_the_seed_decides_which_pairs_are_held_out(corpus):
    first, again, other = (held_out(corpus, name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert first.validation == again.validation
    assert first.validation != other.validation


@pytest.fixture
def no_work(monkeypatch) -> None:
    """Fails a test that trains a vocabulary or encodes a sentence."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("the work is done again")

    monkeypatch.setattr(Tokenizer, "train", refuse)
    monkeypatch.setattr(Tokenizer, "encode", refuse)


def test_a_second_run_on_the_same_text_copies_the_files(corpus, request):
    with_long_pair(corpus)
    changes = {"corpus": {"max_pieces": 6}}
    told: list[str] = []
    first = prepared(copy_task.config(corpus, **changes), told)
    expected = texts(first)
    (corpus / "moved").mkdir()
    for path in corpus.glob("train.*"):
        path.rename(corpus / "moved" / path.name)
    moved = {side: str(corpus / "moved" / f"train.{side}") for side in ("source", "target")}
    request.getfixturevalue("no_work")
    said: list[str] = []
    second = prepared(copy_task.config(corpus, name="second", corpus={"max_pieces": 6, "train": moved}), said)
    assert texts(second) == expected
    assert second.validation == first.validation
    assert said[0] == told[0] and said[0].startswith("languages: ")
    assert said[1].startswith(ALREADY)
    assert told[1] == "making a vocabulary of 60 pieces"
    assert said[2:] == told[2:]


def test_a_run_does_not_need_the_cache(corpus):
    config = copy_task.config(corpus)
    expected = texts(prepared(config))
    shutil.rmtree(corpus / "runs" / ".cache")
    (corpus / "runs").rename(corpus / "moved")
    assert texts(prepared(replace(config, directory=str(corpus / "moved")))) == expected


def change_validation(corpus) -> dict[str, Any]:
    copy_task.write_lines(corpus / "validation.align", ["0-0"] * 5)
    return {}


def same_preparation(corpus) -> dict[str, Any]:
    """Settings that do not change the prepared pairs."""
    return {"model": {"units": 16}, "training": {"seed": 7, "passes": 9}, "search": {"beam_size": 2}}


@pytest.mark.parametrize(
    ("change", "again"),
    [
        (same_preparation, False),
        (change_train, True),
        (change_validation, True),
        (lambda corpus: {"vocabulary": {"size": 40}}, True),
        (lambda corpus: {"corpus": {"max_pieces": 5}}, True),
    ],
)
def test_pairs_are_prepared_again_when_text_or_settings_change_them(change, again, corpus):
    prepared(copy_task.config(corpus))
    said: list[str] = []
    changed = copy_task.config(corpus, name="second", **change(corpus))
    found = texts(prepared(changed, said))
    assert any(line.startswith(ALREADY) for line in said) is not again
    shutil.rmtree(corpus / "runs")
    assert texts(prepared(changed)) == found


def test_another_seed_holds_out_other_pairs_and_makes_another_entry(corpus):
    first, other = held_out(corpus, "a", seed=1), held_out(corpus, "b", seed=2)
    assert first.validation != other.validation
    assert len(list((corpus / "runs" / ".cache").iterdir())) == 2


def test_a_preparation_that_fails_late_leaves_nothing_on_disk(corpus, monkeypatch):
    encode = Tokenizer.encode

    def fail(self: Tokenizer, sentences: list[str]) -> Any:
        if sentences == lines(corpus, "train.target"):
            raise KeyboardInterrupt
        return encode(self, sentences)

    with monkeypatch.context() as patched:
        patched.setattr(Tokenizer, "encode", fail)
        with pytest.raises(KeyboardInterrupt):
            prepared(copy_task.config(corpus))
    assert not (corpus / "runs" / "run").exists()
    assert list((corpus / "runs").glob("**/.cache/*")) == []
    assert len(prepared(copy_task.config(corpus)).train) == 60


def test_text_that_changes_during_the_preparation_is_refused(corpus, monkeypatch):
    encode = Tokenizer.encode

    def change(self: Tokenizer, sentences: list[str]) -> Any:
        change_train(corpus)
        return encode(self, sentences)

    with monkeypatch.context() as patched:
        patched.setattr(Tokenizer, "encode", change)
        with pytest.raises(NmtError, match="the pairs changed while they were read: start again"):
            prepared(copy_task.config(corpus))
    assert not (corpus / "runs" / "run").exists()
    assert texts(prepared(copy_task.config(corpus)))[0][0] == lines(corpus, "train.source")[0]


def test_near_duplicates_of_held_out_pairs_can_stay(corpus):
    """All sentences but the held-out ones, which no setting trains on."""
    pattern = [f"here is the word number {n}" for n in range(60)]
    for side in ("source", "target"):
        copy_task.write_lines(corpus / f"train.{side}", pattern)
    with pytest.raises(NmtError, match="all 60 training pairs are .*; or keep them in training: nmt train --corp"):
        held_out(corpus, "dropped")
    nothing = {"source": "", "target": "", "alignment": ""}
    changes = {"corpus": {"validation": nothing, "held_out": 10, "near_duplicates": "keep"}}
    result = prepared(copy_task.config(corpus, name="kept", vocabulary={"size": 80}, **changes), said := list[str]())
    assert len(texts(result)) == 50
    assert "held out for validation: 10 pairs; 0 further pairs with their sources are left out of training" in said


def test_most_pairs_are_never_held_out(corpus):
    """The settings of a recipe for more text hold out too many."""
    changes = {"validation": {"source": "", "target": "", "alignment": ""}, "near_duplicates": "keep"}
    count = len(lines(corpus, "train.source"))
    message = f"of {count} pairs would be held out .*: give --corpus.held_out {count // 10}, or --recipe auto$"
    for held in (count // 2, count // 2 + 1):
        config = copy_task.config(corpus, name=f"with{held}", corpus={**changes, "held_out": held})
        with nullcontext() if held <= count / 2 else pytest.raises(CorpusError, match=message):
            prepared(config)
    assert not (corpus / "runs" / f"with{held}").exists()


def test_a_vocabulary_of_another_size_is_made_where_the_text_allows_no_other(corpus):
    changes = {"vocabulary": {"type": "unigram", "size": 5000, "adapt_size": True}}
    said: list[str] = []
    size = prepared(copy_task.config(corpus, **changes), said).run.source.size
    assert "making a vocabulary of about 5,000 pieces" in said
    assert 8 < size < 5000
    assert f"vocabulary: {size:,} unigram pieces for both languages (as many as the text allows)" in said
