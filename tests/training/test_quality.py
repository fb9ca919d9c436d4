"""The quality to expect of a training: figures of texts, the fit, predictions, the command."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from nmt.cli import main
from nmt.config import CorpusConfig, RunConfig, VocabularyConfig
from nmt.config.reading import build_config
from nmt.errors import NmtError
from nmt.run.directory import Run
from nmt.text.pairs import Pair
from nmt.text.tokenizer import Tokenizer
from nmt.training import auto_recipe
from nmt.training.quality.drawing import draw_prediction
from nmt.training.quality.fit import (
    Estimate,
    chrf_of,
    combined,
    from_short_training,
    from_text,
    load_fit,
    log_odds,
    score,
)
from nmt.training.quality.prediction import ShortTraining, predict
from nmt.training.quality.text_figures import TextFigures, measure_figures

FIT = load_fit()
FIGURES = TextFigures(10_000, 0.02, 0.045, 13.0, 12.4, 6000, 9000)


def test_figures_count_the_words_of_every_tenth_pair_that_the_others_lack() -> None:
    pairs = [Pair(f"The {'dog' if n else 'cat'}.", "ein Hund") for n in range(20)]
    (found,) = measure_figures(pairs)
    # New pairs are the first and the eleventh: "the cat ." and "the dog ."; only the cat is unseen.
    assert found.source_unseen == pytest.approx((1 + 0.5) / (6 + 1))
    assert found.target_unseen == pytest.approx(0.5 / (4 + 1))
    assert (found.pairs, found.source_words, found.target_words) == (20, 3, 2)
    assert (found.source_types, found.target_types) == (4, 2)


def test_figures_of_the_first_pairs_double_and_the_last_are_of_all() -> None:
    pairs = [Pair(f"a{n}", "b") for n in range(1100)]
    found = measure_figures(pairs)
    assert [one.pairs for one in found] == [256, 512, 1024, 1100]
    assert found[0] == measure_figures(pairs[:256])[-1]
    assert measure_figures(pairs[:9]) == []


def test_words_are_cut_as_the_language_is() -> None:
    (found,) = measure_figures([Pair("黒い猫", "a b")] * 10, (list, str.split))
    assert found.source_words == 3 and found.target_words == 2


@pytest.mark.parametrize("points", [0.5, 17, 50, 95])
def test_scores_and_log_odds_are_inverse(points) -> None:
    assert score(log_odds(points)) == pytest.approx(points)
    assert math.isfinite(log_odds(0)) and math.isfinite(log_odds(100))


def test_measured_texts_are_predicted_by_fits_without_them() -> None:
    """The page on results claims these errors."""
    errors = [abs(one.bleu - one.predicted) for one in FIT.measured]
    assert len(errors) >= 9 and max(errors) < 6 and sum(errors) / len(errors) < 2.5
    inside = 0
    for one in FIT.measured:
        low, high = Estimate(log_odds(one.predicted), FIT.text_deviation).interval
        inside += low <= one.bleu <= high
    assert inside >= 0.8 * len(errors)


def test_the_rows_of_the_results_are_those_of_the_fit() -> None:
    file = Path(__file__).parents[2] / "docs" / "results.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    named = {row["id"]: row["metrics"] for row in rows if row["id"].startswith("expected-")}
    found = [(one.pairs, one.bleu, one.predicted) for one in FIT.measured]
    assert [tuple(metrics.values()) for name, metrics in named.items() if name != "expected-quality"] == found
    errors = [abs(bleu - predicted) for _, bleu, predicted in found]
    assert named["expected-quality"]["largest_error"] == pytest.approx(max(errors), abs=0.01)


def test_more_unseen_words_mean_lower_quality() -> None:
    worse = from_text(FIGURES._replace(target_unseen=0.2, source_unseen=0.2), FIT)
    assert worse.value < from_text(FIGURES, FIT).value
    low, high = worse.interval
    assert low < worse.value < high


@pytest.mark.parametrize("words", [FIT.words[0] / 3, FIT.words[1] * 2])
def test_half_of_an_effect_that_no_training_shows_is_uncertainty(words) -> None:
    nearest = FIGURES._replace(target_words=min(max(words, FIT.words[0]), FIT.words[1]))
    found = from_text(FIGURES._replace(target_words=words), FIT)
    half = FIT.text[2] * math.log(words / nearest.target_words) / 2
    assert from_text(nearest, FIT).deviation == FIT.text_deviation
    assert found.mean == pytest.approx(from_text(nearest, FIT).mean + half)
    assert found.deviation == pytest.approx(math.hypot(FIT.text_deviation, half))


def test_a_whole_training_is_its_own_prediction_and_a_short_one_is_unsure() -> None:
    whole = from_short_training(30, 1, FIT)
    assert whole.mean == pytest.approx(log_odds(30) + FIT.beam) and whole.deviation == FIT.seeds
    half, tenth = (from_short_training(30, share, FIT) for share in (0.5, 0.1))
    assert whole.mean < half.mean < tenth.mean and whole.deviation < half.deviation < tenth.deviation


def test_estimates_are_weighted_by_their_precision() -> None:
    both = combined([Estimate(0, 1), Estimate(3, 2)])  # weights 1 and 1/4
    assert both.mean == pytest.approx(0.75 / 1.25) and both.deviation == pytest.approx(1.25**-0.5)


def test_chrf_follows_bleu() -> None:
    # The row of recipe 30k: BLEU 40.2 and chrF2 65.5 on the test set.
    assert chrf_of(Estimate(log_odds(40.2), 0.02), FIT).value == pytest.approx(65.5, abs=4)


def test_a_prediction_has_a_curve_and_more_text() -> None:
    figures = [FIGURES._replace(pairs=pairs, target_unseen=0.5 * pairs**-0.3) for pairs in (2000, 4000, 8000)]
    found = predict(figures, FIT)
    assert found.bleu == found.of_text == found.curve[-1].bleu and found.short is None
    values = [one.bleu.value for one in (*found.curve, *found.more[1:])]
    assert values == sorted(values) and [one.pairs for one in found.more] == [8000, 16_000, 32_000]
    spreads = [one.bleu.deviation for one in found.more]
    assert spreads == sorted(spreads) and spreads[0] < spreads[-1]
    # Log-odds go on as they rose from an eighth of the pairs on.
    step = (found.curve[2].bleu.mean - found.curve[0].bleu.mean) / 2
    assert found.more[1].bleu.mean - found.more[0].bleu.mean == pytest.approx(step)
    with pytest.raises(NmtError, match="fewer than 10 pairs"):
        predict([], FIT)


def test_more_text_begins_at_the_quality_that_a_short_training_shows() -> None:
    figures = [FIGURES._replace(pairs=pairs, target_unseen=0.5 * pairs**-0.3) for pairs in (2000, 4000, 8000)]
    alone, found = predict(figures, FIT), predict(figures, FIT, ShortTraining(45.0, 10, 20))
    assert found.bleu.value > alone.bleu.value + 1
    rises = [[one.bleu.mean - each.bleu.mean for one in each.more] for each in (alone, found)]
    assert rises[0] == pytest.approx(rises[1]) and rises[1] == sorted(rises[1]) and rises[1][0] == 0


def test_a_short_training_narrows_the_prediction() -> None:
    short = ShortTraining(28.0, 8, 16)
    found = predict([FIGURES], FIT, short)
    assert found.bleu.deviation < min(found.of_text.deviation, found.of_training.deviation)
    assert ShortTraining(28.0, 30, 16).share == 1


def test_the_drawing_shows_the_text_its_interval_and_the_measured_texts() -> None:
    figure = draw_prediction(predict([FIGURES._replace(pairs=5000), FIGURES], FIT, ShortTraining(28.0, 8, 16)))
    (axes,) = figure.axes
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any(label.startswith("this text, with the short training: ") for label in labels)
    assert labels.count("measured texts") == 1
    named = [text.get_text() for text in axes.texts]
    assert sorted(named) == sorted({one.name.partition(",")[0] for one in FIT.measured})
    dots = {tuple(dot) for line in axes.lines if line.get_marker() == "o" for dot in line.get_xydata()}
    assert dots == {(one.pairs, one.bleu) for one in FIT.measured}


@pytest.mark.parametrize(("new", "fewest", "most"), [({}, 50, 100), ({"aligner": True, "recombine": 4}, 19, 37)])
def test_the_command_reads_the_best_validation_and_the_epochs_of_a_run(
    text, capsys, monkeypatch, new, fewest, most
) -> None:
    """As many updates as 40 epochs of 1,000 pairs. With new pairs 1.875 times as many, in epochs five times as long."""
    corpus = {"train": {"source": str(text / "en"), "target": str(text / "fr")}}
    config = build_config({"corpus": corpus, "training": {"minutes": 5.0, **new}}, None, {})
    monkeypatch.setattr(auto_recipe, "time_training", lambda *_: pytest.fail("the clock is read for new runs alone"))
    tokenizer = Tokenizer.train(["the old dog sees"] * 3, VocabularyConfig(type="word", size=8))
    run = Run.create(text / "run", config, tokenizer, tokenizer)
    measured = [(1, 10, 12.5), (2, 20, 17.5), (3, 30, 16.0)]
    rows = [dict(zip(("pass", "step", "validation_bleu"), row, strict=True)) for row in measured]
    run.write_history(rows)
    assert main(["predict-quality", "--run", "run", "--source-column", "2"]) == 2
    assert "--source-column is for text that the command line names" in capsys.readouterr().err
    assert main(["predict-quality", "--run", "run", "--json", "en"]) == 2
    assert "en: is named twice" in capsys.readouterr().err
    assert main(["predict-quality", "--run", "run", "--passes", "6"]) == 0
    assert "(17.5 greedy after 3 of 6 epochs): BLEU " in capsys.readouterr().out
    run.write_history([{**row, "epochs": int(row["pass"]) + 0.5} for row in rows])  # validated within epochs
    assert main(["predict-quality", "--run", "run", "--passes", "6"]) == 0
    assert "(17.5 greedy after 3.5 of 6 epochs): BLEU " in capsys.readouterr().out
    run.write_history(rows)
    assert main(["predict-quality", "--run", "run"]) == 0
    said = capsys.readouterr().out
    found = re.search(r" 3 of (\d+) epochs", said)
    assert found and ("greedy after 3" in said) == (int(found[1]) <= 8 * 3)  # less than an eighth does not count
    assert fewest < int(found[1]) < most  # without held-out pairs and their near-duplicates


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"the {'old' * (n % 2)} dog number {n % 37} sees word{n % 91}" for n in range(700)]
    for side in ("en", "fr"):
        (tmp_path / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_the_command_prints_draws_and_writes(text, capsys):
    assert main(["predict-quality", "--source", "en", "--target", "fr", "--picture", "q.png", "--json", "q.json"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("text: 700 pairs; ") and printed[3].startswith("expected after a full training: BLEU ")
    assert "it has fewer than 1,000 pairs and its sentences are shorter, by 2.5" in printed[2]
    found = json.loads((text / "q.json").read_text())
    low, high = found["bleu"]["interval"]
    assert low < found["bleu"]["value"] < high and found["short_training"] is None
    assert all(reason in printed[2] for reason in found["unlike_measured"]) and len(found["unlike_measured"]) == 2
    assert [one["pairs"] for one in found["curve"]] == [256, 512, 700, 1400, 2800]
    assert (text / "q.png").read_bytes().startswith(b"\x89PNG")


def test_a_short_training_of_other_text_is_reported(text, copier_run, capsys):
    given = Run.open(copier_run).config.corpus.train
    for files, reported in ((("en", "fr"), True), ((given.source, given.target), False)):
        command = ["predict-quality", "--run", str(copier_run), "--source", files[0], "--target", files[1]]
        assert main(command) == 0
        assert ("was trained on 0 of the first 700 pairs: scores of" in capsys.readouterr().err) == reported


def test_a_text_like_the_measured_ones_has_no_remark(capsys):
    assert main(["predict-quality", "--source", "data/demo/train.en", "--target", "data/demo/train.fr"]) == 0
    printed = capsys.readouterr().out
    assert "text: 20,000 pairs" in printed and "unlike" not in printed


@pytest.mark.parametrize("prepared", ["", "corpus"])
def test_the_text_of_a_run_that_names_none_is_asked_for(text, capsys, prepared) -> None:
    """Such as a run on a prepared corpus, a pack or an export."""
    config = RunConfig(corpus=CorpusConfig(prepared=prepared))
    tokenizer = Tokenizer.train(["the old dog sees"] * 3, VocabularyConfig(type="word", size=8))
    Run.create(text / "run", config, tokenizer, tokenizer)
    assert main(["predict-quality", "--run", "run"]) == 2
    assert "run: does not name its text: give the text by --source and --target" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no sentence pairs are given"),
        ("--source en --target fr --passes 3", "--passes is for a short training"),
        ("--source en --target fr --json -", "standard output (-) has the estimates"),
        ("--source en --target fr --json en", "en: is named twice"),
        ("--source en --target fr --picture q.txt", "q.txt: expected a name"),
        ("--source en --target fr --run nowhere", "nowhere: no such run directory"),
        ("--run nowhere", "nowhere: no such run directory"),
        ("--run nowhere --tfds none/such", "tfds"),
        ("--source en --target fr --picture q.png --json none/q.json", "none: no such directory"),
        ("--parquet en --json en", "en: is named twice"),
        ("--source few --target few", "fewer than 10 pairs"),
    ],
)
def test_a_mistake_is_one_line(text, capsys, words, message):
    (text / "few").write_text("a\nb\n")
    assert main(["predict-quality", *words.split()]) == 2
    error = capsys.readouterr().err
    assert message in error and error.strip().count("\n") == 0, error
    assert not (text / "q.json").exists()
