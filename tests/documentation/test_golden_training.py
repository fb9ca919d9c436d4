"""A short training has the recorded loss. So a change of training or search that moves results is noticed.

If a change moves them on purpose: raise `behaviour` of the row `golden-training` in docs/results.jsonl by one, record
the new values there, and write a line for the changelog. Rows that the change concerns are measured again.
"""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

import pytest

import nmt
from documentation import results

GOLDEN = results.read()["golden-training"]


@pytest.mark.slow
def test_a_hundred_steps_have_the_recorded_loss_and_translations(monkeypatch, tmp_path):
    monkeypatch.chdir(results.ROOT)
    monkeypatch.setenv("TF_NUM_INTRAOP_THREADS", "1")  # a batch in one part: parts draw other dropout
    words = shlex.split(GOLDEN["command"])
    run = nmt.train(nmt.load_config(words[3], [*words[4:], "--directory", str(tmp_path)]))
    with open(Path(run.directory) / "history.csv", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    metrics = GOLDEN["metrics"]
    assert int(last["step"]) == metrics["updates"]
    assert float(last["train_loss"]) == pytest.approx(metrics["train_loss"], abs=1e-3)
    assert float(last["validation_loss"]) == pytest.approx(metrics["validation_loss"], abs=1e-3)
    sources = Path("data/demo/test.en").read_text(encoding="utf-8").splitlines()[:20]
    found = [
        pair.log_probability for pair in nmt.Translator.load(run.directory, precision="float32").translate(sources)
    ]
    assert sum(found) / len(found) == pytest.approx(metrics["mean_log_probability"], abs=1e-2)
