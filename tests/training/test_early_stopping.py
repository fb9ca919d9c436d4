"""The best validation, patience, and the halvings of the learning rate on a plateau."""

from __future__ import annotations

from dataclasses import replace

import pytest
from short_runs import config, history, let_validations_find, saved_state, weights_of

from nmt.config import ScheduleConfig, TrainingConfig
from nmt.run.directory import Run
from nmt.run.model_card import _scores
from nmt.training.averaging import weight_versions
from nmt.training.early_stopping import note_validation
from nmt.training.run_summary import RunSummary
from nmt.training.state import TrainingState
from nmt.training.trainer import train


def noted(config: TrainingConfig, *values: tuple[float, float]) -> tuple[list[bool], TrainingState]:
    """For each (BLEU, loss) whether it was the best, and the state after all of them."""
    state = TrainingState()
    return [note_validation({"bleu": bleu, "loss": loss}, state, config) for bleu, loss in values], state


def test_the_best_value_and_its_loss_are_noted():
    better, state = noted(TrainingConfig(), (10, 3.0), (20, 4.0), (15, 1.0))
    assert better == [True, True, False]
    assert (state.best, state.best_loss, state.stale) == (20, 4.0, 1)


def test_a_lower_loss_is_better_where_loss_is_the_metric():
    better, state = noted(TrainingConfig(metric="loss"), (10, 3.0), (20, 4.0), (15, 1.0))
    assert better == [True, False, True]
    assert (state.best, state.best_loss, state.stale) == (1.0, 1.0, 0)


def test_bleu_counts_to_the_hundredth():
    better, _ = noted(TrainingConfig(), (10.001, 3.0), (10.004, 3.5), (10.0, 2.5), (10.01, 9.0))
    assert better == [True, False, True, True]


def test_patience_counts_validations_in_a_row():
    values = [(10, 1), (9, 1), (11, 1), (10, 1), (10, 1)]
    assert not noted(TrainingConfig(patience=2), *values[:4])[1].stopped_early
    assert noted(TrainingConfig(patience=2), *values)[1].stopped_early
    assert not noted(TrainingConfig(patience=0), *values)[1].stopped_early


def test_validations_of_unchanged_weights_do_not_count():
    """Averaged weights change every few updates only."""
    state, config = TrainingState(), TrainingConfig(patience=2)
    for changed in (True, False, False, False, True, False):
        note_validation({"bleu": 1.0, "loss": 2.0}, state, config, changed)
    assert (state.stale, state.stopped_early) == (1, False)
    note_validation({"bleu": 1.0, "loss": 2.0}, state, config, True)
    assert state.stopped_early


def test_the_newest_weights_are_the_best_where_the_metric_is_last():
    better, state = noted(TrainingConfig(metric="last", patience=1), (10, 3.0), (20, 4.0), (15, 1.0))
    assert better == [True, True, True]
    assert (state.best, state.best_loss, state.stopped_early) == (15, 1.0, False)


@pytest.mark.parametrize(
    ("step", "accumulate", "ema", "every", "versions"),
    [(0, 1, 0.9, 8, 0), (1, 1, 0.9, 8, 1), (8, 1, 0.9, 8, 1), (9, 1, 0.9, 8, 2), (9, 1, 0.9, 1, 9), (9, 1, 0, 8, 9),
     (9, 4, 0, 8, 2), (35, 4, 0.9, 8, 1), (36, 4, 0.9, 8, 2)],
)  # fmt: skip
def test_averaged_weights_change_with_each_step_of_the_average(step, accumulate, ema, every, versions):
    assert weight_versions(step, TrainingConfig(accumulate=accumulate, ema=ema), every) == versions


def test_every_second_stale_validation_of_a_plateau_of_2_halves():
    config = TrainingConfig(schedule=ScheduleConfig(decay="plateau", plateau=2))
    falling = [(float(10 - number), 1.0) for number in range(6)]
    assert [noted(config, *falling[:count])[1].halvings for count in range(1, 7)] == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(("metric", "best"), [("bleu", 2), ("loss", 1)])
def test_the_metric_decides_which_weights_are_the_best(metric, best, corpus, tmp_path, counting, steps, monkeypatch):
    let_validations_find(monkeypatch, bleu=[10, 30, 20], loss=[1.0, 3.0, 2.0])
    result = train(config(corpus, tmp_path, metric=metric))
    assert weights_of(result.directory / "best.npz") == best * steps
    assert result.best == {"bleu": 30.0, "loss": 1.0}[metric]


@pytest.mark.slow
def test_the_loss_decides_where_bleu_is_equal(corpus, tmp_path, counting, monkeypatch, steps):
    """The first three validations have BLEU 0.00; the second of them has the lowest loss."""
    let_validations_find(monkeypatch, bleu=[0.001, 0.0, 0.004], loss=[5.0, 3.0, 4.0])
    result = train(config(corpus, tmp_path))
    assert weights_of(result.directory / "best.npz") == 2 * steps
    let_validations_find(monkeypatch, bleu=[0.02, 0.02], loss=[9.0, 9.0])
    result = train(config(corpus, tmp_path, passes=5))
    assert weights_of(result.directory / "best.npz") == 4 * steps
    assert (saved_state(result)["best"], saved_state(result)["stale"]) == (0.02, 1)


