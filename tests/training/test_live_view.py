"""history.png and run.html of a run in training. The step and the translations are replaced, so no network runs."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from short_runs import config, history

from nmt.alignment.word_alignment import WordAlignment
from nmt.config import RunConfig, TrainingConfig
from nmt.run.samples import read_samples
from nmt.training import live_view
from nmt.training.live_view import best_row
from nmt.training.state import TrainingState
from nmt.training.trainer import train
from nmt.training.validation import Validation
from nmt.translation.result import Translation

DRAWN = ("history.png", "run.html", "samples.jsonl")
EVIL = "</script><b>&"


@pytest.fixture
def sampled(counting, monkeypatch) -> None:
    """Each validation translates two sentences."""
    pair = WordAlignment(("a", EVIL), (EVIL,), np.array([[0.25, 0.5]]), np.array([0.25]))
    found = [(number, EVIL, Translation("a b", EVIL, -1.5, -1.5, pair)) for number in (0, 3)]
    monkeypatch.setattr(Validation, "samples", lambda self: found)


def data_of(page: str) -> list[dict[str, Any]]:
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    return json.loads(data)["sentences"]


def test_each_validation_draws_the_training(corpus, tmp_path, sampled, steps):
    result = train(config(corpus, tmp_path, live_view=True))
    assert (result.directory / "history.png").read_bytes().startswith(b"\x89PNG")
    page = (result.directory / "run.html").read_text()
    first, second = data_of(page)
    headings = [translation["heading"] for translation in first["translations"]]
    assert headings == [f"step {n * steps}, log-probability \N{MINUS SIGN}1.50" for n in (3, 2, 1)]
    assert (first["label"], second["label"]) == ("validation pair 1", "validation pair 4")
    assert first["note"] == f"reference: {EVIL}"
    assert "<b>&" not in page and page.count("<script") == 2
    assert "<dd>ended</dd>" in page and f"<dd>3.00 at step {3 * steps}</dd>" in page
    for row in history(result):
        assert re.search(rf'data-name="training" data-values="[^"]*\b{row["step"]}:1\b', page)
    assert "200 pairs read" in page and "&quot;batch_tokens&quot;: 100" in page


def test_the_page_says_that_a_training_is_interrupted_and_that_it_goes_on(
    corpus, tmp_path, sampled, counting, steps, monkeypatch
):
    counting.signals[2 * steps + 1] = [signal.SIGINT]
    result = train(config(corpus, tmp_path, live_view=True))
    page = result.directory / "run.html"
    assert "<dd>epoch 3 of 3, interrupted</dd>" in page.read_text()
    assert f"<dd>{2 * steps + 1}</dd>" in page.read_text()
    assert [sample.step for sample in read_samples(result.directory / "samples.jsonl")] == [steps] * 2 + [2 * steps] * 2
    pages: list[str] = []
    monkeypatch.setattr(Validation, "samples", lambda self: pages.append(page.read_text()) or ())
    train(config(corpus, tmp_path, live_view=True))
    assert "<dd>epoch 3 of 3</dd>" in pages[0]  # before the next validation was drawn
    assert "<dd>ended</dd>" in page.read_text()


def test_the_last_validation_within_an_epoch_is_the_end(corpus, tmp_path, sampled, steps):
    result = train(config(corpus, tmp_path, passes=1, validate_every=steps, live_view=True))
    assert "<dd>ended</dd>" in (result.directory / "run.html").read_text()


def test_a_resumed_run_keeps_the_samples_of_before(corpus, tmp_path, sampled, steps):
    train(config(corpus, tmp_path, passes=1, live_view=True))
    result = train(config(corpus, tmp_path, passes=2, live_view=True))
    assert [one.step for one in read_samples(result.directory / "samples.jsonl")] == [steps] * 2 + [2 * steps] * 2


@pytest.mark.slow
def test_damaged_samples_are_reported_and_begin_anew(corpus, tmp_path, sampled, steps, capsys):
    result = train(config(corpus, tmp_path, passes=1, live_view=True))
    (result.directory / "samples.jsonl").write_text("{")
    train(config(corpus, tmp_path, passes=2, live_view=True))
    assert capsys.readouterr().err.count("samples.jsonl: damaged") == 1
    assert {one.step for one in read_samples(result.directory / "samples.jsonl")} == {2 * steps}


def test_a_drawing_that_fails_is_reported_once_and_costs_no_training(corpus, tmp_path, sampled, capsys, monkeypatch):
    def fail(*_: Any) -> None:
        raise ValueError("no\nink")

    monkeypatch.setattr(live_view, "draw_history", fail)
    result = train(config(corpus, tmp_path, live_view=True))
    assert result.finished and len(history(result)) == 3
    said = [line for line in capsys.readouterr().err.splitlines() if "could not be drawn" in line]
    assert said == [
        f"nmt: {result.directory}/history.png and run.html could not be drawn: no ink; training goes on without them"
    ]


def test_the_setting_turns_the_drawings_off(corpus, tmp_path, sampled, monkeypatch):
    monkeypatch.setattr(Validation, "samples", None)
    result = train(config(corpus, tmp_path, live_view=False))
    assert not {path.name for path in result.directory.iterdir()} & set(DRAWN)


def test_the_best_row_is_the_one_whose_weights_are_kept():
    rows = [
        {"step": 1, "validation_loss": 3.0, "validation_bleu": 1.0},
        {"step": 2, "validation_loss": 2.0, "validation_bleu": 5.001},
        {"step": 3, "validation_loss": 1.0, "validation_bleu": 5.0},  # equal to the hundredth: the loss decides
        {"step": 4, "validation_loss": 0.5, "validation_bleu": 4.0},
        {"step": 5, "validation_loss": "", "validation_bleu": "x"},
    ]
    assert (best_row(rows, "bleu", 5.00003) or {})["step"] == 3
    assert (best_row(rows, "loss", 0.5) or {})["step"] == 4
    last = best_row(rows, "last", 4.0)
    assert (last or {})["step"] == 4
    training = TrainingConfig(metric="last")
    assert (
        live_view._progress(TrainingState(), RunConfig(training=training), last, "ended")["last BLEU"]
        == "4.00 at step 4"
    )
    assert best_row([], "bleu", None) is None
    assert best_row(rows, "bleu", 30.0) is None  # the weights of the initial run are better


def test_samples_are_translations_of_short_validation_pairs(trainer):
    one = trainer()
    found = one.validation.samples()
    assert [number for number, _, _ in found] == [0, 1, 2, 3]
    for number, reference, translation in found:
        pair = one.prepared.validation[number]
        assert (translation.source, reference) == (pair.source, pair.target)
    one.validation.pairs = [pair._replace(source=" ".join(["ba"] * 50)) for pair in one.validation.pairs]
    assert one.validation.samples() == []


@pytest.mark.slow
def test_a_finished_run_is_not_drawn_again(corpus, tmp_path, sampled):
    result = train(config(corpus, tmp_path, live_view=True))
    before = {name: Path(result.directory / name).stat().st_mtime_ns for name in DRAWN}
    train(config(corpus, tmp_path, live_view=True))
    assert {name: Path(result.directory / name).stat().st_mtime_ns for name in DRAWN} == before
