"""Runs are set up, or refused without a trace; existing runs are opened with the settings that may change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import copy_task
import numpy as np
import pytest
from prepared_runs import change_train, guided, lines, prepared, texts

from nmt.config import ModelConfig, config_from_dict
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.run.errors import RunError
from nmt.training.preparation.prepare import prepare


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=5)
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary": {"type": "unigram", "size": 5000}}, r"5000 pieces are more than .* at most \d+"),
        ({"corpus": {"train": {"source": "nowhere"}}}, "nowhere: No such file"),
        ({"corpus": {"train": {"source": "{}/bad"}}}, "bad, line 3: not valid UTF-8"),
        ({"corpus": {"train": {"source": "{}/short"}}}, "short has 2 lines, .*train.target has 60 lines"),
        ({"corpus": {"validation": {"source": "{}/short", "alignment": ""}}}, "short has 2 lines"),
        ({"corpus": {"validation": {"source": "{}/words"}}}, "validation.align, line 1: link 1-1, .* out of range"),
        (
            {"corpus": {"validation": {"source": "{}/none", "target": "{}/none", "alignment": ""}}},
            "validation has no pairs",
        ),
        ({"corpus": {"validation": {"source": "", "target": "", "alignment": ""}, "held_out": 60}}, "held_out"),
        (
            {"model": {"attention": {"window": "hard"}}, "training": {"guided": {"links": "{}/train.align"}}},
            "training.guided.links trains attention weights, but model.attention.window hard makes them 0 or 1",
        ),
        (
            {"training": {"metric": "last", "schedule": {"decay": "plateau"}}},
            "decay plateau halves the learning rate when validations get no better, but training.metric last compares",
        ),
    ],
)
def test_messages_name_the_mistake_and_nothing_is_left_on_disk(changes, message, corpus):
    (corpus / "bad").write_bytes(b"a\nb\nc\xff\n" + b"d\n" * 57)
    (corpus / "short").write_text("a\nb\n")
    (corpus / "none").write_text("")
    (corpus / "words").write_text("word\n" * 5)

    def here(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: here(inner) for name, inner in value.items()}
        return value.replace("{}", str(corpus)) if isinstance(value, str) else value

    with pytest.raises(NmtError, match=message) as error:
        prepared(copy_task.config(corpus, **here(changes)))
    assert "\n" not in str(error.value)
    assert not (corpus / "runs").exists()


def test_a_directory_of_other_files_is_left_alone(corpus):
    (corpus / "runs" / "run").mkdir(parents=True)
    (corpus / "runs" / "run" / "thesis.tex").write_text("years of work")
    with pytest.raises(RunError, match="is not empty and not a run: give the run another name"):
        prepared(copy_task.config(corpus))
    assert [path.name for path in (corpus / "runs" / "run").iterdir()] == ["thesis.tex"]


def test_a_reopened_run_is_equal(corpus):
    odd = [f"ba\u2028ki {i} \u0085 😀" for i in range(5)]
    copy_task.write_lines(corpus / "validation.source", odd)
    config = copy_task.config(corpus)
    first, again = prepared(config), prepared(config)
    assert [pair.source for pair in again.validation] == odd
    assert again.validation == first.validation
    assert texts(again) == texts(first)
    assert again.run == first.run


def test_a_run_does_not_need_the_files_of_its_corpus(corpus):
    config = copy_task.config(corpus)
    first = prepared(config)
    for path in [*corpus.glob("train.*"), *corpus.glob("validation.*")]:
        path.unlink()
    assert texts(prepared(config)) == texts(first)


def test_a_run_is_reopened_by_another_path_of_its_text(corpus, monkeypatch):
    config = copy_task.config(corpus)
    prepared(config)
    monkeypatch.chdir(corpus)
    train = replace(config.corpus.train, source="train.source", target="./train.target")
    again = prepared(replace(config, corpus=replace(config.corpus, train=train)))
    assert again.run.config.corpus.train == Run.open(again.run.directory).config.corpus.train == config.corpus.train


def test_changed_search_settings_are_reported_and_saved(corpus):
    """`nmt tune --save` can have changed them."""
    config = copy_task.config(corpus)
    run = prepared(config).run
    tuned = replace(config.search, length_penalty=0.4)
    replace(run, config=replace(run.config, search=tuned)).save_config()
    said: list[str] = []
    prepared(config, said)
    then, now = tuned.length_penalty, config.search.length_penalty
    assert f"search.length_penalty of this run was {then}" in said[0] and said[0].endswith(f" it is {now}")
    assert Run.open(run.directory).config.search == config.search


def test_changed_text_is_reported_and_not_read(corpus):
    config, said = copy_task.config(corpus), list[str]()
    first = texts(prepared(config))
    prepared(config, said)
    assert said == []
    change_train(corpus)
    assert texts(prepared(config, said)) == first
    assert len(said) == 1
    assert said[0].startswith(
        f"the text has changed since {corpus / 'runs' / 'run'} was begun, and this run keeps its old pairs: a "
        "higher --training.passes"
    )
    assert "another --name trains on the new text" in said[0]


@pytest.mark.parametrize("name", ["about.json", "validation.jsonl", "source.ids", "target.lengths"])
@pytest.mark.parametrize("damage", ["junk", "gone", "empty"])
def test_a_damaged_copy_of_the_pairs_is_refused(name, damage, corpus):
    """The junk has an odd number of bytes, so it cannot be read as ids either."""
    config = copy_task.config(corpus)
    prepared(config)
    path = corpus / "runs" / "run" / "corpus" / name
    path.write_bytes(b"" if damage == "empty" else b"junk!")
    if damage == "gone":
        path.unlink()
    with pytest.raises(RunError, match="corpus: the run's copy of its sentence pairs is damaged or incomplete: give"):
        prepared(config)


def test_ids_that_the_vocabulary_lacks_are_refused_when_training_is_resumed(corpus):
    config = copy_task.config(corpus)
    size = prepared(config).run.source.size
    path = corpus / "runs" / "run" / "corpus" / "source.ids"
    ids = np.fromfile(path, np.uint16)
    ids[-1] = size
    ids.tofile(path)
    with pytest.raises(NmtError, match=rf"source\.ids: has ids from \d+ to {size}, and the vocabulary has {size} "):
        prepared(config)


def test_an_unfinished_preparation_is_repeated(corpus):
    config = copy_task.config(corpus)
    expected = texts(prepared(config))
    directory = corpus / "runs" / "run"
    (directory / "config.json").unlink()
    (directory / "corpus" / "source.ids").write_bytes(b"half")
    assert texts(prepared(config)) == expected


def test_settings_that_may_change_are_saved_and_the_precision_stays(corpus):
    config = copy_task.config(corpus)
    prepare(config, "mixed_bfloat16", print)
    said: list[str] = []
    prepare(replace(config, training=replace(config.training, passes=99, precision="float32")), "float32", said.append)
    assert "training.precision of this run is mixed_bfloat16 and stays so" in said
    saved = Run.open(corpus / "runs" / "run").config.training
    assert (saved.passes, saved.precision) == (99, "mixed_bfloat16")


def test_settings_without_effect_are_reported_once(corpus):
    said: list[str] = []
    fields = {"architecture": "transformer", "decoder": "luong", "dropout": {"state": 0.5}}
    config = copy_task.config(corpus, model=fields)
    prepared(config, said)
    assert said[0].startswith("this network does not use model.dropout.encoder, model.decoder, model.units, ")
    assert said[0].endswith(", model.dropout.state: these settings have no effect")
    prepared(config, again := list[str]())
    assert not again
    schedule = {"decay": "constant", "plateau": 5, "final_share": 0.5}
    config = copy_task.config(corpus, name="other", training={"schedule": schedule, "guided": {"weight": 2.0}})
    prepared(config, said := list[str]())
    settings = "training.guided.weight, training.schedule.final_share, training.schedule.plateau"
    assert said[0] == f"this training does not use {settings}: these settings have no effect"
    held_out = {"held_out": 7, "near_duplicates": "keep"}
    prepared(copy_task.config(corpus, name="validated", corpus=held_out), said := list[str]())
    unread = "corpus.held_out, corpus.near_duplicates"
    assert said[0] == f"with validation pairs, nmt does not use {unread}: these settings have no effect"
    without = {"source": "", "target": "", "alignment": ""}
    prepared(copy_task.config(corpus, name="held-out", corpus={**held_out, "validation": without}), said := list[str]())
    assert not any("no effect" in line for line in said)


@pytest.mark.parametrize(
    ("fields", "unread"),
    [
        ({"architecture": "mixed", "transformer": {"decoder_layers": 6, "alignment_layer": 2}},
         ["transformer.decoder_layers", "transformer.alignment_layer"]),
        ({"architecture": "mixed", "transformer": {"longest": 99}}, ["transformer.longest"]),
        ({"architecture": "mixed", "transformer": {"longest": 99, "positions": "learned"}}, []),
        ({"decoder": "luong", "input_feeding": False, "dropout": {"context": 0.3}}, ["dropout.context"]),
        ({"decoder": "luong", "dropout": {"context": 0.3}}, []),
        ({"attention": {"score": "none", "units": 9}, "words_in_readout": False, "piece_in_query": False},
         ["words_in_readout", "piece_in_query", "attention.units"]),
        ({"attention": {"score": "dot", "units": 9, "reach": 9, "positions": 9}},
         ["attention.units", "attention.reach", "attention.positions"]),
        ({"attention": {"score": "dot", "window": "local_p", "units": 9, "reach": 9}}, []),
        ({"attention": {"score": "location", "positions": 9}}, []),
    ],
)  # fmt: skip
def test_settings_that_a_network_lacks_are_known(fields, unread):
    assert config_from_dict(ModelConfig, fields).unread == unread


def test_another_model_is_refused_and_changes_nothing(corpus):
    config = copy_task.config(corpus)
    prepared(config)
    before = (corpus / "runs" / "run" / "config.json").read_bytes()
    with pytest.raises(RunError, match="was begun with model.units = 32, now it is 64: give this run another name"):
        prepared(replace(config, model=replace(config.model, units=64)))
    assert (corpus / "runs" / "run" / "config.json").read_bytes() == before


def test_other_links_make_another_run(corpus):
    config = guided(corpus, lines(corpus, "train.align"))
    prepared(config)
    other = replace(config.training.guided, weight=0.5)
    with pytest.raises(RunError, match=r"begun with training\.guided\.weight = 0\.1, now it is 0\.5"):
        prepared(replace(config, training=replace(config.training, guided=other)))
