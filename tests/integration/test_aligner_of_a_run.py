"""`nmt aligner --for`: a run learns an aligner, keeps it, and takes its links from it."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import copy_task
import numpy as np
import pytest

from nmt import Aligner, Translator
from nmt.aligning.run_training import training_text
from nmt.batches.encoded_corpus import EncodedCorpus
from nmt.cli import main
from nmt.run.directory import Run
from nmt.run.pack_storage import storage_of

EPOCHS = ["--lexicon-epochs", "3", "--jump-epochs", "1", "--fertility-epochs", "1"]
SENTENCES = copy_task.sentences(20, seed=9)


@pytest.fixture(scope="module")
def place(playground, tmp_path_factory) -> Path:
    """A directory with a run that has an aligner, its pack, and a text."""
    directory = tmp_path_factory.mktemp("head")
    shutil.copytree(playground / "runs" / "copy", directory / "run")
    assert main(["aligner", "--for", str(directory / "run"), *EPOCHS]) == 0
    assert main(["pack", "--model", str(directory / "run"), "--output", str(directory / "model.nmt")]) == 0
    copy_task.write_lines(directory / "text", SENTENCES)
    return directory


def test_the_run_and_its_pack_keep_the_aligner(place, capfd):
    pairs = [(sentence, copy_task.translation(sentence)) for sentence in SENTENCES]
    for name in ("run", "model.nmt"):
        links = [pair.pharaoh() for pair in Aligner.load(place / name).align(pairs)]
        assert links == [copy_task.links(sentence) for sentence in SENTENCES]
        assert main(["verify", str(place / name)]) == 0
    assert not list((place / "run").glob("aligner-training*"))
    with zipfile.ZipFile(place / "model.nmt") as archive:
        assert archive.getinfo("aligner.npz").file_size < 2**16


def test_the_aligner_of_a_run_aligns_pairs(place, capfd):
    text = ["--tsv", str(place / "pairs.tsv")]
    (place / "pairs.tsv").write_text("".join(f"{one}\t{copy_task.translation(one)}\n" for one in SENTENCES))
    assert main(["aligner", "--model", str(place / "model.nmt"), *text, "--max-words", "3"]) == 0
    found = capfd.readouterr()
    expected = [" ".join(copy_task.links(sentence).split()[:3]) for sentence in SENTENCES]
    assert found.out.splitlines() == expected
    long = sum(sentence.count(" ") > 2 for sentence in SENTENCES)
    assert f"{long} pairs with more than 3 words on a side: later words have no links" in found.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--for", "model.nmt"], "model.nmt: is a pack, which cannot be changed"),
        (["--for", "none"], "none: no such run directory"),
        (["--for", "run", "--output", "other"], "--output names another aligner: leave it or --for out"),
        (["--for", "run", "--links", "out"], "--links is for links of pairs, and --for writes none"),
        (["--for", "run", "--source-words", "cut"], "--source-words is decided by the run"),
        (["--for", "run", "--source-column", "3"], "--source-column is for text that the command line names"),
        (["--for", "run", "--config", "text"], "text: expected fields, such as `jump_epochs: 5`"),
        (["--for", "empty"], "empty: has no training pairs (corpus/): name the text with --source and --target"),
    ],
)
def test_mistakes_are_refused(place, monkeypatch, capfd, flags, message):
    monkeypatch.chdir(place)
    if not (place / "empty").exists():
        shutil.copytree(place / "run", place / "empty", ignore=shutil.ignore_patterns("corpus"))
    assert main(["aligner", *flags]) == 2
    assert message in capfd.readouterr().err


def test_a_run_learns_from_other_text(place, playground, capfd):
    """Text of the command line takes the place of the training pairs, and the new aligner that of the old one."""
    run = place / "other"
    shutil.copytree(place / "run", run)
    pairs = ["--source", str(playground / "validation.source"), "--target", str(playground / "validation.target")]
    assert main(["aligner", "--for", str(run), *pairs, *EPOCHS]) == 0
    assert (run / "aligner.npz").read_bytes() != (place / "run" / "aligner.npz").read_bytes()
    assert main(["verify", str(run)]) == 0


def test_text_from_a_pipe_is_not_taken_for_the_pairs_of_the_run(place):
    """An interrupted training on such text leaves it in the run."""
    work = place / "begun"
    (work / "text").mkdir(parents=True)
    for name in ("config.json", "cells.npz", "source.words", "text/source.txt", "text/target.txt"):
        (work / name).touch()
    run = Run.open(place / "run")
    pairs = training_text(run, work)
    assert len(Path(pairs.source).read_text().splitlines()) == len(EncodedCorpus(run.directory / "corpus")) > 0


@pytest.mark.slow
def test_translations_are_the_same_with_and_without_the_aligner(place, monkeypatch, capfd):
    """Text, probabilities and attention are the same to the bit; the links are those of the aligner."""
    own = Translator.load(place / "run").translate(SENTENCES)
    attention = Translator.load(place / "run", aligner=False).translate(SENTENCES)
    for one, other in zip(own, attention, strict=True):
        assert (one.text, one.log_probability) == (other.text, other.log_probability)
        np.testing.assert_array_equal(one.alignment.weights, other.alignment.weights)
        assert (one.alignment.linked_by, other.alignment.linked_by) == ("aligner", "attention")
    monkeypatch.chdir(place)
    answers = []
    for more in ([], ["--aligner", "none"]):
        given = ["--source", "text", "--output", "out", "--alignments", "links"]
        assert main(["translate", "--model", "run", *given, *more]) == 0
        answers.append((place / "out").read_bytes())
        for command in ("align", "explain"):
            given = ["--source", "text", "--output", f"{command}-out", "--limit", "1"]
            assert main([command, "--model", "run", *given, *more]) == 0
        records = (place / "align-out" / "alignments.jsonl").read_text().splitlines()
        assert {json.loads(record)["linked_by"] for record in records} == {"attention" if more else "aligner"}
        legend = "by an aligner, not by attention"
        for page in ("align-out/alignments.html", "explain-out/explanation.html"):
            assert (legend in (place / page).read_text()) == (not more)
    assert answers[0] == answers[1]


@pytest.mark.slow
def test_an_export_carries_the_aligner(place, tmp_path, capfd):
    pytest.importorskip("onnxruntime")
    assert main(["export", "--model", str(place / "run"), "--output", str(tmp_path / "out")]) == 0
    assert main(["verify", str(tmp_path / "out")]) == 0
    assert Run.open(tmp_path / "out").has_aligner and storage_of(tmp_path / "out").exists("aligner.npz")
    found = Translator.load(tmp_path / "out").translate_one(SENTENCES[0])
    assert found.alignment.linked_by == "aligner"
    assert found.alignment.pharaoh() == copy_task.links(SENTENCES[0])
