"""Interrupted trainings save their last step and resume with the next one."""

from __future__ import annotations

import io
import signal
import threading
from typing import Any

import pytest
from short_runs import config, history, saved_state, weights_of

from nmt.run.directory import Run
from nmt.training import validation
from nmt.training.interruption import interruption
from nmt.training.trainer import train

HANDLER = signal.getsignal(signal.SIGINT)
"""Handler of Ctrl-C outside a training; a process in the background may ignore Ctrl-C."""


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("passes", "more"),
    [(0, 1), pytest.param(1, -1, marks=pytest.mark.slow), (1, 0), pytest.param(1, 3, marks=pytest.mark.slow)],
)
def test_a_run_interrupted_at_any_step_resumes_with_the_next_batch(
    passes, more, number, corpus, tmp_path, counting, steps, capsys
):
    step = passes * steps + more
    counting.batches.clear()
    undisturbed = train(config(corpus, tmp_path, "undisturbed"))
    expected = list(counting.batches)
    counting.batches.clear()
    counting.signals[step] = [number]
    interrupted = train(config(corpus, tmp_path, "interrupted"))
    assert (interrupted.steps, interrupted.finished) == (step, False)
    assert f"interrupted; step {step} is saved in {tmp_path}/interrupted, the same" in capsys.readouterr().err
    assert weights_of(Run.open(interrupted.directory).checkpoints()[-1]) == step
    result = train(config(corpus, tmp_path, "interrupted"))
    assert counting.batches == expected
    assert (result.steps, result.finished) == (undisturbed.steps, True)
    rows = [[(row["pass"], row["step"], row["train_loss"]) for row in history(r)] for r in (undisturbed, result)]
    assert rows[0] == rows[1]
    assert signal.getsignal(signal.SIGINT) is HANDLER


def test_an_interruption_during_the_last_validation_is_ignored(corpus, tmp_path, counting, monkeypatch, capsys):
    real = validation.measure

    def measured(*arguments: Any) -> dict[str, float]:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr("nmt.training.validation.measure", measured)
    assert train(config(corpus, tmp_path, passes=1)).finished
    said = capsys.readouterr().err
    assert "training has ended" in said and "interrupted; step" not in said


def test_termination_signals_after_ctrl_c_do_not_stop_the_save(corpus, tmp_path, counting, steps):
    """`nmt compare` forwards the signals that its training has already received from the terminal."""
    counting.signals[steps] = [signal.SIGINT, signal.SIGTERM, signal.SIGTERM]
    result = train(config(corpus, tmp_path))
    assert not result.finished and saved_state(result)["step"] == steps


def test_a_second_ctrl_c_ends_at_once_and_the_last_checkpoint_counts(corpus, tmp_path, counting, steps):
    counting.signals[steps + 2] = [signal.SIGINT, signal.SIGINT]
    with pytest.raises(KeyboardInterrupt):
        train(config(corpus, tmp_path))
    counting.batches.clear()
    assert train(config(corpus, tmp_path)).steps == 3 * steps
    assert len(counting.batches) == 2 * steps


class Interrupted(io.RawIOBase):
    """A stream that gets Ctrl-C while it is written for the first time."""

    lines = 0

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self.lines += 1
        if self.lines == 1:
            signal.raise_signal(signal.SIGINT)
        return len(content)


def test_ctrl_c_in_the_middle_of_a_message_is_heard_and_answered(monkeypatch, capfd):
    stream = io.TextIOWrapper(io.BufferedWriter(Interrupted()), line_buffering=True)
    monkeypatch.setattr("sys.stderr", stream)
    with interruption() as event:
        print("step 2", file=stream)
    assert event.is_set()
    assert "nmt: finishing this step, then saving ..." in capfd.readouterr().err


def test_signal_handlers_stay_as_they_are_outside_the_main_thread():
    seen = []

    def run() -> None:
        with interruption() as event:
            seen.append((event.is_set(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [(False, HANDLER)]
