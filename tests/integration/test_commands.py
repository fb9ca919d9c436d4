"""The real commands on the copy task, from training to translation."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil

import copy_task
import pytest
from commands import contents, nmt, script

UNUSUAL = ["ba 😀 ki", "", "مرحبا بالعالم", "ba\u2028ki", "   ", "\u0301", "ki\u0085mu \x0c ba", "漢字", "ba" * 3000]


@pytest.fixture
def held_out(playground) -> list[str]:
    return (playground / "validation.source").read_text().splitlines()


def test_training_learns_to_copy(playground):
    with open(playground / "runs" / "copy" / "history.csv", newline="") as file:
        history = list(csv.DictReader(file))
    assert [int(row["pass"]) for row in history] == list(range(1, 13))
    assert max(float(row["validation_bleu"]) for row in history) > 90
    assert float(history[-1]["validation_aer"]) < 0.1
    assert float(history[-1]["validation_loss"]) < 0.3


def test_training_reports_its_progress(playground):
    said = (playground / "train.log").read_text()
    assert "2,000 pairs read, 2,000 kept" in said
    assert "2,000 training pairs, 40 validation pairs" in said
    assert "epoch 2/12  step 50/~" in said
    assert "training has ended: 12 epochs done" in said
    assert said.endswith("translate with: nmt translate --model runs/copy\n".replace("runs", f"{playground}/runs"))


@pytest.mark.slow
def test_fine_tuning_starts_from_the_weights_of_the_other_run(playground):
    """One epoch from random weights is far worse: `test_training_learns_to_copy` needs twelve."""
    command = "train --config config.yaml --name tuned --training.initial runs/copy --training.passes 1"
    said = nmt(f"{command} --training.schedule.learning_rate 0.001", playground).stderr
    assert re.search(r"begins with the weights of runs/copy, which has (\d+) of \1 source pieces and \1 of \1", said)
    rows = {}
    for name in ("copy", "tuned"):
        with open(playground / "runs" / name / "history.csv", newline="") as file:
            rows[name] = float(next(csv.DictReader(file))["validation_bleu"])
    assert rows["tuned"] > 90 > 2 * rows["copy"]


@pytest.mark.slow
def test_distilled_and_back_translated_pairs_can_be_trained_on(playground, held_out):
    outputs = "--output-source made.source --output-target made.target"
    nmt(f"distil --model runs/copy --source validation.source --target validation.target {outputs}", playground)
    sides = [(playground / f"made.{side}").read_text().splitlines() for side in ("source", "target")]
    assert sides[0] == [line for line in held_out for _ in range(2)]
    assert sides[1][::2] == (playground / "validation.target").read_text().splitlines()
    assert sum(given == made for given, made in zip(sides[1][::2], sides[1][1::2], strict=True)) >= 36
    said = nmt(f"back-translate --model runs/copy --input validation.source {outputs} --tag <made>", playground).stderr
    assert "--vocabulary.symbols '<made>'" in said
    files = "--corpus.train.source made.source --corpus.train.target made.target --corpus.held_out 5"
    flags = "--vocabulary.symbols [<made>] --vocabulary.type word --vocabulary.size 60 --training.passes 1"
    nmt(f"train --name made {files} {flags} --model.units 8 --model.embedding 8 --directory runs", playground)
    pieces = nmt("embeddings --model runs/made --neighbours <made> --pieces", playground).stdout
    assert "<made>" in pieces


def test_translate_a_file(playground, held_out):
    said = nmt("translate --model runs/copy --input validation.source --output out --alignments links", playground)
    assert said.stdout == ""
    translations = (playground / "out").read_text().splitlines()
    right = [copy_task.translation(sentence) for sentence in held_out]
    assert sum(ours == theirs for ours, theirs in zip(translations, right, strict=True)) >= 36
    links = (playground / "links").read_text().splitlines()
    assert sum(ours == copy_task.links(s) for ours, s in zip(links, held_out, strict=True)) >= 34


@pytest.mark.slow
def test_translate_with_a_short_list_that_is_learned_once(playground, held_out):
    """Each list has less than half of all pieces, and the translations stay the same."""
    command = "translate --model runs/copy --input validation.source --short-list 1"
    said = [nmt(command, playground) for _ in range(2)]
    assert said[0].stdout == nmt("translate --model runs/copy --input validation.source", playground).stdout
    assert said[0].stdout == said[1].stdout
    assert ["learning the short list" in result.stderr for result in said] == [True, False]
    assert (playground / "runs" / "copy" / "shortlist.npz").exists()


def test_every_input_line_gives_one_output_line(playground):
    result = nmt("translate --model runs/copy", playground, "\n".join(UNUSUAL) + "\n")
    lines = result.stdout.split("\n")
    assert len(lines) == len(UNUSUAL) + 1
    assert (lines[1], lines[4], lines[-1]) == ("", "", "")
    assert lines[0].split()[0] == "abo"


def test_translate_gz_by_the_script(playground, held_out):
    (playground / "in.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in held_out[:3]).encode()))
    result = script("translate", "--model runs/copy --input in.gz --beam-size 2", playground)
    assert result.stdout.splitlines() == [copy_task.translation(sentence) for sentence in held_out[:3]]


def test_align_given_pairs_by_the_script(playground, held_out):
    files = "--source validation.source --target validation.target --gold validation.align"
    said = script("export_alignments", f"--model runs/copy {files} --output given --limit 3 --format svg", playground)
    assert float(said.stdout.removeprefix("AER = ").split()[0]) < 0.1
    records = [json.loads(line) for line in (playground / "given" / "alignments.jsonl").read_text().split("\n")[:-1]]
    assert [record["line"] for record in records] == list(range(1, 41))
    for record, sentence in zip(records, held_out, strict=True):
        assert record["source"] == sentence.split()
        assert record["target"] == copy_task.translation(sentence).split()
        assert record["log_probability"] < 0
        for row, end in zip(record["weights"], record["end_of_sentence"], strict=True):
            assert sum(row) + end == pytest.approx(1, abs=1e-3)
    links = (playground / "given" / "alignments.pharaoh").read_text().splitlines()
    assert links == [" ".join(f"{s}-{t}" for s, t in record["links"]) for record in records]
    assert sorted(path.name for path in (playground / "given").glob("*.svg")) == ["0001.svg", "0002.svg", "0003.svg"]


def test_align_own_translations(playground):
    (playground / "three").write_text("ba ki me\n\nla be\n")
    nmt("align --model runs/copy --source three --output own", playground)
    assert (playground / "own" / "alignments.pharaoh").read_text() == "0-0 1-1 2-2\n\n0-0 1-1\n"
    assert sorted(contents(playground / "own")) == [
        "0001.png", "0003.png", "alignments.html", "alignments.jsonl", "alignments.pharaoh",
    ]  # fmt: skip
    assert contents(playground / "own")["0001.png"].startswith(b"\x89PNG")


@pytest.mark.slow
def test_align_in_both_directions(playground):
    """A copy of the model plays the opposite direction. The intersection is a subset of one direction's links."""
    shutil.copytree(playground / "runs" / "copy", playground / "opposite")
    files = "--source validation.source --target validation.target --limit 0"
    nmt(f"align --model runs/copy {files} --output one", playground)
    nmt(f"align --model runs/copy --reverse opposite --symmetrize intersection {files} --output both", playground)
    one, both = ((playground / name / "alignments.pharaoh").read_text().split("\n") for name in ("one", "both"))
    assert all(set(fewer.split()) <= set(more.split()) for fewer, more in zip(both, one, strict=True))
    assert both != one