def test_a_training_out_of_patience_continues_with_more_patience(
    corpus, tmp_path, counting, steps, monkeypatch, capsys
):
    let_validations_find(monkeypatch, [10, 30, 20, 30, 40, 1, 1, 1, 1, 1])
    impatient = config(corpus, tmp_path, passes=10, patience=2)
    result = train(impatient)
    assert (result.steps, result.best, result.finished) == (4 * steps, 30.0, True)
    assert "no better bleu in 2 validations" in capsys.readouterr().err
    assert train(impatient).steps == 4 * steps
    more = replace(impatient, training=replace(impatient.training, patience=3))
    assert (train(more).steps, train(more).best) == (8 * steps, 40.0)
    never = replace(impatient, training=replace(impatient.training, patience=0))
    assert train(never).steps == 10 * steps


@pytest.mark.slow
def test_patience_0_never_stops_a_training(corpus, tmp_path, counting, steps, monkeypatch):
    let_validations_find(monkeypatch, [9, 8, 7, 6, 5])
    assert train(config(corpus, tmp_path, passes=5, patience=0)).steps == 5 * steps


def test_a_plateau_halves_the_learning_rate(corpus, tmp_path, counting, steps, monkeypatch):
    """Two validations in a row are no better after the third epoch and after the sixth."""
    let_validations_find(monkeypatch, [3, 2, 3, 4, 4, 1, 0])
    schedule = {"learning_rate": 0.8, "warmup_steps": 4, "decay": "plateau", "plateau": 2}
    result = train(config(corpus, tmp_path, passes=7, schedule=schedule, patience=0))
    rows = [float(row["learning_rate"]) for row in history(result)]
    assert rows == pytest.approx([0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2])
    assert saved_state(result)["halvings"] == 2


def test_a_resumed_run_counts_the_validations_of_its_plateau_on(corpus, tmp_path, counting, steps, monkeypatch):
    let_validations_find(monkeypatch, [3, 2, 2])
    schedule = {"learning_rate": 0.8, "warmup_steps": 0, "decay": "plateau", "plateau": 2}
    train(config(corpus, tmp_path, passes=3, schedule=schedule, patience=0))
    let_validations_find(monkeypatch, [4])
    result = train(config(corpus, tmp_path, passes=4, schedule=schedule, patience=0))
    assert float(history(result)[-1]["learning_rate"]) == pytest.approx(0.4)


@pytest.mark.parametrize(("loss", "said"), [(9.0, True), (0.5, False)])
def test_a_training_that_has_learned_nothing_says_so(
    corpus, tmp_path, counting, steps, monkeypatch, capsys, loss, said
):
    """The frequencies of the 24 target words alone give a loss of about 3 nats."""
    let_validations_find(monkeypatch, bleu=[0.1] * 3, loss=[loss] * 3)
    train(config(corpus, tmp_path))
    advice = "or continue with --training.passes 12"
    found = capsys.readouterr().err
    assert (f"has not learned to translate: the validation loss of {loss:.2f} is not below" in found) is said
    assert (advice in found) is said


@pytest.mark.parametrize(("bleu", "said"), [(0.0, True), (0.1, False)])
def test_a_bleu_of_zero_after_learning_is_explained(corpus, tmp_path, counting, steps, monkeypatch, capsys, bleu, said):
    """Sentences of one word have no phrase of four words that could be right."""
    let_validations_find(monkeypatch, bleu=[bleu] * 3, loss=[0.5] * 3)
    train(config(corpus, tmp_path))
    assert ("validation BLEU is 0 where no phrase of four words is right" in capsys.readouterr().err) is said


def test_bleu_shows_learning_whatever_the_loss(corpus, tmp_path, counting, steps, monkeypatch, capsys):
    let_validations_find(monkeypatch, bleu=[20] * 3, loss=[9.0] * 3)
    train(config(corpus, tmp_path))
    assert "has not learned" not in capsys.readouterr().err


@pytest.mark.parametrize(("found", "best"), [([50, 1, 1, 1], 1), ([50, 1, 60, 1], 2)])
def test_fine_tuning_keeps_the_initial_weights_unless_others_are_better(
    corpus, tmp_path, counting, monkeypatch, capsys, found, best
):
    """The initial run has trained one epoch; the first validation measures its weights."""
    first = train(config(corpus, tmp_path, "first", passes=1))
    let_validations_find(monkeypatch, bleu=found)
    tuned = train(config(corpus, tmp_path, "tuned", initial=str(first.directory), patience=0))
    assert weights_of(tuned.directory / "best.npz") == best * first.steps
    said = capsys.readouterr().err
    assert "step 0: validation bleu 50.00" in said
    assert [(row["step"], row["train_loss"], row["tokens_per_second"]) for row in history(tuned)][0] == ("0", "", "")
    assert RunSummary.of(tuned.directory).best_bleu == max(found)
    assert dict(_scores(Run.open(tuned.directory), selected=True))["validation bleu"] == f"{max(found):g}"
    assert ("no validation was better than the one before training" in said) is (best == 1)
