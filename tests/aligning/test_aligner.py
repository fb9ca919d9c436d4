"""`nmt aligner` and `nmt.Aligner`: pairs in, links out."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from commands import contents, environment, nmt, run

import nmt as package
from nmt.aligning.directory import open_directory
from nmt.aligning.learning import Learning, learn
from nmt.aligning.preparation import prepare
from nmt.aligning.units import units_of_run
from nmt.alignment.links import Gold
from nmt.alignment.pharaoh_and_naacl import parse_pharaoh, read_gold
from nmt.cli import main
from nmt.evaluation.alignment_error_rate import alignment_score
from nmt.files.locking import locked
from nmt.run.directory import Run
from nmt.text.tokenizer import Tokenizer

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


def test_gold_links_are_measured_beside_the_links(trained, tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(trained)
    lines = [" ".join(f"{s}-{t}" for s, t in sorted(links)) for _, _, links in tiny]
    gold = tmp_path / "gold"
    gold.write_text("".join(f"{line}\n" for line in lines))
    command = f"aligner --model made --source my.en --target my.fr --gold {gold}".split()
    assert main(command) == 0
    output = capsys.readouterr()
    assert output.out == (trained / "my.links").read_text() and "AER = " in output.err
    gold.write_text("99-0\n" + "".join(f"{line}\n" for line in lines[1:]))
    assert main([*command, "--links", str(tmp_path / "links")]) == 2
    message = capsys.readouterr().err
    assert "sentence 1: link 99-0, counted from 0, is out of range" in message
    assert message.endswith("the aligner is trained: mend the file and repeat with --model made\n")
    assert not (tmp_path / "links").exists()


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


@pytest.mark.parametrize("failing", ["replace_listed", "write_atomically"])
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_stop_between_two_files_loses_nothing(trained, tmp_path, monkeypatch, failing, epochs):
    """An epoch writes weights and a checkpoint. Whichever fails, the training is not taken for a finished one, and its
    end is the same."""
    options = package.AlignerConfig(lexicon_epochs=epochs, jump_epochs=0, fertility_epochs=0)
    package.Aligner.train(pairs_of(trained), tmp_path / "whole", options)
    name = {
        "replace_listed": "nmt.aligning.directory.replace_listed",
        "write_atomically": "nmt.run.arrays.write_atomically",
    }
    prepare(tmp_path / "parts", pairs_of(trained), options, lambda line: None)
    with monkeypatch.context() as broken:
        broken.setattr(name[failing], full_disk)
        with pytest.raises(OSError, match="No space"):
            package.Aligner.train(pairs_of(trained), tmp_path / "parts", options)
    package.Aligner.train(pairs_of(trained), tmp_path / "parts", options)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def full_disk(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.skipif(sys.platform == "win32", reason="another Ctrl-C")
def test_ctrl_c_saves_and_the_same_command_resumes(trained):
    """The training is far too long to end before the signal comes."""
    epochs = "--lexicon-epochs 5 --jump-epochs 2 --fertility-epochs 100000"
    command = f"aligner --source my.en --target my.fr --output long --links long.links {epochs}"
    for expected in ("100,007 epochs\n", "resuming in epoch"):
        with subprocess.Popen(
            [sys.executable, "-m", "nmt", *command.split()],
            cwd=trained,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as process:
            begun = next(line for line in process.stderr if "pairs of words" in line)
            process.send_signal(signal.SIGINT)
            said, printed = process.stderr.read(), process.stdout.read()
        assert process.returncode == 130 and not printed
        assert expected in begun
        assert "the same command resumes the training of long" in said and "Traceback" not in said
        assert (trained / "long" / "checkpoint.npz").exists() and not (trained / "long.links").exists()


def test_one_process_at_a_time_trains_an_aligner(trained, tmp_path):
    (tmp_path / "made").mkdir()
    with locked(tmp_path / "made", None), pytest.raises(package.NmtError, match="another process trains"):
        package.Aligner.train(pairs_of(trained), tmp_path / "made")


def make_vocabularies(directory, tiny, size):
    """A run that was never trained, with subword vocabularies of the tiny languages."""
    texts = [[pair[side] for pair in tiny] for side in (0, 1)]
    how = package.VocabularyConfig(type="bpe", size=size, shared=False)
    Run.create(directory, package.RunConfig(name=directory.name), *(Tokenizer.train(text, how) for text in texts))


@pytest.mark.slow
def test_pieces_of_a_run_are_aligned(trained, tiny, tmp_path):
    """Links are between words. An aligner with the vocabularies of another run is not resumed."""
    make_vocabularies(tmp_path / "one", tiny, 40)
    make_vocabularies(tmp_path / "other", tiny, 45)
    nmt(f"aligner --source my.en --target my.fr --output pieces --run {tmp_path / 'one'} --links pieces.links", trained)
    found = read_gold((trained / "pieces.links").read_text().splitlines(), "pieces.links")
    assert alignment_score([links.sure for links in found], [Gold(links, links) for _, _, links in tiny]).aer < 0.2
    units, options = units_of_run(str(tmp_path / "other"), package.AlignerConfig())
    with pytest.raises(package.NmtError, match="begun with vocabularies of another run"):
        package.Aligner.train(pairs_of(trained), trained / "pieces", options, units)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (f"{TRAINING} --jump-epochs 3", "begun with jump_epochs 2, now it is 3"),
        ("aligner --source my.en --target other.fr --output made", "begun with other text"),
        ("aligner --source my.en --target my.fr --model made --jump-epochs 2", "is for a training"),
        ("aligner --source my.en --target my.fr --model .", "holds no aligner"),
        ("info made", "made: is an aligner, which nmt aligner --model reads"),
        ("translate --model made --source my.en", "made: is an aligner, which nmt aligner --model reads"),
        ("aligner --source my.en --target my.fr --model made --source-language zh", "--source-language is decided by"),
        ("aligner --source my.en --target my.fr --run none --source-words cut", "--source-words is decided by the run"),
        ("aligner --source my.en --target my.fr --output new --links none/links", "none: no such directory"),
        (
            "aligner --source my.en --target my.fr --output new --config unit.yaml",
            "unit is piece: pieces are those of a run",
        ),
        ("aligner --source my.en --target my.fr --output full", "is not empty and holds no aligner"),
        ("aligner --tsv - --output full", "is not empty and holds no aligner"),
        ("aligner --model made --source my.en --target my.fr --gold my.links --links my.links", "is named twice"),
    ],
)
def test_mistakes_are_named(trained, command, message):
    (trained / "full").mkdir(exist_ok=True)
    (trained / "full" / "notes.txt").write_text("mine")
    (trained / "other.fr").write_text("autre\n" * 300)
    (trained / "unit.yaml").write_text("unit: piece\n")
    result = run(["-m", "nmt", *command.split()], trained)
    assert result.returncode == 2
    assert message in result.stderr and len(result.stderr.splitlines()) == 1
    assert [path.name for path in (trained / "full").iterdir()] == ["notes.txt"]
    assert not (trained / "new").exists()


def test_weights_that_do_not_fit_are_refused(trained, tmp_path):
    """As an aligner of another version may have."""
    shutil.copytree(trained / "made", tmp_path / "other")
    made = open_directory(tmp_path / "other")
    weights = made.weights()
    for changed in ({"forward.support": np.zeros(3)}, {"forward.support": None}):
        made.save_weights({name: array for name, array in (weights | changed).items() if array is not None})
        with pytest.raises(package.NmtError, match=r"weights\.npz: damaged, or of another version"):
            package.Aligner.load(tmp_path / "other")


def test_a_damaged_aligner_is_refused(trained, tmp_path):
    damaged = tmp_path / "damaged"
    shutil.copytree(trained / "made", damaged)
    with open(damaged / "weights.npz", "r+b") as file:
        file.seek(1000)
        file.write(b"\0\1\2\3")
    with pytest.raises(package.NmtError, match=r"weights\.npz: damaged or changed"):
        package.Aligner.load(damaged)
    assert main(["verify", str(damaged)]) == 2


def test_a_damaged_checkpoint_names_the_files_to_delete(trained, tmp_path):
    """Without both the aligner would count as finished."""
    damaged = tmp_path / "damaged"
    shutil.copytree(trained / "made", damaged)
    (damaged / "checkpoint.npz").write_bytes(b"half")
    message = r"checkpoint\.npz: damaged: delete it and .*weights\.npz, and the training begins again"
    with pytest.raises(package.NmtError, match=message):
        learn(open_directory(damaged))


def test_a_changed_symmetrization_is_saved(trained, tmp_path):
    made = tmp_path / "made"
    shutil.copytree(trained / "made", made)
    before = open_directory(made)
    other = replace(before, config=replace(before.config, symmetrize="union"))
    other.save_settings()
    assert open_directory(made).config.symmetrize == "union" != before.config.symmetrize
    assert main(["verify", str(made)]) == 0


def test_damaged_pairs_are_not_learned_from(trained, tmp_path):
    """Training would go on with the pairs that are left."""
    shutil.copytree(trained / "made", tmp_path / "made")
    for name in ("source.ids", "source.lengths", "target.ids", "target.lengths"):
        (tmp_path / "made" / "corpus" / name).write_bytes(b"")
    with pytest.raises(package.NmtError, match=r"corpus/source\.ids: damaged or changed"):
        package.Aligner.train(pairs_of(trained), tmp_path / "made")


def test_a_whole_aligner_is_verified(trained, capsys):
    assert main(["verify", str(trained / "made")]) == 0
    assert "all as nmt wrote them" in capsys.readouterr().out


def test_a_changed_aligner_is_accepted(trained, tmp_path, capsys):
    changed = tmp_path / "my aligner"
    shutil.copytree(trained / "made", changed)
    config = changed / "config.json"
    config.write_text(config.read_text() + " ")
    with pytest.raises(package.NmtError, match=f"nmt verify --accept '{changed}'"):
        package.Aligner.load(changed)
    assert main(["verify", str(changed), "--accept"]) == 0
    package.Aligner.load(changed)
    (changed / "weights.npz").write_bytes(b"damaged")
    assert main(["verify", str(changed), "--accept"]) == 2


def test_a_table_of_runs_leaves_aligners_out(trained, capsys):
    assert main(["runs", str(trained)]) == 0
    assert capsys.readouterr() == ("", f"nmt: {trained}: no runs; nmt train makes one\n")