def test_evaluate(playground):
    files = "--source validation.source --reference validation.target --gold validation.align"
    scores = nmt(f"evaluate --model runs/copy {files} --json scores --output evaluated", playground).stdout.splitlines()
    bleu, chrf, aer = (float(line.split(" = ")[1].split()[0]) for line in scores)
    assert bleu > 90
    assert chrf > 90
    assert aer < 0.1
    assert "BLEU = " in scores[0]
    assert "(nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in scores[0]
    assert scores[1].startswith("chrF2 = ")
    assert "(nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:" in scores[1]
    assert scores[2].startswith("AER = ")
    assert json.loads((playground / "scores").read_text())["sentences"] == 40
    assert len((playground / "evaluated").read_text().splitlines()) == 40


def test_tune(playground):
    """The first line has the run's own penalty, and the BLEU of its translations."""
    files = "--model runs/copy --source validation.source --reference validation.target --precision float32"
    _, own, *others = nmt(f"tune {files}", playground).stdout.splitlines()
    assert f"BLEU = {own.split()[2]} " in nmt(f"evaluate {files}", playground).stdout
    assert len(others) == 25


def test_a_finished_run_stays_unchanged(playground):
    before = contents(playground / "runs")
    said = script("train", "--config config.yaml", playground).stderr
    assert "training has ended: 12 epochs done" in said
    assert contents(playground / "runs") == before
