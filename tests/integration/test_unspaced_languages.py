"""From text without spaces between words to a model that translates it and aligns its words, by the commands."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path

import pytest
from commands import nmt

from nmt.text.languages import Language
from nmt.text.languages.words import words_of_language

JAPANESE = {
    "who": {"I": "私", "my mother": "母", "my friend": "友達", "the teacher": "先生", "the child": "子供"},
    "what": {"water": "水", "an apple": "りんご", "bread": "パン", "a book": "本", "a picture": "絵", "fish": "魚"},
    "does": {
        "{who} wants {what} .": "{who}は{what}が欲しいです。",
        "{who} bought {what} yesterday .": "{who}は昨日{what}を買いました。",
        "{who} will find {what} here .": "{who}はここで{what}を見つけます。",
        "{who} has {what} , too .": "{who}も{what}を持っています。",
    },
}
THAI = {
    "who": {"I": "ฉัน", "my mother": "แม่ของฉัน", "my friend": "เพื่อนของฉัน", "the teacher": "คุณครู", "the child": "เด็ก"},
    "what": {
        "water": "น้ำ",
        "an apple": "แอปเปิ้ล",
        "bread": "ขนมปัง",
        "a book": "หนังสือ",
        "a picture": "รูปภาพ",
        "fish": "ปลา",
    },
    "does": {
        "{who} wants {what} .": "{who}อยากได้{what}",
        "{who} bought {what} yesterday .": "เมื่อวานนี้{who}ซื้อ{what}",
        "{who} will find {what} here .": "{who}จะหา{what}เจอที่นี่",
        "{who} has {what} , too .": "{who}ก็มี{what}เหมือนกัน",
    },
}


def write_pairs(directory: Path, grammar: dict[str, dict[str, str]]) -> list[str]:
    """120 pairs in the files `en` and `other`; gives the other side."""
    pairs = [
        (english.format(who=w, what=x), other.format(who=who, what=what))
        for (english, other), (w, who), (x, what) in product(*(grammar[k].items() for k in ("does", "who", "what")))
    ]
    for side, lines in zip(("en", "other"), zip(*pairs, strict=True), strict=True):
        (directory / side).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [other for _, other in pairs]


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
