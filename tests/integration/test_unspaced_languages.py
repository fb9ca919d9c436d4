"""From text without spaces between words to a model that translates it and aligns its words, by the commands."""

from __future__ import annotations

import csv
import json

import pytest
from commands import nmt
from unspaced_pairs import JAPANESE, THAI, write_pairs

from nmt.text.languages import Language
from nmt.text.languages.words import words_of_language


@pytest.mark.slow
@pytest.mark.parametrize(("tag", "grammar"), [("ja", JAPANESE), ("th", THAI)])
def test_text_without_spaces_is_learned_measured_and_aligned(tag, grammar, tmp_path):
    lines = write_pairs(tmp_path, grammar)
    pairs = "--corpus.{0}.source en --corpus.{0}.target other"
    done = nmt(
        f"train --directory runs --name walk {pairs.format('train')} {pairs.format('validation')} "
        "--vocabulary.type bpe --vocabulary.size 150 --model.units 64 --model.embedding 32 --model.attention.units 32 "
        "--model.dropout.embedding 0 --model.dropout.encoder 0.1 --model.dropout.readout 0 --training.passes 25 "
        "--training.batch_tokens 300 --training.schedule.learning_rate 0.01 --training.schedule.warmup_steps 20 "
        "--training.ema 0.9",
        tmp_path,
    )
    assert f"languages: und-Latn to {tag}, by the script of the text" in done.stderr
    assert f"words of the target are cut by budoux's model {tag}" in done.stderr
    with open(tmp_path / "runs" / "walk" / "history.csv", newline="") as file:
        bleu = [float(row["validation_bleu"]) for row in csv.DictReader(file)]
    assert bleu[-1] > 50

    done = nmt("translate --model runs/walk --input en", tmp_path)
    assert sum(ours == line for ours, line in zip(done.stdout.splitlines(), lines, strict=True)) > 60

    done = nmt("align --model runs/walk --source en --target other --output aligned --format html --limit 1", tmp_path)
    assert "links count these words" in done.stderr
    cut = words_of_language(Language(tag))
    records = [json.loads(line) for line in (tmp_path / "aligned" / "alignments.jsonl").read_text().splitlines()]
    assert [record["target"] for record in records] == [cut(line) for line in lines]
    linked = [len({target for _, target in record["links"]}) / len(record["target"]) for record in records]
    assert min(len(record["target"]) for record in records) >= 3
    assert sum(linked) / len(linked) > 0.7

    done = nmt("evaluate --model runs/walk --source en --reference other", tmp_path)
    assert "tok:char" in done.stdout or "tok:ja-mecab" in done.stdout
