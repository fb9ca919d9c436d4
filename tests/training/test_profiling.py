"""A new run records the profile of its training text, and warns of sides that are the wrong way round."""

from __future__ import annotations

import copy_task
import pytest
from prepared_runs import lines, prepared

from nmt.run.errors import RunError
from nmt.run.text_profile import PROFILE, load_profile


@pytest.fixture
def corpus(tmp_path):
    copy_task.write_corpus(tmp_path, train=60, validation=10)
    return tmp_path


def validation(corpus, source: str, target: str) -> dict:
    return {"corpus": {"validation": {"source": f"{corpus}/{source}", "target": f"{corpus}/{target}", "alignment": ""}}}


def warnings(said: list[str]) -> list[str]:
    return [line for line in said if line.startswith("warning: ")]


def test_a_run_has_the_profile_of_its_training_pairs(corpus):
    run = prepared(copy_task.config(corpus)).run
    profile = load_profile(run.directory)
    assert profile is not None
    assert profile.source.lines == 60
    assert profile.source.words == sum(len(line.split()) for line in lines(corpus, "train.source"))
    ids = run.target.encode(lines(corpus, "train.target"))
    assert profile.target.pieces == [sum(found.count(piece) for found in ids) for piece in range(run.target.size)]
    assert profile.source_leaning < -0.5 < 0.5 < profile.target_leaning


def test_swapped_validation_files_are_named_each_time(corpus):
    """The second run takes its files from the cache."""
    for name in ("one", "two"):
        said: list[str] = []
        prepared(
            copy_task.config(corpus, name=name, **validation(corpus, "validation.target", "validation.source")), said
        )
        (warning,) = warnings(said)
        assert warning.startswith("warning: each side of the validation pairs looks like the other side")
        assert "\n" not in warning


def test_one_wrong_validation_file_is_named(corpus):
    said: list[str] = []
    prepared(copy_task.config(corpus, **validation(corpus, "validation.target", "validation.target")), said)
    equal, exchanged = warnings(said)
    assert "10 of 10 validation pairs have the same text on both sides" in equal
    assert exchanged.startswith("warning: the source side of the validation pairs")


def test_right_files_give_no_warning(corpus):
    said: list[str] = []
    prepared(copy_task.config(corpus), said)
    assert not warnings(said)


def test_sides_that_are_swapped_beside_the_initial_run_are_named(corpus, monkeypatch):
    from nmt.training.preparation import prepare

    initial = prepared(copy_task.config(corpus, name="initial")).run
    monkeypatch.setattr(prepare, "open_initial_run", lambda config: initial)
    train = {"source": f"{corpus}/train.target", "target": f"{corpus}/train.source"}
    changes = validation(corpus, "validation.target", "validation.source")
    changes["corpus"]["train"] = train
    for name, changed, count in (("tuned", {}, 0), ("swapped", changes, 1)):
        said: list[str] = []
        training = {"initial": str(initial.directory)}
        prepared(copy_task.config(corpus, name=name, training=training, **changed), said)
        assert len(warnings(said)) == count
    assert f"looks like the other side of {initial.directory}" in warnings(said)[0]


def test_text_that_the_vocabulary_of_another_run_cannot_read_is_named(corpus):
    vocabulary = {"run": str(prepared(copy_task.config(corpus, name="first")).run.directory)}
    prepared(copy_task.config(corpus, name="same", vocabulary=vocabulary), same := list[str]())
    assert not warnings(same)
    copy_task.write_lines(corpus / "train.source", [f"{line} Я" for line in lines(corpus, "train.source")])
    prepared(copy_task.config(corpus, name="other", vocabulary=vocabulary), said := list[str]())
    (warning,) = warnings(said)
    assert f"the vocabulary of {vocabulary['run']} lacks " in warning and "so the model cannot read them" in warning
    prepared(copy_task.config(corpus, name="new"), new := list[str]())
    assert not warnings(new)


def test_a_damaged_profile_of_the_initial_run_is_a_warning(corpus, monkeypatch):
    from nmt.training.preparation import prepare

    initial = prepared(copy_task.config(corpus, name="initial")).run
    monkeypatch.setattr(prepare, "open_initial_run", lambda config: initial)
    (initial.directory / PROFILE).write_text("{}")
    said: list[str] = []
    prepared(copy_task.config(corpus, name="tuned", training={"initial": str(initial.directory)}), said)
    (warning,) = warnings(said)
    assert warning.startswith(f"warning: {initial.directory / PROFILE}: damaged")


def test_a_run_without_a_profile_has_none(corpus):
    run = prepared(copy_task.config(corpus)).run
    (run.directory / PROFILE).unlink()
    assert load_profile(run.directory) is None
    assert load_profile(corpus / "nowhere") is None


def test_a_profile_of_other_vocabularies_is_one_line(corpus):
    run = prepared(copy_task.config(corpus)).run
    sizes = run.source.size, run.target.size
    assert load_profile(run.directory, sizes) == load_profile(run.directory)
    with pytest.raises(RunError, match=r"profile.json: damaged \(it counts .* pieces, .*: delete it"):
        load_profile(run.directory, (sizes[0], sizes[1] + 1))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"source": 3}', "\x00"])
def test_a_damaged_profile_is_one_line(content, corpus):
    (corpus / PROFILE).write_text(content)
    with pytest.raises(RunError, match=r"profile.json: damaged .*: delete it") as error:
        load_profile(corpus)
    assert "\n" not in str(error.value)
