"""`nmt aligner` and `nmt.Aligner`: pairs in, links out."""

from __future__ import annotations

import json
import shutil
import threading

import numpy as np
import pytest
from commands import contents, nmt, run

import nmt as package
from nmt.aligning.learning import Learning
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh, read_gold

TRAINING = "aligner --source my.en --target my.fr --output made"


@pytest.fixture(scope="module")
def trained(text):
    """The text's directory, with a trained aligner in `made` and its links in `my.links`."""
    nmt(f"{TRAINING} --links my.links", text)
    return text


def pairs_of(directory):
    return package.PairsConfig(source=str(directory / "my.en"), target=str(directory / "my.fr"))


def test_the_text_is_aligned_right(trained, tiny):
    """The adjectives are behind their nouns, and no word is linked wrongly in a language without ambiguity."""
    lines = (trained / "my.links").read_text().splitlines()
    assert len(lines) == len(tiny)
    assert [parse_pharaoh(line, "").sure for line in lines] == [links for _, _, links in tiny]


def test_a_trained_aligner_links_other_text(trained):
    """Empty sides and unknown words keep their lines; JSON has posteriors, whose rows sum to 1."""
    (trained / "new.tsv").write_text("The red dog\tle chien rouge\n\tle chat\nthe unseen house\tle maison inconnu\n")
    printed = nmt("aligner --model made --tsv new.tsv --format json", trained).stdout
    first, empty, unseen = map(json.loads, printed.splitlines())
    assert first["links"] == [[0, 0], [1, 2], [2, 1]]
    assert empty["links"] == [] and empty["target"] == ["le", "chat"]
    assert unseen["links"] == [[0, 0], [1, 2], [2, 1]]
    for record in (first, empty, unseen):
        for row, nothing in zip(record["weights"], record["end_of_sentence"], strict=True):
            assert sum(row) + nothing == pytest.approx(1, abs=1e-3)
    assert first["probabilities"][2][1] > 0.9


def test_naacl_has_the_links_of_pharaoh(trained, tiny):
    printed = nmt("aligner --model made --source my.en --target my.fr --format naacl", trained).stdout
    links = read_gold((trained / "my.links").read_text().splitlines(), "my.links")
    assert read_gold(printed.splitlines(), "naacl", "naacl", sentences=len(tiny)) == links


def test_standard_input_is_aligned(trained, tmp_path):
    """A stream is copied, because training reads it several times; its links are those of the same text in files."""
    lines = zip((trained / "my.en").open(), (trained / "my.fr").open(), strict=True)
    text = "".join(f"{source.strip()}\t{target}" for source, target in lines)
    printed = nmt("aligner --tsv - --output made", tmp_path, text).stdout
    assert printed == (trained / "my.links").read_text()


def test_batch_mates_change_nothing(trained, tiny):
    aligner = package.Aligner.load(trained / "made")
    together = list(aligner.align((source, target) for source, target, _ in tiny[:30]))
    for (source, target, _), found in zip(tiny[:30], together, strict=True):
        (alone,) = aligner.align([(source, target)])
        np.testing.assert_allclose(found.probabilities, alone.probabilities, atol=1e-6)


def test_a_finished_aligner_is_not_trained_again(trained):
    before = contents(trained / "made")
    nmt(f"{TRAINING} --links again.links", trained)
    assert contents(trained / "made") == before
    assert (trained / "again.links").read_text() == (trained / "my.links").read_text()


@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_an_interrupted_training_ends_with_the_same_model(trained, tmp_path, monkeypatch, epoch):
    """The model is the same to the bit, whether the interruption comes in the lexicon's epochs or a later one."""
    interrupted, unchanged = threading.Event(), Learning._line
    options = package.AlignerConfig(
        batch_tokens=512, lexicon_epochs=2, jump_epochs=1, fertility_epochs=2
    )  # several batches an epoch

    def stop(learning: Learning):
        if (learning.state.epoch, learning.state.batch) == (epoch, 2):
            interrupted.set()
        return unchanged(learning)

    monkeypatch.setattr("nmt.aligning.learning.StatusLine.show", lambda status, line: line())
    whole = package.Aligner.train(pairs_of(trained), tmp_path / "whole", options)
    monkeypatch.setattr(Learning, "_line", stop)
    assert package.Aligner.train(pairs_of(trained), tmp_path / "parts", options, interrupted=interrupted) is None
    assert (tmp_path / "parts" / "checkpoint.npz").exists()
    monkeypatch.setattr(Learning, "_line", unchanged)
    package.Aligner.train(pairs_of(trained), tmp_path / "parts", options)
    assert whole is not None
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{TRAINING} --jump-epochs 3", "begun with jump_epochs 2, now it is 3"),
        ("aligner --source my.en --target other.fr --output made", "begun with other text"),
        ("aligner --source my.en --target my.fr --model made --jump-epochs 2", "is for a training"),
        ("aligner --source my.en --target my.fr --model .", "holds no aligner"),
        ("aligner --source my.en --target my.fr --output full", "is not empty and holds no aligner"),
    ],
)
def test_mistakes_are_named(trained, command, message):
    (trained / "full").mkdir(exist_ok=True)
    (trained / "full" / "notes.txt").write_text("mine")
    (trained / "other.fr").write_text("autre\n" * 300)
    result = run(["-m", "nmt", *command.split()], trained)
    assert result.returncode == 2
    assert message in result.stderr and len(result.stderr.splitlines()) == 1


def test_a_damaged_aligner_is_refused(trained, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(trained / "made", damaged)
    with open(damaged / "weights.npz", "r+b") as file:
        file.seek(1000)
        file.write(b"\0\1\2\3")
    with pytest.raises(package.NmtError, match=r"weights\.npz: damaged or changed"):
        package.Aligner.load(damaged)
