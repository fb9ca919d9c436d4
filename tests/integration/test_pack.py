"""A pack: the file that `nmt pack` makes of a run translates as the run does, and has none of its text."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import copy_task
import numpy as np
import pytest
from commands import contents

from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.cli import main
from nmt.run.directory import Run
from nmt.translation.short_list import ShortList


@pytest.fixture(scope="module")
def place(playground, tmp_path_factory) -> Path:
    """A directory with a copy of the run, its pack, and a text."""
    directory = tmp_path_factory.mktemp("pack")
    shutil.copytree(playground / "runs" / "copy", directory / "run")
    ShortList.of_run(Run.open(directory / "run"))
    copy_task.write_lines(directory / "text", copy_task.sentences(20, seed=9))
    copy_task.write_lines(directory / "reference", [*map(copy_task.translation, copy_task.sentences(20, seed=9))])
    assert main(["pack", "--model", str(directory / "run"), "--output", str(directory / "model.nmt")]) == 0
    return directory


@pytest.mark.parametrize(
    "command",
    [
        "score --source text --target reference",
        *(
            pytest.param(command, marks=pytest.mark.slow)
            for command in (
                "translate --input text --nbest 2",
                "translate --input text --short-list 3",
                "evaluate --source text --reference reference",
                "align --source text --format svg --output drawn --links shares",
            )
        ),
    ],
)
def test_every_command_answers_from_the_pack_as_from_the_run(command, place, monkeypatch, capfd):
    monkeypatch.chdir(place)
    answers = []
    for model in ("run", "model.nmt"):
        assert main([*command.split(), "--model", model]) == 0
        drawn = place / "drawn" / "alignments.pharaoh"
        answers.append((capfd.readouterr().out, drawn.exists() and drawn.read_text()))
    assert answers[0] == answers[1]
    assert any(answers[0])


def test_the_pack_has_no_sentence_of_the_training_or_validation_text(place, playground):
    with zipfile.ZipFile(place / "model.nmt") as archive:
        whole = b"".join(archive.read(name) for name in archive.namelist())
    run = place / "run"
    corpus = EncodedCorpus(run / "corpus")
    searched = 0
    for name in ("train.source", "train.target", "validation.source", "validation.target"):
        for line in (playground / name).read_text().splitlines():
            if line.count(" ") > 1:  # words are pieces of the vocabulary, and two short ones might meet by chance
                assert line.encode() not in whole
                searched += 1
    for side in (corpus.source, corpus.target):
        for index in range(len(side)):
            ids, _ = side.gather(np.array([index]))
            if len(ids) > 3:
                for dtype in (np.uint16, np.int32, np.int64):
                    assert ids.astype(dtype).tobytes() not in whole
                searched += 1
    assert searched > 2000
    assert str(playground).encode() not in whole  # no path of the machine


def test_equal_runs_give_equal_packs_with_a_card(place, tmp_path, capfd):
    command = ["pack", "--model", str(place / "run"), "--output", str(tmp_path / "model.nmt")]
    assert main(command) == 0
    assert (tmp_path / "model.nmt").read_bytes() == (place / "model.nmt").read_bytes()
    output = capfd.readouterr()
    assert "left out: corpus/ (training and validation text), " in output.err
    assert "left out: checkpoints/ (checkpoints), " in output.err
    assert "no licence yet" in output.err
    with zipfile.ZipFile(tmp_path / "model.nmt") as archive:
        card = archive.read("README.md").decode()
    assert "validation pairs, which also selected the weights: other" in card and "| validation bleu | " in card
    assert "best.npz" in output.out and " KiB  config.json\n" in output.out
    assert main([*command, "--licence", "CC BY 4.0", "--checkpoints", "1"]) == 0
    with zipfile.ZipFile(tmp_path / "model.nmt") as archive:
        card = archive.read("README.md").decode()
    assert "Licence: CC BY 4.0" in card
    assert "The mean of these checkpoints was not scored" in card
    for row in (
        "| training pairs | 2,000 |",
        "| validation pairs | 40 |",
        "Bahdanau decoder",
    ):
        assert row in card
    assert main(["verify", str(tmp_path / "model.nmt")]) == 0


@pytest.mark.slow
def test_a_pack_of_a_checkpoint_translates_as_the_checkpoint(place, tmp_path, capfd):
    command = ["pack", "--model", str(place / "run"), "--output", str(tmp_path / "newest.nmt"), "--checkpoints", "1"]
    assert main(command) == 0
    capfd.readouterr()
    answers = []
    for model in ([str(tmp_path / "newest.nmt")], [str(place / "run"), "--checkpoints", "1"]):
        assert main(["score", "--source", f"{place}/text", "--target", f"{place}/reference", "--model", *model]) == 0
        answers.append(capfd.readouterr().out)
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_training_begins_with_a_pack(place, playground, tmp_path, capfd):
    pack = str(place / "model.nmt")
    settings = json.loads((playground / "config.yaml").read_text())
    settings["training"] |= {"passes": 1}
    (tmp_path / "config.json").write_text(json.dumps({**settings, "directory": str(tmp_path), "name": "tuned"}))
    flags = ["--training.initial", pack, "--vocabulary.run", pack]
    assert main(["train", "--config", str(tmp_path / "config.json"), *flags]) == 0
    assert f"training begins with the weights of {pack}" in capfd.readouterr().err
    assert (tmp_path / "tuned" / "shared.model").read_bytes() == (place / "run" / "shared.model").read_bytes()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("translate --model model.nmt --input text --checkpoints 2", "model.nmt: is a pack, which has no checkpoints"),
        ("tune --model model.nmt --source text --reference reference --save", "is a pack, which cannot be changed"),
        ("pack --model model.nmt --output other.nmt", "model.nmt: is a pack, which cannot be changed"),
        ("pack --model run --output run", "run: is in the run directory: name a file outside of run, such as run.nmt"),
        ("pack --model run --output .", ".: is a directory; name a file to write, such as model.nmt"),
        ("pack --model run --output -", "--output -: a pack is not written to standard output"),
        ("pack --model run --output other.nmt --checkpoints 9", "keeps 1 checkpoint, 9 are needed"),
        ("verify model.nmt --accept", "model.nmt: is a pack, which cannot be changed"),
        ("verify text", "text: is a file, not a run directory or a pack"),
        (
            "train --name model.nmt --directory . --corpus.train.source text --corpus.train.target reference",
            "is a file",
        ),
    ],
)
def test_what_a_pack_cannot_do_is_one_line(command, message, place, monkeypatch, capfd):
    monkeypatch.chdir(place)
    before = contents(place)
    assert main(command.split()) == 2
    output = capfd.readouterr()
    assert message in output.err
    assert output.err.count("\n") == 1
    assert contents(place) == before
