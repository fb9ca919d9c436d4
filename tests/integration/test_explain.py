"""`nmt explain` on the copy task: damaged pairs come first, and attention agrees with erasure."""

from __future__ import annotations

import csv
import json

import copy_task
import numpy as np
import pytest
from commands import nmt, script


@pytest.mark.slow
def test_damaged_pairs_come_first(playground):
    sources = [sentence for sentence in copy_task.sentences(400, seed=9) if len(sentence.split()) == 6]
    copy_task.write_lines(playground / "pairs.source", sources)
    copy_task.write_lines(playground / "pairs.target", [copy_task.translation(sentence) for sentence in sources])
    script("corpora/corrupt", "damage --target pairs.target --output damaged --share 0.3 --seed 2", playground)
    nmt("explain --model runs/copy --source pairs.source --target damaged --output report --worst 2", playground)
    said = script("corpora/corrupt", "measure --damage damaged.tsv --report report/sentences.tsv", playground).stdout
    values = [line.split(": ")[1] for line in said.splitlines()]
    assert float(values[1]) >= 0.9, said  # among as many pairs as are damaged
    for kind in values[3:]:
        found, _, of = kind.split()[:3]
        assert int(found) >= 0.8 * int(of) > 0, said
    with open(playground / "damaged.tsv", newline="") as file:
        kinds = {row["line"]: row["kind"] for row in csv.DictReader(file, delimiter="\t")}
    with open(playground / "report" / "sentences.tsv", newline="") as file:
        reasons = {row["line"]: row["reason"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    named = {"dropped": "perhaps dropped: ", "repeated": "repeats earlier words: "}
    explained = [named[kind] in reasons[line] for line, kind in kinds.items() if kind in named]
    assert sum(explained) >= 0.8 * len(explained)


@pytest.mark.slow
def test_erasure_of_the_model_s_own_translations(playground):
    said = nmt("explain --model runs/copy --source validation.source --output erased --erase --worst 1", playground)
    assert "that is not always the reason for a word" in said.stdout
    records = [json.loads(line) for line in (playground / "erased" / "explanation.jsonl").read_text().splitlines()]
    assert [record["source"] for record in records] == [
        line.split() for line in (playground / "validation.source").read_text().splitlines()
    ]
    first = [value for record in records for value in record["erasure"]["same_first"] if value is not None]
    assert np.mean(first) > 0.5  # each word comes from one of six words: chance is a sixth
    for record in records:
        assert np.shape(record["erasure"]["falls"]) == np.shape(record["weights"])
